/** Session files: any split into pieces, any repetition of lines, and a prefix before the whole file give the same events. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Format } from '../../src/hear/coding-sessions/event.rules.ts'
import { fixture, readPieces, readText, stored } from '../support/coding-session-files.ts'

const FILES: readonly (readonly [string, Format])[] = [
  ['claude-code.jsonl', 'claude-code'],
  ['claude-code-fork.jsonl', 'claude-code'],
  ['codex.jsonl', 'codex'],
  ['codex-fork.jsonl', 'codex'],
  ['gemini-cli.jsonl', 'gemini-cli'],
  ['gemini-cli.json', 'gemini-cli'],
]

describe.each(FILES)('%s', (name, format) => {
  const text = fixture(name)
  const bytes = new TextEncoder().encode(text)
  const whole = readText(format, text)

  test('comes in any pieces', () => {
    const cuts = fc.array(fc.nat(bytes.length), { maxLength: 40 })
    fc.assert(
      fc.property(cuts, (places) => {
        const ends = [...places, bytes.length].sort((a, b) => a - b)
        const pieces = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
        const { merged, merger } = readPieces(format, pieces)
        expect(merged).toEqual(whole.merged)
        expect(merger.skipped).toBe(whole.merger.skipped)
      }),
      { numRuns: 60 },
    )
  })

  test('after any prefix of it adds its tail: the result is that of the whole file', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 4 }), (places) => {
        const versions = places
          .sort((a, b) => a - b)
          .map((end) => readPieces(format, [bytes.subarray(0, end)]).merged)
        expect(stored(...versions, whole.merged)).toEqual(stored(whole.merged))
      }),
      { numRuns: 60 },
    )
  })

  test('before any prefix of it stays whole', () => {
    fc.assert(
      fc.property(fc.nat(bytes.length), (end) => {
        const prefix = readPieces(format, [bytes.subarray(0, end)])
        expect(stored(whole.merged, prefix.merged)).toEqual(stored(whole.merged))
      }),
      { numRuns: 30 },
    )
  })
})

test('lines that are repeated, anywhere behind the first time, add nothing', () => {
  for (const name of ['claude-code.jsonl', 'claude-code-fork.jsonl']) {
    const lines = fixture(name).split('\n').slice(0, -1)
    const whole = stored(readText('claude-code', lines.join('\n')).merged)
    const copies = fc.array(fc.tuple(fc.nat(lines.length - 1), fc.nat(lines.length)), { maxLength: 20 })
    fc.assert(
      fc.property(copies, (list) => {
        const repeated = lines.flatMap((line, index) => [
          line,
          ...list
            .filter(([from, to]) => from <= index && Math.max(from, to) === index)
            .map(([from]) => lines[from]),
        ])
        expect(stored(readText('claude-code', repeated.join('\n')).merged)).toEqual(whole)
      }),
      { numRuns: 60 },
    )
  }
})
