/**
 * What the built-in analyser costs: CPU of one conversation (both passes), and of the largest that is read. The conversations are the English ones
 * of the blind set.
 */
import { createBuiltInAnalyzer } from '../src/analysis/analyze/builtin/builtin.ts'
import { blindSet } from '../src/analysis/analyze/eval/blind-set.ts'
import type { Subject } from '../src/analysis/analyze/insight.ts'
import { createTextWorkHere } from '../src/analysis/analyze/text-work.ts'
import { cpuOfSelf } from './support/cpu.ts'
import { table } from './support/measure.ts'

const ROUNDS = 5
/** Runs of one conversation, because the CPU of a process is counted in hundredths of a second. */
const RUNS = 20
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
}

if (import.meta.main) {
  await benchInsight()
  process.exit(0)
}
