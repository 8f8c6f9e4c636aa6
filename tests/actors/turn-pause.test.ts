/**
 * Requests in quick succession share a turn. The message of a session that just had a turn waits, and later messages are left
 * out meanwhile. A session that rested has its turn at once.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createRuntime } from '../../src/actors/runtime.ts'
import { TURN_PAUSE_MS } from '../../src/hear/agents/sessions/session.rules.ts'
import type { Sql } from '../../src/platform/db/pool.ts'
import { type Agent, openAgent, type SentEvent, userMessage } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let sql: Sql
beforeAll(async () => {
  server = await startTestServer()
  sql = server.database.sql
})
afterAll(() => server.stop())

/** Creates a session of two events without messages, as if its last turn had been `ago`. */
async function sessionAfterTurn(ago: string): Promise<{ agent: Agent; key: string; sessionId: string }> {
  const agent = await openAgent(server)
  const { sessionId } = await agent.accept([userMessage(1), userMessage(2)])
  const key = `session:${sessionId}`
  await sql`delete from actor_message where key = ${key}`
  await sql`update agent_session set turned_at = now() - ${ago}::interval where id = ${sessionId}`
  return { agent, key, sessionId }
}

/** How long each message of the session waits after the last request, in milliseconds. */
async function waits(key: string): Promise<readonly number[]> {
  const rows = await sql<{ ms: number }[]>`
    select extract(epoch from m.available_at - s.updated_at)::float8 * 1000 as ms
    from actor_message m
    join agent_session s on 'session:' || s.id = m.key
    where m.key = ${key}`
  return rows.map(({ ms }) => ms)
}

const WAYS: readonly (readonly [string, SentEvent])[] = [
  ['a new event', userMessage(3)],
  ['a revised event', userMessage(1, { revision: 2, content: 'How do I import?' })],
]

for (const [what, event] of WAYS) {
  test(`${what} of a session that rested is due at once`, async () => {
    const { agent, key } = await sessionAfterTurn('2 seconds')
    await agent.accept([event])
    expect(await waits(key)).toEqual([0])
  })

  test(`${what} soon after a turn is delayed, and later requests send no message of their own`, async () => {
    // The time of the last turn is in the future if the clock went back. The wait must not become longer by that.
    const { agent, key } = await sessionAfterTurn('-1 hour')
    await agent.accept([event])
    expect(await waits(key)).toEqual([TURN_PAUSE_MS])
    const messages = () => sql`select seq, available_at from actor_message where key = ${key}`
    const before = await messages()
    await agent.accept([userMessage(4)])
    await agent.accept([userMessage(4, { revision: 2, content: 'And back?' })])
    expect(await messages()).toEqual(before)
  })
}

test('the first event of a new session is due at once', async () => {
  const agent = await openAgent(server)
  const { sessionId } = await agent.accept([userMessage(1)])
  expect(await waits(`session:${sessionId}`)).toEqual([0])
})

test('every turn is recorded, and a delayed message runs without a further request', async () => {
  const { agent, sessionId } = await sessionAfterTurn('-1 hour')
  const runtime = createRuntime(server.deps, server.features.actors, { sweepMs: 60_000 })
  await runtime.start()
  try {
    await agent.accept([userMessage(3)])
    await eventually(async () => {
      const [session] = await sql<{ watermark: number; past: boolean }[]>`
        select watermark, turned_at <= now() as past from agent_session where id = ${sessionId}`
      return session?.watermark === 3 && session.past
    })
  } finally {
    await runtime.stop(5_000)
  }
})
