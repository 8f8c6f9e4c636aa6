/**
 * Every pair of operations that touch the same kind of object is sent at once, through two services on one database, with random offsets. No
 * answer is 500, PostgreSQL finds no deadlock, and afterwards every rule between rows holds.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { type Change, changesOf, Objects, pairsOf, sendChange } from '../support/at-once.ts'
import { deadlocks } from '../support/deadlocks.ts'
import { brokenRules } from '../support/invariants.ts'
import { RECORDER_ENV } from '../support/meetings.ts'
import { createMemoryRecorder } from '../support/memory-recorder.ts'
import { rounds } from '../support/rounds.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const ROUNDS = rounds(1, 60)
setDefaultTimeout(rounds(300_000, 3_600_000))
/** Pairs under way at a time. Each has an organization of its own. */
const AT_ONCE = 6
const LONGEST_OFFSET_MS = 8

const env = { ...RECORDER_ENV, DATABASE_POOL_SIZE: '10', PUBLIC_BASE_URL: 'https://earshot.example' }

let first: TestServer
let second: TestServer
let pairs: readonly (readonly [Change, Change])[]
beforeAll(async () => {
  const recorder = createMemoryRecorder()
  first = await startTestServer({ env, recorder })
  second = await startTestServer({ beside: first, env, recorder })
  pairs = pairsOf(changesOf((await first.as('nobody').get('/openapi.json')).body))
})
afterAll(async () => {
  await second?.stop()
  await first?.stop()
})

/** @returns what both answered, unless it is in order */
async function meet(pair: readonly [Change, Change], round: number): Promise<string | null> {
  const objects = new Objects(first, await first.createTenant())
  const order = round % 2 === 0 ? [first, second] : [second, first]
  const sends = await Promise.all(pair.map((change, n) => sendChange(order[n]!.baseUrl, objects, change)))
  const offset = (Math.random() * 2 - 1) * LONGEST_OFFSET_MS
  const delays = [Math.max(0, offset), Math.max(0, -offset)]
  const answers = await Promise.all(
    sends.map(async (send, n) => {
      if (delays[n]! > 0) await Bun.sleep(delays[n]!)
      return send()
    }),
  )
  const names = pair.map(({ id }, n) => `${id} ${answers[n]}`)
  return answers.some((answer) => answer.startsWith('5')) ? names.join(' beside ') : null
}

test('covers every operation that changes an object', async () => {
  expect(pairs.length).toBeGreaterThan(300)
  const objects = new Objects(first, await first.createTenant())
  for (const change of new Set(pairs.flat())) await sendChange(first.baseUrl, objects, change)
})

test('no pair is answered with 500, ends in a deadlock or breaks a rule', async () => {
  const { sql } = first.database
  const before = await deadlocks(sql)
  const wrong = new Map<string, number>()
  const left = Array.from({ length: ROUNDS }, (_, round) => pairs.map((pair) => ({ pair, round }))).flat()
  const lane = async () => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const found = await meet(next.pair, next.round)
      if (found !== null) wrong.set(found, (wrong.get(found) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  expect(Object.fromEntries(wrong)).toEqual({})
  expect((await deadlocks(sql)) - before).toBe(0)
  expect(await brokenRules(sql)).toEqual([])
})

test('of two administrators who are removed or demoted at once, one stays', async () => {
  const { sql } = first.database
  const demote = (id: string) => ['PATCH', `/v3/rest/members/${id}`, { role: 'viewer' }] as const
  const remove = (id: string) => ['DELETE', `/v3/rest/members/${id}`, undefined] as const
  for (let round = 0; round < rounds(4, 60); round++) {
    const tenant = await first.createTenant()
    const other = await first.createUser(tenant.organizationId)
    const changes = [round % 2 === 0 ? demote : remove, round % 4 < 2 ? demote : remove]
    const statuses = await Promise.all(
      [tenant.userId, other.userId].map(async (id, n) => {
        const [method, path, body] = changes[n]!(id)
        const client = [first, second][n]!.as({ apiKey: tenant.apiKey })
        const init = body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
        return (await client.send(method, path, init)).status
      }),
    )
    expect(statuses.filter((status) => status === 409).length).toBe(1)
  }
  expect(await brokenRules(sql)).toEqual([])
})
