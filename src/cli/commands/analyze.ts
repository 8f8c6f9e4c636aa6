/** Measures the analysers. */
import type { Item } from '../../analysis/analyze/eval/items.ts'
import type { Analyzer } from '../../analysis/analyze/insight.ts'
import { type Command, type Input, type Output, UsageError } from '../command.ts'

const DEFAULT_MIN_PRECISION = 0

export const analyzeCommands: readonly Command[] = [
  {
    name: 'analyze eval',
    args: [],
    rest: 'file',
    isRestOptional: true,
    summary:
      'Measure an analyser with labelled items: the shipped ones, or a file with one JSON object a line',
    flags: {
      engine: {
        value: 'builtin, model or both',
        summary:
          'the analyser (default builtin); `model` is the server in ANALYZE_URL, which reads every item',
      },
      'min-precision': {
        value: 'number',
        summary: 'exit with 1 if what is shown, or a kind of it, is right less often (0 to 1)',
      },
      errors: { summary: 'also print every error; this quotes the items' },
    },
    async run(input) {
      const minPrecision = partOf(input.flag('min-precision'))
      const [items, analyzers] = await Promise.all([itemsOf(input), analyzersOf(input)])
      const reports: Report[] = []
      for (const analyzer of analyzers) reports.push(await measure(input, items, analyzer, minPrecision))
      const [first, second] = reports
      return {
        json: second === undefined ? (first?.json ?? {}) : { engines: reports.map(({ json }) => json) },
        lines: reports.flatMap(({ lines }, n) => (n === 0 ? lines : ['', ...lines])),
        failed: reports.some(({ failed }) => failed),
      }
    },
  },
]

type Report = Required<Output>

async function measure(
  input: Input,
  items: readonly Item[],
  analyzer: Analyzer,
  minPrecision: number,
): Promise<Report> {
  const { NAME } = await import('../../analysis/analyze/builtin/version.ts')
  const { errorsOf, evaluationOf, judge, reaches } = await import('../../analysis/analyze/eval/evaluate.ts')
  const { jsonOf, linesOf } = await import('../../analysis/analyze/eval/report.ts')
  // A server takes one item at a time.
  const together = analyzer.name === NAME ? undefined : 1
  const { judged, failures } = await judge(items, analyzer, new AbortController().signal, together)
  const evaluation = evaluationOf(judged, `${analyzer.name} ${analyzer.version}`)
  const errors = input.has('errors') ? errorsOf(judged) : []
  return {
    json: { ...jsonOf(evaluation), failures, ...(input.has('errors') ? { errors } : {}) },
    lines: [
      ...linesOf(evaluation),
      ...failures.map(({ message, items: count }) => `not read: ${count} items. ${message}`),
      ...errors,
    ],
    failed: failures.length > 0 || !reaches(evaluation, minPrecision),
  }
}

function partOf(text: string | undefined): number {
  const value = text === undefined ? DEFAULT_MIN_PRECISION : Number(text)
  if (text?.trim() !== '' && value >= 0 && value <= 1) return value
  throw new UsageError(`--min-precision is ${JSON.stringify(text)}, but must be a number from 0 to 1`)
}

async function itemsOf({ rest }: Input) {
  const [path, second] = rest
  if (second !== undefined) throw new UsageError('only one file can be measured at a time')
  const { ItemError, parseItems } = await import('../../analysis/analyze/eval/items.ts')
  if (path === undefined) return (await import('../../analysis/analyze/eval/blind-set.ts')).blindSet()
  try {
    return parseItems(await Bun.file(path).text())
  } catch (error) {
    if (error instanceof ItemError) throw new UsageError(`${path}: ${error.message}`)
    throw error
  }
}

async function analyzersOf({ flag, env }: Input): Promise<readonly Analyzer[]> {
  const engine = flag('engine') ?? 'builtin'
  if (!['builtin', 'model', 'both'].includes(engine))
    throw new UsageError('--engine is builtin, model or both')
  return [
    ...(engine === 'model' ? [] : [await builtIn()]),
    ...(engine === 'builtin' ? [] : [await modelServer(env)]),
  ]
}

async function builtIn(): Promise<Analyzer> {
  const [{ createTextWorkHere }, { createBuiltInAnalyzer }] = await Promise.all([
    import('../../analysis/analyze/text-work.ts'),
    import('../../analysis/analyze/builtin/builtin.ts'),
  ])
  return createBuiltInAnalyzer(createTextWorkHere())
}

async function modelServer(env: Input['env']): Promise<Analyzer> {
  const [{ loadConfig }, { createChatServer }, { createModelServerAnalyzer }] = await Promise.all([
    import('../../app/config.ts'),
    import('../../analysis/analyze/chat.ts'),
    import('../../analysis/analyze/model-server.ts'),
  ])
  const { analyze } = loadConfig(env)
  if (analyze === null)
    throw new UsageError('no model server is configured: set ANALYZE_URL and ANALYZE_MODEL')
  return createModelServerAnalyzer(createChatServer(analyze))
}
