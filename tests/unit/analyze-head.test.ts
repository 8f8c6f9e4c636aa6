/** The trained head of the built-in analyser: reproducible, optional, and of use. */
import { describe, expect, test } from 'bun:test'
import { readCorpus } from '../../scripts/train/corpus.ts'
import { ENDINGS } from '../../scripts/train/ending.ts'
import { examplesOf } from '../../scripts/train/examples.ts'
import { corpusHash, trainHead, weightsOf } from '../../scripts/train/head.ts'
import { readItems } from '../../scripts/train/items.ts'
import { TRAINING } from '../../scripts/train/network.ts'
import { isUsual } from '../../scripts/train/short.ts'
import { createBuiltInAnalyzer } from '../../src/analyze/builtin/builtin.ts'
import { loadEmbed, packVector } from '../../src/analyze/builtin/embed.ts'
import ending from '../../src/analyze/builtin/ending.json'
import weights from '../../src/analyze/builtin/head.json'
import { createInsightDoers } from '../../src/analyze/builtin/jobs.ts'
import short from '../../src/analyze/builtin/short.json'
import type { Insight, Outcome } from '../../src/analyze/insight.ts'
import { textWorkHere } from '../support/text-work.ts'

const analyzer = createBuiltInAnalyzer(textWorkHere)
const { signal } = new AbortController()

async function chat(...texts: readonly string[]): Promise<Insight> {
  const said = texts.map((text, index) => ({ own: index % 2 === 1, text }))
  const [insight] = await analyzer.analyze([{ channel: 'conversation', said }], signal)
  return insight as Insight
}

describe('the weights', () => {
  test('were trained with the clauses as they are', () => {
    const [rows, items] = [readCorpus(), readItems()]
    expect(weights.corpus).toBe(corpusHash(rows.filter(isUsual), items.filter(isUsual)))
    expect(short.corpus).toBe(corpusHash(rows, items))
    expect(ending.corpus).toBe(corpusHash([], [...items, ...readItems(ENDINGS)]))
  })

  test('are the same after the same training', async () => {
    const rows = readCorpus().filter((_, index) => index % 100 === 0)
    const examples = await examplesOf(rows, await loadEmbed())
    const training = { ...TRAINING, epochs: 2 }
    const first = weightsOf(rows, [], trainHead(examples, training))
    expect(weightsOf(rows, [], trainHead(examples, training))).toBe(first)
    const other = trainHead(examples, { ...training, seed: 2 })
    expect(weightsOf(rows, [], other)).not.toBe(first)
  }, 300_000)
})

test('without embeddings the rules still work', async () => {
  const doers = createInsightDoers(() => Promise.reject(new Error('no WebAssembly')))
  const subjects = [
    { channel: 'feedback', said: [{ own: false, text: 'The app crashes every day.' }] },
  ] as const
  const [insight] = await doers.insight({ subjects, tier: 'all' })
  expect(insight?.findings).toMatchObject([{ kind: 'bug_report', tier: 'sure' }])
})

test('a vector has 512 signed bytes, and texts that mean the same are close', async () => {
  const [a, b, c] = await textWorkHere.run(
    'embed',
    { texts: ['the app crashes', 'the program keeps crashing', 'where is my invoice?'] },
    signal,
  )
  const vectorOf = (packed = '') => new Int8Array(Buffer.from(packed, 'base64'))
  const likeness = (x: Int8Array, y: Int8Array) => x.reduce((sum, value, at) => sum + value * (y[at] ?? 0), 0)
  expect(vectorOf(a)).toHaveLength(512)
  expect(likeness(vectorOf(a), vectorOf(b))).toBeGreaterThan(likeness(vectorOf(a), vectorOf(c)) * 1.5)
  expect(packVector(new Float32Array([1, -1, 0]))).toBe(Buffer.from([127, 129, 0]).toString('base64'))
})

/** Chats that failed. An earlier analyser called none unresolved and four of them positive. */
const FAILED: readonly (readonly string[])[] = [
  [
    'The installer hangs in a loop',
    'Delete the temp folder and run it again.',
    'Thanks, but it still loops.',
  ],
  ['How do I stop the worker?', 'Run kill -9 on it.', "it's still running"],
  ['My order is late', 'Your order is important to us!', 'Oh great, how helpful. Another week without it.'],
  ['The export is empty', 'Please choose a period.', 'I did. Still empty.'],
  ['Which region stores my data?', 'Frankfurt.', "That's wrong, my contract says Dublin."],
  ['I was charged twice', 'Charges appear under Billing.', 'That does not help. I want to talk to a person.'],
  ['How do I merge two contacts?', 'Contacts can be deleted.', 'That is not what I asked.'],
  ['The upload fails with error 500', 'Try another browser.', 'Same error in Firefox.'],
  ['talk to a human please', 'How can I help?', 'HUMAN'],
  [
    'How do I set up the webhook?',
    'Configure the HMAC digest on the ingress.',
    "I don't understand a word of that.",
  ],
  ['My password reset mail never arrives', 'Check your spam folder.', 'Nothing there either.'],
  ['Does the free plan include SSO?', 'Yes.', "Your pricing page says it doesn't. Which one is true?"],
  [
    'Please cancel my subscription, the app is useless',
    'I am sorry to hear that. Anything else?',
    'No. You did not even cancel it.',
  ],
  ['Sync stops at 40 %', 'Sign out and in again.', 'Nice try, it stops at 40 % again'],
  ['The printer is offline', 'Restart it.', 'Restarted it three times, no change'],
]

test('of chats that failed none is called positive or resolved, and most unresolved', async () => {
  const insights = await Promise.all(FAILED.map((texts) => chat(...texts)))
  const called = insights.map(({ outcome, sentiment }, index) => [FAILED[index]?.at(-1), outcome, sentiment])
  expect(called.filter(([, , sentiment]) => sentiment === 'positive')).toEqual([])
  expect(called.filter(([, outcome]) => outcome === 'resolved')).toEqual([])
  expect(called.filter(([, outcome]) => outcome === 'unresolved').length).toBeGreaterThanOrEqual(10)
}, 300_000)

test('"but" without it, mockery and politeness are no praise', async () => {
  for (const text of [
    'Great update. Now nothing opens.',
    'Perfect, thank you so much!',
    'Wow, great, another outage 🙄',
  ]) {
    expect([
      text,
      (await chat('Hello, I have a question', 'Yes?', text)).findings.map(({ kind }) => kind),
    ]).toEqual([text, expect.not.arrayContaining(['praise'])])
  }
})

/** Conversations that only both sides together tell apart. */
const ENDS: readonly (readonly [outcome: Outcome, ...texts: readonly string[]])[] = [
  [
    'resolved',
    'The scanner is not found',
    'Plug it into the other port.',
    'There it is, page one is coming out.',
  ],
  ['resolved', 'How do I change the language?', 'Profile, then Language.', 'Found it, now in Spanish.'],
  [
    'resolved',
    'The invoice has the wrong address',
    'Here is a new one.',
    'Got it, all correct now. Thank you',
  ],
  ['unresolved', 'The scanner is not found', 'Plug it in again.', 'The light comes on and goes out again.'],
  ['unresolved', 'My parcel has not arrived', 'It is with the carrier.', 'You said that last week.'],
  ['unresolved', 'I want a refund', 'We cannot refund opened boxes.', 'Fine, forget it.'],
  ['unclear', 'The app logs me out every hour', 'Please update to 5.2.', 'Will do tonight, thanks'],
  ['unclear', 'When do you open on Sunday?', 'At ten.'],
]

test.each(ENDS)('%s: %p', async (outcome, ...texts) => {
  expect((await chat(...texts)).outcome).toBe(outcome)
})
