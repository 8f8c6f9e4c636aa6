/** The TypeScript SDK against the vectors that all SDKs share, and its parts against references. */

import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import {
  createIdSource,
  feedbackId,
  type Message,
  spokenOf,
} from '../../sdk/typescript/src/messages.rules.ts'
import { isRetryable, waitMs } from '../../sdk/typescript/src/retry.rules.ts'
import { sha256 } from '../../sdk/typescript/src/sha256.ts'
import { verifyWebhook } from '../../sdk/typescript/src/webhooks.ts'
import ids from '../../sdk/vectors/event-ids.json'
import messages from '../../sdk/vectors/messages.json'
import retry from '../../sdk/vectors/retry.json'
import webhooks from '../../sdk/vectors/webhooks.json'
import { idsOf } from '../../src/hear/agents/ingest/append.rules.ts'

const derived = (history: readonly Message[]) =>
  createIdSource().idsOf(history.map((message) => spokenOf(message)!))

describe('ids', () => {
  test.each(ids.cases.map((one) => [one.messages[0]!.content, one] as const))(
    'of the history that begins with %j',
    (_, one) => {
      expect(derived(one.messages)).toEqual(one.ids)
    },
  )

  test('of feedback', () => {
    for (const { target, id } of ids.feedback) expect(feedbackId(target)).toBe(id)
  })

  test('are those that the service derives, for any texts', () => {
    const said = fc.record({
      role: fc.constantFrom('user', 'assistant'),
      content: fc.string({ unit: 'grapheme', minLength: 1 }),
    })
    fc.assert(
      fc.property(fc.array(said, { maxLength: 12 }), (drawn) => {
        const history = drawn.filter(({ content }) => content.trim() !== '')
        const events = history.map(({ role, content }) => ({ type: `${role}_message`, content }))
        expect(derived(history)).toEqual([...idsOf(events)])
        // In any steps, also back and with changes in the middle.
        const source = createIdSource()
        const steps = [history.slice(0, 2), history, history.slice(0, 1), history.toReversed(), history]
        for (const step of steps) {
          const given = step.map(({ role, content }) => ({ type: `${role}_message`, content }))
          expect(source.idsOf(step.map((message) => spokenOf(message)!))).toEqual([...idsOf(given)])
        }
      }),
    )
  })

  test('SHA-256 is that of the runtime, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
        expect(sha256(text)).toBe(createHash('sha256').update(text).digest('hex'))
      }),
    )
    for (const length of [0, 54, 55, 56, 63, 64, 65, 119, 120, 5_000])
      expect(sha256('x'.repeat(length))).toBe(createHash('sha256').update('x'.repeat(length)).digest('hex'))
  })
})

test.each(messages.cases.map((one) => [JSON.stringify(one.message), one] as const))(
  'the message %s',
  (_, one) => {
    expect(spokenOf(one.message as Message)).toEqual(one.says as ReturnType<typeof spokenOf>)
  },
)

test('a message of LangChain, which has a method in place of a role', () => {
  expect(spokenOf({ getType: () => 'human', content: 'hi' })?.type).toBe('user_message')
  expect(spokenOf({ getType: () => 'ai', content: 'hi' })?.type).toBe('assistant_message')
  expect(spokenOf({ getType: () => 'tool', content: 'hi' })).toBeNull()
})

describe('retries', () => {
  test.each(retry.cases)('after %j', ({ failures, retryAfter, random, waitMs: expected }) => {
    expect(waitMs(failures, retryAfter, retry.now, random)).toBe(expected)
  })

  test('of these answers only', () => {
    for (const status of retry.statuses.retried) expect([status, isRetryable(status)]).toEqual([status, true])
    for (const status of retry.statuses.final) expect([status, isRetryable(status)]).toEqual([status, false])
    for (const { status, code } of retry.codes.retried) expect(isRetryable(status, code)).toBe(true)
    for (const { status, code } of retry.codes.final) expect(isRetryable(status, code)).toBe(false)
  })
})

describe('webhooks', () => {
  test.each(webhooks.cases.map((one) => [one.name, one] as const))(
    '%s',
    async (_, { body, headers, isValid }) => {
      const now = new Date(webhooks.now * 1_000)
      const outcome = await verifyWebhook(body, headers as Partial<Record<string, string>>, webhooks.secret, {
        now,
      }).then(
        (value) => ({ isValid: true, value }),
        () => ({ isValid: false, value: null }),
      )
      expect(outcome).toEqual({ isValid, value: isValid ? JSON.parse(body) : null })
    },
  )

  test('headers of a request are accepted as they are', async () => {
    const [{ body, headers }] = webhooks.cases as [(typeof webhooks.cases)[number]]
    const now = new Date(webhooks.now * 1_000)
    const given = new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)]))
    expect(await verifyWebhook(body, given, webhooks.secret, { now })).toEqual(JSON.parse(body))
  })
})
