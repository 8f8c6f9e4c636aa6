/** Short, blunt texts, as people type them first: the second pass keeps what the words say. */
import { expect, test } from 'bun:test'
import { createBuiltInAnalyzer } from '../../src/analysis/analyze/builtin/builtin.ts'
import type { Kind } from '../../src/analysis/analyze/insight.ts'
import { textWorkHere } from '../support/text-work.ts'

const analyzer = createBuiltInAnalyzer(textWorkHere)

const BLUNT: readonly (readonly [text: string, kinds: readonly Kind[]])[] = [
  ['The menu crashes, this is terrible.', ['bug_report']],
  ['The menu crashes.', ['bug_report']],
  ['The export crashes.', ['bug_report']],
  ['It does not work.', ['bug_report']],
  ['Nothing works.', ['bug_report']],
]

const TROUBLE: readonly Kind[] = ['bug_report', 'complaint', 'wrong_answer']

const read = async (channel: 'conversation' | 'feedback', said: readonly string[]) => {
  const subject = { channel, said: said.map((text, index) => ({ own: index % 2 === 1, text })) }
  const [insight] = await analyzer.analyze([subject], new AbortController().signal)
  const kinds = (insight?.findings ?? []).map(({ kind }) => kind)
  return { kinds, sentiment: insight?.sentiment, outcome: insight?.outcome }
}

test.each(BLUNT)('%p is trouble in feedback and in a conversation', async (text, kinds) => {
  for (const found of [
    await read('feedback', [text]),
    await read('conversation', [text, 'Open the menu.']),
  ]) {
    expect(found.kinds.filter((kind) => TROUBLE.includes(kind)).length).toBeGreaterThan(0)
    for (const kind of kinds) expect([text, found.kinds]).toEqual([text, expect.arrayContaining([kind])])
    expect([text, found.sentiment]).not.toEqual([text, 'positive'])
    expect(found.kinds).not.toContain('praise')
  }
})

test('a blunt denial of an answer is negative', async () => {
  const text = 'Your answer is wrong, that menu does not exist.'
  const found = await read('conversation', ['How do I export?', 'Open the menu.', text])
  expect(found.sentiment).toBe('negative')
})

test.each([
  ['The mobile app freezes when I open settings.', 'bug_report'],
  ['Too expensive for what it does.', 'complaint'],
  ['Upload fails with a timeout.', 'bug_report'],
] as const)('%p counts behind a harmless question, too', async (text, kind) => {
  const found = await read('conversation', ['How do I export?', 'Open the menu.', text])
  expect(found.kinds).toEqual(expect.arrayContaining(['question', kind]))
})

test('nothing is resolved whose last message is trouble', async () => {
  const found = await read('conversation', [
    'How do I sign in?',
    'Press Sign in.',
    'The login page shows an error 500.',
  ])
  expect(found.kinds).toContain('bug_report')
  expect(found.outcome).not.toBe('resolved')
})
