/** What follows from the answer to a delivery, and how bodies and pauses are read and written. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { bodyOf, RETRY_SECONDS, verdictOf } from '../../src/tell/webhooks/delivery.rules.ts'
import { newSecret, signedHeaders } from '../../src/tell/webhooks/signing.ts'

const schedule = (more: object = {}) =>
  ({ retrySeconds: RETRY_SECONDS, ordering: 'relaxed', chance: 0, ...more }) as const
const answer = (status: number | null, retryAfterSeconds: number | null = null) => ({
  status,
  retryAfterSeconds,
})

describe('the schedule', () => {
  test('is 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h', () => {
    const delays = RETRY_SECONDS.map((_, index) => verdictOf(index + 1, answer(500), schedule()).delaySeconds)
    expect(delays).toEqual([5, 300, 1_800, 7_200, 18_000, 36_000, 36_000])
    expect(verdictOf(8, answer(500), schedule())).toEqual({
      status: 'failed',
      delaySeconds: null,
      pauseSeconds: null,
    })
  })

  test.each([
    [1, 'relaxed', 'pending'],
    [2, 'relaxed', 'retrying'],
    [7, 'relaxed', 'retrying'],
    [1, 'strict', 'pending'],
    [2, 'strict', 'pending'],
    [7, 'strict', 'pending'],
    [8, 'strict', 'failed'],
  ] as const)('after failure %d a %s delivery is %s', (attempts, ordering, status) => {
    expect(verdictOf(attempts, answer(null), schedule({ ordering })).status).toBe(status)
  })

  test.each([
    [200, 'delivered'],
    [204, 'delivered'],
    [299, 'delivered'],
    [199, 'pending'],
    [300, 'pending'],
    [301, 'pending'],
    [307, 'pending'],
    [400, 'pending'],
    [404, 'pending'],
    [410, 'failed'],
    [500, 'pending'],
    [null, 'pending'],
  ] as const)('an answer %p is %s', (status, expected) => {
    expect(verdictOf(1, answer(status), schedule()).status).toBe(expected)
  })

  test.each([
    [429, 60, 60, 60],
    [502, 60, 60, 60],
    [503, 2, 5, 2],
    [504, 100_000, 86_400, 3_600],
    [500, 60, 5, null],
    [404, 60, 5, null],
  ])(
    '%d with Retry-After %d: the next attempt after %d s, a pause of %p s',
    (status, after, delay, pause) => {
      expect(verdictOf(1, answer(status, after), schedule())).toMatchObject({
        delaySeconds: delay,
        pauseSeconds: pause,
      })
    },
  )

  test('property: long pauses are lengthened by at most a tenth, short ones not', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 7 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (attempts, chance) => {
          const usual = RETRY_SECONDS[attempts - 1] as number
          const { delaySeconds } = verdictOf(attempts, answer(500), schedule({ chance }))
          expect(delaySeconds).toBeGreaterThanOrEqual(usual)
          expect(delaySeconds).toBeLessThanOrEqual(usual < 300 ? usual : usual * 1.1)
        },
      ),
    )
  })
})

test('property: a body is JSON with the three members, whatever they contain', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.jsonValue(), (type, timestamp, data) => {
      const parsed = JSON.parse(bodyOf(type, timestamp, JSON.stringify(data)))
      expect(parsed).toEqual({ type, timestamp, data: JSON.parse(JSON.stringify(data)) })
    }),
  )
})

test('signs with each secret, by the vector of the standard', () => {
  const vector = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const headers = signedHeaders(
    [vector, newSecret()],
    'msg_p5jXN8AQM9LWM0D4loKWxJek',
    new Date(1_614_265_330_000),
    '{"test": 2432232314}',
  )
  const [first, second] = (headers['webhook-signature'] ?? '').split(' ')
  expect(first).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  expect(second).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/)
  expect(headers['webhook-timestamp']).toBe('1614265330')
})
