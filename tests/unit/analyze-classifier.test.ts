/** The trained classifier of the built-in analyser: reproducible, optional, and of use. */
import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import accuracy from '../../data/insight/accuracy.json'
import { corpusHash, examplesOf, judgeUnseen, train } from '../../scripts/train/folds.ts'
import { type Labelled, ownClauses } from '../../scripts/train/items.ts'
import { createBuiltInAnalyzer } from '../../src/analysis/analyze/builtin/builtin.ts'
import { loadClassifier } from '../../src/analysis/analyze/builtin/classifier.ts'
import { createInsightDoers } from '../../src/analysis/analyze/builtin/jobs.ts'
import { loadEmbed, packVector } from '../../src/analysis/analyze/builtin/vectors/vectors.ts'
import { packClassifier, readClassifier } from '../../src/analysis/analyze/builtin/weights.rules.ts'
import { type Insight, KINDS, type Outcome } from '../../src/analysis/analyze/insight.ts'
import { textWorkHere } from '../support/text-work.ts'

const analyzer = createBuiltInAnalyzer(textWorkHere)
const { signal } = new AbortController()

async function chat(...texts: readonly string[]): Promise<Insight> {
  const said = texts.map((text, index) => ({ own: index % 2 === 1, text }))
  const [insight] = await analyzer.analyze([{ channel: 'conversation', said }], signal)
  return insight as Insight
}

describe('the weights', () => {
  test('are those whose accuracy is recorded', async () => {
    const file = readFileSync(join(import.meta.dir, '../../src/analysis/analyze/builtin/classifier.zst'))
    expect(createHash('sha256').update(file).digest('hex')).toBe(accuracy.sha256)
    expect((await loadClassifier()).corpus).toBe(accuracy.corpus)
  })

  test('are the same after the same training, and after they were packed', async () => {
    const items = ownClauses().filter((_, index) => index % 100 === 0)
    const examples = examplesOf(items, await loadEmbed())
    const { calibration, certainty } = await loadClassifier()
    const packed = packClassifier({ ...train(examples), calibration, certainty }, corpusHash(items))
    expect(packClassifier({ ...train(examples), calibration, certainty }, corpusHash(items))).toEqual(packed)
    const read = readClassifier(packed)
    expect(read.corpus).toBe(corpusHash(items))
    expect(read.pieces.dense).toEqual(train(examples).pieces.dense)
    expect(() => readClassifier(packed.subarray(0, packed.length - 1))).toThrow('damaged')
  }, 300_000)

  test('are judged by sources that they have not seen', async () => {
    const itemOf = (source: string, text: string, isBug: boolean): Labelled => ({
      source,
      item: {
        ...{ id: `${source} ${text}`, channel: 'feedback', language: 'en', said: [{ own: false, text }] },
        ...{ kinds: isBug ? ['bug_report'] : [], outcome: null, sentiment: isBug ? 'negative' : 'neutral' },
      },
      known: KINDS,
    })
    const sources = ['items/one.jsonl', 'items/two.jsonl']
    const items = sources.flatMap((source) =>
      ['alpha', 'beta', 'gamma'].flatMap((word) => [
        itemOf(source, `The ${word} crashes`, true),
        itemOf(source, `The ${word} is blue`, false),
      ]),
    )
    const unseen = judgeUnseen(examplesOf(items, await loadEmbed()))
    expect(unseen).toHaveLength(items.length)
    const votesFor = (isBug: boolean) =>
      unseen.filter(({ item }) => item.kinds.length > 0 === isBug).map(({ votes }) => votes[0] ?? 0)
    expect(Math.min(...votesFor(true))).toBeGreaterThan(Math.max(...votesFor(false)))
  }, 300_000)
})

test('without the classifier the rules still work', async () => {
  const doers = createInsightDoers(() => Promise.reject(new Error('the file is missing')))
  const subjects = [
    { channel: 'feedback', said: [{ own: false, text: 'The app crashes every day.' }] },
  ] as const
  const [insight] = await doers.insight({ subjects, tier: 'all' })
  expect(insight?.findings).toMatchObject([{ kind: 'bug_report', tier: 'sure' }])
})

test('a vector has 256 signed bytes, and texts that mean the same are close', async () => {
  const [a, b, c] = await textWorkHere.run(
    'embed',
    { texts: ['the app crashes', 'the program keeps crashing', 'where is my invoice?'] },
    signal,
  )
  const vectorOf = (packed = '') => new Int8Array(Buffer.from(packed, 'base64'))
  const likeness = (x: Int8Array, y: Int8Array) => x.reduce((sum, value, at) => sum + value * (y[at] ?? 0), 0)
  expect(vectorOf(a)).toHaveLength(256)
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
  expect(called.filter(([, outcome]) => outcome === 'unresolved').length).toBeGreaterThanOrEqual(9)
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

test('of these ends most are told, and none is called the opposite', async () => {
  const given = await Promise.all(ENDS.map(async ([, ...texts]) => (await chat(...texts)).outcome))
  const opposites = ENDS.filter(
    ([outcome], at) => outcome !== 'unclear' && given[at] !== 'unclear' && given[at] !== outcome,
  )
  expect(opposites).toEqual([])
  expect(ENDS.filter(([outcome], at) => given[at] === outcome).length).toBeGreaterThanOrEqual(5)
})
