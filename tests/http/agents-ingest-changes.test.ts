/**
 * The application or the session changes after a request was read and before it is stored. Remembered state must never justify an
 * answer.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { prepareEvent } from '../../src/hear/agents/events/fingerprint.ts'
import { compileRedaction, PRESENT_RULES } from '../../src/hear/agents/events/redaction.ts'
import { sanitizeEvent } from '../../src/hear/agents/events/sanitize.ts'
import { type GuardedWrite, readSessions, writeGuarded } from '../../src/hear/agents/ingest/guarded.store.ts'
import { DEFAULT_SETTINGS } from '../../src/hear/agents/settings.ts'
import {
  type Agent,
  APPEND,
  assistantMessage,
  eventRows,
  openAgent,
  sessionRow,
  userMessage,
} from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.stop())

test('settings that another process has changed apply to the next request', async () => {
  const agent = await openAgent(server)
  await agent.accept([userMessage(1)])
  const { sql } = server.database
  await sql`
    insert into agent_application_settings (organization_id, application_id, version, settings)
    select organization_id, application_id, 2, settings || '{"captureContent": false}'
    from agent_application_settings
    where application_id = ${agent.applicationId}`
  await sql`update agent_application set settings_version = 2 where id = ${agent.applicationId}`
  const { sessionId, processingStatus } = await agent.accept([userMessage(2)])
  expect(processingStatus).toBe('capture_disabled')
  const rows = await eventRows(sql, sessionId)
  expect(rows.map((row) => Object.hasOwn(row.body, 'content'))).toEqual([true, false])
})

test('after another process disables agent chats, requests are refused at once, and accepted again once it enables them', async () => {
  const agent = await openAgent(server)
  await agent.accept([userMessage(1)])
  const enable = (enabled: boolean) => server.database.sql`
    update organization set agent_chats_enabled = ${enabled} where id = ${agent.organizationId}`
  await enable(false)
  await agent.refuse('agent_chats_disabled', [userMessage(2)])
  await enable(true)
  await agent.accept([userMessage(2)])
  await enable(false)
  expect((await agent.post({ events: 'none' })).body.code).toBe('agent_chats_disabled')
  await enable(true)
  expect((await agent.post({ events: 'none' })).body.code).toBe('validation_failed')
})

test('the next request sees that another process used up the credits', async () => {
  const agent = await openAgent(server)
  const { processingStatus } = await agent.accept([userMessage(1)])
  expect(processingStatus).toBe('pending')
  await server.database.sql`update organization set response_credits = 0 where id = ${agent.organizationId}`
  expect((await agent.accept([assistantMessage(2)])).processingStatus).toBe('billing_blocked')
})

/** A write of one more event into a session that was read. */
async function writeTo(agent: Agent, externalSessionId: string, sequence: number): Promise<GuardedWrite> {
  const key = {
    organizationId: agent.organizationId,
    applicationId: agent.applicationId,
    externalSessionId,
  }
  const seen = (await readSessions(server.database.sql, [key], [{ ids: [], sequences: [] }])).get(0)
  const session = seen?.session ?? null
  const event = prepareEvent({
    externalEventId: `e${sequence}`,
    sequence,
    revision: 1,
    type: 'user_message',
    final: true,
    occurredAt: '2026-01-02T09:00:00Z',
    body: {},
  })
  return {
    key,
    id: session?.id ?? crypto.randomUUID(),
    values: session ?? {
      status: 'open',
      processingStatus: 'pending',
      agentVersion: null,
      source: null,
      context: null,
      environment: null,
      participants: [],
    },
    version: seen?.version ?? null,
    settingsVersion: 1,
    creditsExhausted: false,
    events: [event],
    changesValues: session === null,
    hasNews: true,
    times: null,
  }
}

test('a write is skipped where its session was changed, deleted or created since the read; the other writes apply', async () => {
  const agent = await openAgent(server)
  const { sql } = server.database
  for (const name of ['changed', 'deleted', 'kept'])
    await agent.accept([userMessage(1)], { externalSessionId: name })
  const names = ['changed', 'deleted', 'made', 'kept', 'new']
  const writes = await Promise.all(names.map((name) => writeTo(agent, name, 9)))
  await agent.accept([userMessage(2)], { externalSessionId: 'changed' })
  await sql`delete from agent_session where id = ${writes[1]?.id ?? ''}`
  await agent.accept([userMessage(1)], { externalSessionId: 'made' })
  const { done, sent } = await writeGuarded(sql, writes, 'events_stored')
  expect([...done.keys()].map((index) => names[index]).toSorted()).toEqual(['kept', 'new'])
  // The other actor has a message waiting since its first event.
  expect(sent.map((wakeUp) => wakeUp.key)).toEqual([`session:${writes[4]?.id}`])
  const stored = await sql<{ name: string }[]>`
    select distinct s.external_session_id as name
    from agent_event e
    join agent_session s on s.id = e.session_id
    where s.application_id = ${agent.applicationId} and e.external_event_id = 'e9'
    order by name`
  expect(stored.map((row) => row.name)).toEqual(['kept', 'new'])
})

test('a write waits for the lock of its session, and is skipped where the holder of the lock changed the session', async () => {
  const agent = await openAgent(server)
  const { sql } = server.database
  const { sessionId } = await agent.accept([userMessage(1)])
  const write = await writeTo(agent, 'chat', 9)
  let attempt: ReturnType<typeof writeGuarded> | null = null
  await sql.begin(async (tx) => {
    await tx`update agent_session set watermark = 1 where id = ${sessionId}`
    attempt = writeGuarded(sql, [write], 'events_stored')
    await eventually(async () => {
      const waiting =
        await sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
      return waiting.length > 0
    })
  })
  expect((await attempt!).done.size).toBe(0)
  expect(await sessionRow(sql, sessionId)).toMatchObject({ watermark: 1 })
  expect(await eventRows(sql, sessionId)).toHaveLength(1)
})

test('a retry of an event that an older release redacted differently is a duplicate, and a change is a conflict', async () => {
  // It did not look for names in texts: it stored this event as an application does that redacts nothing.
  const settings = { redactedFields: ['password'] }
  const [plain, agent] = [await openAgent(server), await openAgent(server, { settings })]
  const event = userMessage(1, { content: 'I sent {"password":"hunter2"}' })
  const { sessionId: source } = await plain.accept([event])
  const { sessionId } = await agent.accept([event])
  const { sql } = server.database
  await sql`
    update agent_event e
    set body = old.body, fingerprint = old.fingerprint, rules_version = null
    from agent_event old
    where old.session_id = ${source} and e.session_id = ${sessionId} and old.external_event_id = e.external_event_id`
  expect(await agent.accept([event, userMessage(2)])).toMatchObject({
    acceptedEventCount: 1,
    deduplicatedEventCount: 1,
  })
  await agent.refuse('event_changed', [userMessage(1, { content: 'I sent {"password":"other"}' })])
  // Also where the settings have changed since.
  await agent.configure({ redactedFields: ['password', 'token'] })
  expect(await agent.accept([event])).toMatchObject({ deduplicatedEventCount: 1 })
  await agent.refuse('event_changed', [userMessage(1, { content: 'I sent {"password":"other"}' })])
})

test.each([
  [1, null],
  [2, null],
  [1, 1],
  [2, 2],
  // During an upgrade a process that keeps no version revises what another stored, and leaves its version.
  [1, 3],
  [2, 3],
] as const)(
  'an event that version %p of the rules redacted, kept as %p, is a duplicate',
  async (rules, kept) => {
    const redaction = { redactedFields: ['password'], redactedPatterns: ['Falcon'] }
    const settings = { ...DEFAULT_SETTINGS, ...redaction }
    const agent = await openAgent(server, { settings: redaction })
    const event = userMessage(1, {
      content: 'ＦＡＬＣＯＮ Falcon {"password":"hunter2"} {"ｐａｓｓｗｏｒｄ":"x"}',
    })
    const { sessionId } = await agent.accept([event])
    const { sql } = server.database
    const [present] = await sql`select rules_version from agent_event where session_id = ${sessionId}`
    expect(present).toEqual({ rules_version: PRESENT_RULES })
    const { externalEventId, type, content } = event
    const occurredAt = String(event['occurredAt'])
    const then = prepareEvent(
      sanitizeEvent({ ...event, occurredAt }, settings, compileRedaction(redaction).under(rules)),
    )
    await sql`
    update agent_event set body = ${then.body}::text::jsonb, fingerprint = ${Buffer.from(then.fingerprint)}, rules_version = ${kept}
    where session_id = ${sessionId}`
    expect(await agent.accept([event])).toMatchObject({ acceptedEventCount: 0, deduplicatedEventCount: 1 })
    await agent.refuse('event_changed', [{ ...event, content: 'something else' }])
    // It is a duplicate, too, where the service numbers it, and where the settings have changed since.
    const append = async () => {
      const request = agent.request([{ externalEventId, type, content, occurredAt }])
      const { status, body } = await agent.client.post(APPEND, request)
      expect(status).toBe(200)
      return body
    }
    expect(await append()).toMatchObject({ deduplicatedEventCount: 1, revisedEventCount: 0 })
    await agent.configure({ ...redaction, redactedFields: ['password', 'token'] })
    expect(await agent.accept([event])).toMatchObject({ deduplicatedEventCount: 1 })
    expect(await append()).toMatchObject({ deduplicatedEventCount: 1, revisedEventCount: 0 })
    // A revision keeps the version of what it replaces.
    await agent.accept([{ ...event, revision: 2, content: 'ＦＡＬＣＯＮ' }])
    const versions = await sql`
    select e.rules_version as present, r.rules_version as former
    from agent_event e
    join agent_event_revision r using (session_id, external_event_id)
    where session_id = ${sessionId}`
    expect([...versions]).toEqual([{ present: PRESENT_RULES, former: kept }])
    expect(await agent.accept([event])).toMatchObject({ deduplicatedEventCount: 1 })
  },
)
