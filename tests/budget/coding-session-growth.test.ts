/** Session files whose lines belong to one event: ten times the lines take about ten times as long. */

import { expect, test } from 'bun:test'
import type { EventFact, Part } from '../../src/hear/coding-sessions/event.rules.ts'
import { type Merged, Merger } from '../../src/hear/coding-sessions/merge.rules.ts'
import { cpuMs } from '../support/repeated-units.ts'

/** Quadratic time is a hundred times as long. Collecting garbage takes a larger part of the longer run. */
const TIMES_AS_LONG = 20

const line = (n: number, parts: readonly Part[], more: Partial<EventFact> = {}): EventFact => ({
  fact: 'event',
  identity: 'message m',
  record: `record ${n}`,
  kind: 'message',
  role: 'assistant',
  occurredAt: null,
  model: null,
  sidechain: false,
  parts,
  repeats: { type: 'answer', parent: n === 0 ? null : `record ${n - 1}`, request: 'r', isStopped: false },
  ...more,
})

const said = (n: number, identity: string, text: string): EventFact => {
  const { repeats: _, ...fact } = line(n, [{ type: 'text', text }], {
    identity,
    role: 'user',
    occurredAt: '2026-01-01T00:00:00Z',
  })
  return fact
}

const FILES: Readonly<Record<string, (n: number) => EventFact>> = {
  'an answer in many texts': (n) => line(n, [{ type: 'text', text: `text ${n}` }]),
  'an answer with many calls': (n) =>
    line(n, [{ type: 'call', call: { id: `call ${n}`, name: 'Read', input: { file: `${n}.ts` } } }]),
  'a short message that is written again beside a long one': (n) =>
    n === 1 ? said(n, 'long', 'long '.repeat(100_000)) : said(n, 'short', 'short'),
}

function merge(file: (n: number) => EventFact, lines: number): void {
  const merger = new Merger({ format: 'claude-code' })
  const out: Merged[] = []
  for (let n = 0; n < lines; n++) {
    merger.take(file(n), out)
    out.length = 0
  }
  merger.end(out)
}

for (const [name, file] of Object.entries(FILES))
  test(`${name}: time grows with the lines`, async () => {
    merge(file, 1_000)
    const [few, many] = [await cpuMs(() => merge(file, 2_000), 0), await cpuMs(() => merge(file, 20_000), 0)]
    expect(many / few).toBeLessThan(TIMES_AS_LONG)
  }, 120_000)
