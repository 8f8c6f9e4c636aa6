/** Measures the analysers. */
import { type Command, type Input, UsageError } from '../command.ts'

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
      engine: { value: 'builtin or model', summary: 'the analyser (default builtin)' },
      'min-precision': {
        value: 'number',
        summary: 'exit with 1 if what is shown, or a kind of it, is right less often (0 to 1)',
      },
      errors: { summary: 'also print every error; this quotes the items' },
    },
    async run(input) {
      const minPrecision = partOf(input.flag('min-precision'))
      const [items, analyzer] = await Promise.all([itemsOf(input), analyzerOf(input)])
      const { errorsOf, evaluationOf, judge, reaches } = await import('../../analyze/eval/evaluate.ts')
      const { jsonOf, linesOf } = await import('../../analyze/eval/report.ts')
      const judged = await judge(items, analyzer, new AbortController().signal)
      const evaluation = evaluationOf(judged, `${analyzer.name} ${analyzer.version}`)
      const errors = input.has('errors') ? errorsOf(judged) : []
      return {
        json: { ...jsonOf(evaluation), ...(input.has('errors') ? { errors } : {}) },
        lines: [...linesOf(evaluation), ...errors],
        failed: !reaches(evaluation, minPrecision),
      }
    },
  },
]

function partOf(text: string | undefined): number {
  const value = text === undefined ? DEFAULT_MIN_PRECISION : Number(text)
  if (text?.trim() !== '' && value >= 0 && value <= 1) return value
  throw new UsageError(`--min-precision is ${JSON.stringify(text)}, but must be a number from 0 to 1`)
}

async function itemsOf({ rest }: Input) {
  const [path, second] = rest
  if (second !== undefined) throw new UsageError('only one file can be measured at a time')
  const { ItemError, parseItems } = await import('../../analyze/eval/items.ts')
  if (path === undefined) return (await import('../../analyze/eval/blind-set.ts')).blindSet()
  try {
    return parseItems(await Bun.file(path).text())
  } catch (error) {
    if (error instanceof ItemError) throw new UsageError(`${path}: ${error.message}`)
    throw error
  }
}

async function analyzerOf(input: Input) {
  const engine = input.flag('engine') ?? 'builtin'
  if (engine !== 'builtin' && engine !== 'model') throw new UsageError('--engine is builtin or model')
  if (engine === 'model')
    throw new UsageError('no model server is configured: set ANALYZE_URL and ANALYZE_MODEL')
  const [{ createTextWorkHere }, { createBuiltInAnalyzer }] = await Promise.all([
    import('../../analyze/text-work.ts'),
    import('../../analyze/builtin/builtin.ts'),
  ])
  return createBuiltInAnalyzer(createTextWorkHere())
}
