/**
 * Requests that are stored together, in one process or in two processes on one database. Each has its own outcome, a failure of one
 * does not affect the others, and nothing is counted twice or lost.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  type Agent,
  assistantMessage,
  eventRows,
  INGEST,
  openAgent,
  sessionRow,
  userMessage,
} from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

const SESSIONS = '/v3/rest/agent-conversations/sessions'

let server: TestServer
let second: TestServer
beforeAll(async () => {
  server = await startTestServer()
  second = await startTestServer({ beside: server })
})
afterAll(async () => {
  await second.stop()
  await server.stop()
})

/** The application's clients at both processes. */
const processesOf = (agent: Agent): readonly [Client, Client] => [
  agent.client,
  second.as({ agentSecret: agent.agentSecret }),
]

/** Runs `work` while another transaction holds the lock of the session's row. */
async function whileLocked<T>(sessionId: string, work: () => Promise<T>): Promise<T> {
  const { sql } = server.database
  const result = await sql.begin(async (tx) => {
    await tx`select 1 from agent_session where id = ${sessionId} for update`
    return { value: await work() }
  })
  return (result as { value: T }).value
}

const someoneWaits = () =>
  eventually(async () => {
    const rows = await server.database.sql`
      select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
    return rows.length > 0
  })

test('a request that revises an event sees newly added credits', async () => {
  const agent = await openAgent(server)
  const { sql } = server.database
  const credits = (left: number) =>
    sql`update organization set response_credits = ${left} where id = ${agent.organizationId}`
  await credits(0)
  expect((await agent.accept([assistantMessage(1)])).processingStatus).toBe('billing_blocked')
  await credits(5)
  const revised = await agent.accept([assistantMessage(1, { revision: 2, content: 'How?' })])
  expect(revised).toMatchObject({ revisedEventCount: 1, processingStatus: 'pending' })
  await credits(0)
  const again = await agent.accept([
    assistantMessage(1, { revision: 3, content: 'And back?' }),
    assistantMessage(2),
  ])
  expect(again).toMatchObject({
    revisedEventCount: 1,
    acceptedEventCount: 1,
    processingStatus: 'billing_blocked',
  })
})

test('a locked session does not delay the others', async () => {
  const agent = await openAgent(server)
  const { sessionId } = await agent.accept([userMessage(1)], { externalSessionId: 'held' })
  const { held, other } = await whileLocked(sessionId, async () => {
    const held = agent.accept([userMessage(2)], { externalSessionId: 'held' })
    await someoneWaits()
    return { held, other: await agent.accept([userMessage(1)], { externalSessionId: 'other' }) }
  })
  expect(other.acceptedEventCount).toBe(1)
  expect((await held).acceptedEventCount).toBe(1)
})

test('requests that the database refuses fail alone, and those of their batch count as accepted once', async () => {
  const agent = await openAgent(server)
  const { sql } = server.database
  const named = (name: string) => ({ externalSessionId: name })
  const { sessionId } = await agent.accept([userMessage(1)], named('held'))
  for (const name of ['poison', 'revised', 'plain']) await agent.accept([userMessage(1)], named(name))
  await sql.unsafe(`
    create function refuse_poison() returns trigger language plpgsql as $$
      begin
        if new.body ->> 'content' = 'poison' then raise exception 'refused'; end if;
        return new;
      end
    $$;
    create trigger refuse_poison before insert or update on agent_event for each row execute function refuse_poison()`)
  try {
    const answers = await whileLocked(sessionId, async () => {
      const held = agent.send([userMessage(2)], named('held'))
      await someoneWaits()
      // All of one moment, behind the batch that waits.
      return [
        held,
        agent.send([userMessage(1, { revision: 2, content: 'poison' })], named('poison')),
        agent.send([userMessage(1, { content: 'poison' })], named('poisoned from the start')),
        agent.send([userMessage(1, { revision: 2, content: 'better' })], named('revised')),
        agent.send([userMessage(2)], named('plain')),
        agent.send([userMessage(1)], named('new')),
      ]
    })
    const [held, poison, toxic, revised, plain, fresh] = await Promise.all(answers)
    expect([poison?.status, toxic?.status]).toEqual([500, 500])
    const accepted = { status: 200, body: { acceptedEventCount: 1, deduplicatedEventCount: 0 } }
    expect(held).toMatchObject(accepted)
    expect(plain).toMatchObject(accepted)
    expect(fresh).toMatchObject(accepted)
    expect(revised).toMatchObject({ status: 200, body: { revisedEventCount: 1, deduplicatedEventCount: 0 } })
  } finally {
    await sql.unsafe('drop trigger refuse_poison on agent_event; drop function refuse_poison()')
  }
})

test('of the same event, or the same sequence, sent to two processes at once, exactly one is accepted', async () => {
  const agent = await openAgent(server)
  const processes = processesOf(agent)
  for (let sequence = 1; sequence <= 30; sequence++) {
    const same = await Promise.all(
      [0, 1, 0, 1].map((at) =>
        processes[at]!.post(INGEST, agent.request([userMessage(sequence, { type: 'tool_call' })])),
      ),
    )
    expect(same.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(same.map(({ body }) => body.acceptedEventCount).toSorted()).toEqual([0, 0, 0, 1])
    const rivals = await Promise.all(
      processes.map((client, at) => {
        const externalEventId = `rival ${at} ${sequence}`
        return client.post(INGEST, agent.request([userMessage(1_000 + sequence, { externalEventId })]))
      }),
    )
    expect(rivals.map(({ status }) => status).toSorted()).toEqual([200, 409])
    expect(rivals.find(({ status }) => status === 409)?.body.code).toBe('sequence_occupied')
  }
})

test('while two processes write to a new session and a user deletes it, no request fails and no rows are left', async () => {
  const agent = await openAgent(server)
  const { sql } = server.database
  const processes = processesOf(agent)
  const user = server.as({ apiKey: agent.tenant.apiKey })
  for (let round = 0; round < 15; round++) {
    const name = `round ${round}`
    const { sessionId } = await agent.accept([userMessage(1)], { externalSessionId: name })
    const [removed, ...answers] = await Promise.all([
      user.delete(`${SESSIONS}/${sessionId}`),
      ...[0, 1, 0, 1].map((at, index) =>
        processes[at]!.post(INGEST, agent.request([userMessage(index + 2)], { externalSessionId: name })),
      ),
    ])
    expect(removed?.status).toBe(204)
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    const [present] = await sql<{ id: string }[]>`
      select id from agent_session where application_id = ${agent.applicationId} and external_session_id = ${name}`
    const mine = answers.filter(({ body }) => body.sessionId === present?.id)
    expect(await eventRows(sql, present?.id ?? crypto.randomUUID())).toHaveLength(mine.length)
    if (present !== undefined) {
      const newMessages = await sql`select 1 from actor_message where key = ${`session:${present.id}`}`
      expect(newMessages.length).toBeGreaterThan(0)
    }
    expect(await sql`select 1 from actor_mailbox where key = ${`session:${sessionId}`}`).toHaveLength(0)
  }
})

test('members that two processes store at once are all kept', async () => {
  const agent = await openAgent(server)
  const processes = processesOf(agent)
  const { sessionId } = await agent.accept([userMessage(0)])
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      processes[index % 2]!.post(
        INGEST,
        agent.request([userMessage(index + 1)], {
          participants: [{ externalId: `p${index}` }],
          ...(index === 7 ? { agentVersion: '2' } : {}),
          ...(index === 12 ? { status: 'ended' } : {}),
        }),
      ),
    ),
  )
  const row = await sessionRow(server.database.sql, sessionId)
  expect(row).toMatchObject({ agent_version: '2', status: 'ended' })
  expect(row.participants).toHaveLength(20)
})
