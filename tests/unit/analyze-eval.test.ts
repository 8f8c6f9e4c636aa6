/** Measuring analysers: the bound, the gate, the scores, and the command. */
import { describe, expect, test } from 'bun:test'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createBuiltInAnalyzer } from '../../src/analyze/builtin/builtin.ts'
import { blindSet } from '../../src/analyze/eval/blind-set.ts'
import { lowerBound } from '../../src/analyze/eval/bound.rules.ts'
import { evaluationOf, judge } from '../../src/analyze/eval/evaluate.ts'
import { measure } from '../../src/analyze/eval/figures.ts'
import { type Item, ItemError, parseItems } from '../../src/analyze/eval/items.ts'
import { outcomeFigures, precisionOf, recallOf, score } from '../../src/analyze/eval/score.rules.ts'
import figures from '../../src/analyze/figures.json'
import { isShown, passesGate } from '../../src/analyze/gate.rules.ts'
import { type Analyzer, type Insight, KINDS, type Kind, type Subject } from '../../src/analyze/insight.ts'
import { UsageError } from '../../src/cli/command.ts'
import { analyzeCommands } from '../../src/cli/commands/analyze.ts'
import { CHANNELS } from '../../src/insight/model.ts'
import { textWorkHere } from '../support/text-work.ts'

describe('the lower bound', () => {
  test.each([
    [10, 10, 0.79],
    [15, 15, 0.86],
    [19, 20, 0.82],
    [46, 50, 0.85],
    [0, 5, 0],
    [0, 0, 0],
  ])('of %d right of %d is %d', (right, all, bound) => {
    expect(lowerBound(right, all)).toBeCloseTo(bound, 2)
  })
})

describe('the gate', () => {
  test.each([
    [15, 0, true],
    [10, 0, false],
    [19, 1, true],
    [17, 3, false],
    [0, 0, false],
    [850, 151, false],
  ])('%d right and %d wrong: %p', (right, wrong, passes) => {
    expect(passesGate([right, wrong])).toBe(passes)
  })

  test('findings of a model server have no shipped figures, so they are shown', () => {
    expect(isShown('complaint', 'model', 'pl', 'feedback')).toBe(true)
  })

  test('a language without figures is hidden', () => {
    expect(isShown('praise', 'sure', 'xx', 'feedback')).toBe(false)
  })

  const measured: Readonly<Record<string, readonly number[]>> = figures.measured
  const misleading: readonly string[] = figures.misleading
  const of = (key: string) => [measured[key]?.[0] ?? 0, measured[key]?.[1] ?? 0] as const

  test('a channel on which too little is right, or mockery was called praise, is closed; the others pass together', () => {
    const isClosed = (key: string) => {
      const [right, wrong] = of(key)
      return misleading.includes(key) || (right + wrong >= 15 && right / (right + wrong) < 0.85)
    }
    for (const kind of KINDS) {
      for (const tier of ['sure', 'likely'] as const) {
        const keys = CHANNELS.map((channel) => `${kind}/${tier}/${channel}`)
        const open = keys.filter((key) => !isClosed(key))
        const [right, wrong] = [0, 1].map((place) =>
          open.reduce((sum, key) => sum + (of(key)[place] ?? 0), 0),
        )
        const figures = [right ?? 0, wrong ?? 0] as const
        const passes = passesGate(figures) && (open.length === 3 || figures[0] + figures[1] >= 15)
        for (const [index, channel] of CHANNELS.entries()) {
          const expected = passes && open.includes(keys[index] ?? '')
          expect([keys[index], isShown(kind, tier, 'en', channel)]).toEqual([keys[index], expected])
        }
      }
    }
  })

  test('praise in feedback is closed, where mockery was called praise, and open in conversations', () => {
    expect(misleading).toContain('praise/likely/feedback')
    expect(isShown('praise', 'likely', 'en', 'feedback')).toBe(false)
    expect(isShown('praise', 'likely', 'en', 'conversation')).toBe(true)
  })
})

const item = (change: Partial<Item>): Item => ({
  id: 'a',
  channel: 'conversation',
  language: 'en',
  group: 'g',
  said: [{ own: false, text: 'The app crashes.' }],
  kinds: [],
  outcome: 'unresolved',
  sentiment: 'negative',
  ...change,
})
const insight = (kinds: readonly Kind[], change: Partial<Insight> = {}): Insight => ({
  language: 'en',
  supported: true,
  outcome: 'unclear',
  sentiment: 'negative',
  findings: kinds.map((kind) => ({
    kind,
    tier: 'sure',
    confidence: 0.9,
    rating: null,
    index: 0,
    from: 0,
    to: 3,
  })),
  ...change,
})

describe('scores', () => {
  test('count right, wrong and missed findings, and what a wrong one stood for', () => {
    const judged = [
      { item: item({ kinds: ['bug_report', 'complaint'] }), insight: insight(['bug_report', 'praise']) },
      { item: item({ kinds: [] }), insight: insight(['praise']) },
      { item: item({}), insight: insight(['praise'], { supported: false }) },
    ]
    const scores = score(judged, () => true)
    expect(scores.all).toEqual({ right: 1, wrong: 2, missed: 1 })
    expect(scores.kinds.praise).toEqual({ right: 0, wrong: 2, missed: 0 })
    expect(scores.confusion.praise).toEqual({ bug_report: 1, complaint: 1, none: 1 })
    expect(scores.unsupported).toBe(1)
    expect([...scores.falsePraise]).toEqual([['g', 2]])
    expect(outcomeFigures(scores)).toEqual({
      right: 0,
      all: 2,
      unclear: 2,
      clear: 2,
      failed: 2,
      failedCalledResolved: 0,
    })
    expect(score(judged, (kind) => kind !== 'praise').all).toEqual({ right: 1, wrong: 0, missed: 1 })
  })

  test('a file of items says which line is wrong, without its content', () => {
    expect(parseItems(`${JSON.stringify(item({}))}\n\n`)).toHaveLength(1)
    expect(() => parseItems('{"id": "secret"}')).toThrow(ItemError)
    expect(() => parseItems('\nsecret')).toThrow('line 2 is not JSON')
  })
})

describe('earshot analyze eval', () => {
  const [command] = analyzeCommands
  const folder = mkdtempSync(join(tmpdir(), 'earshot-eval-'))
  const path = join(folder, 'items.jsonl')
  const items = [
    item({ kinds: ['bug_report'] }),
    item({
      id: 'b',
      said: [{ own: false, text: 'Blue is a colour.' }],
      kinds: ['praise'],
      outcome: 'unclear',
    }),
  ]
  writeFileSync(path, items.map((one) => JSON.stringify(one)).join('\n'))

  const run = (rest: readonly string[], flags: Readonly<Record<string, string>> = {}) =>
    command?.run({
      env: {},
      json: false,
      rest,
      arg: () => '',
      flag: (name) => flags[name],
      flags: () => [],
      has: (name) => name in flags,
    })

  test('prints counts, and errors only on request', async () => {
    const plain = await run([path])
    expect(plain?.json).toMatchObject({ items: 2, found: { all: { right: 1, wrong: 0, missed: 1 } } })
    expect(plain?.lines.join('\n')).not.toContain('missed praise')
    const errors = await run([path], { errors: '' })
    expect(errors?.lines.join('\n')).toContain('b: missed praise')
  })

  test('refuses a wrong number, engine or file', async () => {
    for (const [rest, flags] of [
      [[path], { 'min-precision': '2' }],
      [[path], { engine: 'other' }],
      [[path, path], {}],
    ] as const) {
      const outcome = await run(rest, flags)?.catch((error: unknown) => error)
      expect(outcome).toBeInstanceOf(UsageError)
    }
  })
})

/** Reads every item once, although two measurements ask for it. */
function once({ analyze }: Pick<Analyzer, 'analyze'>): Pick<Analyzer, 'analyze'> {
  const known = new Map<Subject, Insight>()
  return {
    async analyze(subjects, signal) {
      const unknown = subjects.filter((subject) => !known.has(subject))
      for (const [index, found] of (await analyze(unknown, signal)).entries())
        known.set(unknown[index] as Subject, found)
      return subjects.map((subject) => known.get(subject) as Insight)
    },
  }
}

test('the figures of the gate are those of the blind set, and what they let through is right', async () => {
  const items = blindSet()
  const { signal } = new AbortController()
  const second = createBuiltInAnalyzer(textWorkHere)
  const read = once(second)
  const readings = [createBuiltInAnalyzer(textWorkHere, 'rules'), read]
  expect<object>(await measure(items, readings, signal)).toEqual({
    measured: figures.measured,
    misleading: figures.misleading,
  })
  expect(figures).toMatchObject({ items: items.length, version: second.version })
  const judged = await judge(items, read, signal)
  const { shown } = evaluationOf(judged, 'builtin')
  const outcomes = outcomeFigures(shown)
  expect(outcomes.right / outcomes.all).toBeGreaterThanOrEqual(0.8)
  expect(outcomes.unclear / outcomes.clear).toBeLessThanOrEqual(0.25)
  expect(outcomes.failedCalledResolved / outcomes.failed).toBeLessThanOrEqual(0.02)
  expect(precisionOf(shown.all) ?? 1).toBeGreaterThanOrEqual(0.85)
  const written = judged.filter(({ item }) => item.channel !== 'recording')
  expect(recallOf(evaluationOf(written, 'builtin').shown.all) ?? 0).toBeGreaterThanOrEqual(0.5)
  expect(shown.falsePraise.get('sarcasm') ?? 0).toBe(0)
  expect(shown.falsePraise.get('politeness') ?? 0).toBe(0)
}, 300_000)
