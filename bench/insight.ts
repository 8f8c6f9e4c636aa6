/**
 * What the built-in analyser costs: CPU of one conversation (both passes), of the largest that is read, and of the sentence encoder beside
 * TensorFlow.js, which runs the same model. The conversations are the English ones of the blind set.
 */
import { createBuiltInAnalyzer } from '../src/analyze/builtin/builtin.ts'
import { loadEncoder } from '../src/analyze/builtin/encoder/encoder.ts'
import { blindSet } from '../src/analyze/eval/blind-set.ts'
import type { Subject } from '../src/analyze/insight.ts'
import { createTextWorkHere } from '../src/analyze/text-work.ts'
import { loadReferenceEncoder } from '../tests/support/reference-encoder.ts'
import { cpuOfSelf } from './support/cpu.ts'
import { table } from './support/measure.ts'

const ROUNDS = 5
/** Runs of one conversation, because the CPU of a process is counted in hundredths of a second. */
const RUNS = 20
const BATCH = 50
const MESSAGES = 200
const MESSAGE_LENGTH = 4_000

async function cpuOf(runs: number, run: () => unknown): Promise<number> {
  const before = cpuOfSelf()
  for (let index = 0; index < runs; index++) await run()
  return (cpuOfSelf() - before) / runs
}

/** Different words in every message, so that nothing is read once for all. */
function largest(): Subject {
  const word = (seed: number) => (seed * 2_654_435_761).toString(36).slice(0, 6)
  const messageOf = (index: number) => {
    const words = Array.from({ length: MESSAGE_LENGTH / 4 }, (_, at) => word(index * 1_000 + at))
    return `The export crashes, ${words.join(' ')}`.slice(0, MESSAGE_LENGTH)
  }
  return {
    channel: 'conversation',
    said: Array.from({ length: MESSAGES }, (_, index) => ({ own: index % 2 === 1, text: messageOf(index) })),
  }
}

const quantile = (sorted: readonly number[], part: number) =>
  sorted[Math.floor(part * (sorted.length - 1))] ?? 0

export async function benchInsight(): Promise<void> {
  const analyzer = createBuiltInAnalyzer(createTextWorkHere())
  const { signal } = new AbortController()
  const items = blindSet().filter(({ channel, language }) => channel === 'conversation' && language === 'en')
  for (let round = 0; round < ROUNDS; round++) await analyzer.analyze(items, signal)
  const costs: number[] = []
  for (const item of items) costs.push(await cpuOf(RUNS, () => analyzer.analyze([item], signal)))
  costs.sort((a, b) => a - b)
  const most = await cpuOf(ROUNDS, () => analyzer.analyze([largest()], signal))
  const rows = [
    ['a conversation, median', quantile(costs, 0.5).toFixed(1), '15'],
    ['a conversation, 95th percentile', quantile(costs, 0.95).toFixed(1), ''],
    ['the largest', most.toFixed(1), '200'],
  ]
  console.log(`\nCPU of the analysis, ${items.length} conversations, ${RUNS} times each\n`)
  console.log(table(['', 'CPU, ms', 'limit, ms'], rows))
  await benchEncoder()
}

async function benchEncoder(): Promise<void> {
  const [encode, reference] = await Promise.all([loadEncoder(), loadReferenceEncoder()])
  const texts = blindSet().flatMap(({ said }) => said.map(({ text }) => text.slice(0, 100)))
  const batches = Array.from({ length: Math.floor(texts.length / BATCH) }, (_, index) =>
    texts.slice(index * BATCH, (index + 1) * BATCH).toSorted((a, b) => a.length - b.length),
  )
  const run = async (embed: (texts: readonly string[]) => unknown) => {
    for (const batch of batches) for (let at = 0; at < BATCH; at += 5) await embed(batch.slice(at, at + 5))
  }
  const [own, theirs]: number[][] = [[], []]
  for (let round = 0; round <= ROUNDS; round++) {
    const pair = [
      await cpuOf(1, () => run(encode)),
      await cpuOf(1, () => run((some) => reference.embed(some))),
    ]
    if (round === 0) continue
    own?.push((pair[0] ?? 0) / (batches.length * BATCH))
    theirs?.push((pair[1] ?? 0) / (batches.length * BATCH))
  }
  const median = (values: readonly number[] = []) =>
    quantile(
      values.toSorted((a, b) => a - b),
      0.5,
    )
  const ratio = median(theirs) / median(own)
  console.log(
    `\nCPU of a vector, texts of at most 100 characters, five at a time, median of ${ROUNDS} rounds\n`,
  )
  const rowOf = (name: string, ms: number, part: number) => [name, ms.toFixed(2), part.toFixed(2)]
  console.log(
    table(
      ['', 'CPU, ms', 'ratio'],
      [rowOf('Earshot', median(own), 1), rowOf('TensorFlow.js', median(theirs), ratio)],
    ),
  )
}

if (import.meta.main) {
  await benchInsight()
  process.exit(0)
}
