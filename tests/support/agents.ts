/**
 * Builders of agent conversations, and one application to send them to.
 *
 * The service accepts every built request unchanged, so a test changes only what it tests.
 */
import { expect } from 'bun:test'
import { ERRORS } from '../../src/app/error-catalogue.ts'
import type { SettingsChange } from '../../src/hear/agents/applications/model.ts'
import type { Sql } from '../../src/platform/db/pool.ts'
import type { ErrorCode } from '../../src/platform/errors.ts'
import type { Answer, Client, TestApplication, TestServer, TestTenant } from './server.ts'

export const INGEST = '/v3/rest/agent-conversations/ingest'
export const APPEND = '/v3/rest/agent-conversations/append'

/** Any JSON value that a client may send. */
export type Members = Readonly<Record<string, unknown>>

export interface SentEvent extends Members {
  readonly externalEventId: string
  readonly sequence: number
  readonly revision: number
  readonly type: string
}

/** A message of the user: `u<sequence>`. */
export function userMessage(sequence: number, members: Members = {}): SentEvent {
  return message('u', 'user_message', sequence, { content: 'How do I export my data?', ...members })
}

/** A visible, final response: `a<sequence>`. */
export function assistantMessage(sequence: number, members: Members = {}): SentEvent {
  return message('a', 'assistant_message', sequence, { content: 'Under Settings, Export.', ...members })
}

/** Positive feedback on the response with the id `target`: `f<sequence>`. `members` goes into `feedback`. */
export function feedbackOn(target: string, sequence: number, members: Members = {}): SentEvent {
  const feedback = { targetEventExternalId: target, rating: 'positive', ...members }
  return message('f', 'feedback', sequence, { feedback })
}

function message(prefix: string, type: string, sequence: number, members: Members): SentEvent {
  return {
    externalEventId: `${prefix}${sequence}`,
    sequence,
    revision: 1,
    occurredAt: '2026-01-02T09:00:00Z',
    type,
    final: true,
    ...members,
  }
}

/** The same members in the opposite order, at every level. */
export function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, reversed(member)]),
  )
}

export interface Agent extends TestApplication {
  readonly organizationId: string
  readonly tenant: TestTenant
  readonly client: Client
  /** Builds a request of this application. The session is `chat` unless `members` names another. */
  request(events: readonly unknown[], members?: Members): Members
  /** Builds and sends such a request. */
  send(events: readonly unknown[], members?: Members): Promise<Answer>
  /** Sends such a request, expects success, and returns the response body. */
  accept(events: readonly unknown[], members?: Members): Promise<Members & { readonly sessionId: string }>
  /** Sends a body unchanged. */
  post(body: unknown, headers?: Record<string, string>): Promise<Answer>
  /** Sends a request, and expects that it is refused with `code` and stores nothing. */
  refuse(code: ErrorCode, events: readonly unknown[], members?: Members): Promise<Answer>
  /** Changes the settings of the application. */
  configure(settings: SettingsChange): Promise<void>
}

export interface AgentOptions {
  readonly settings?: SettingsChange
  readonly tenant?: TestTenant
}

/** Creates an application, in a new organization unless one is given. */
export async function openAgent(server: TestServer, options: AgentOptions = {}): Promise<Agent> {
  const tenant = options.tenant ?? (await server.createTenant())
  const { organizationId } = tenant
  const application = await server.createApplication(organizationId, {
    agentKey: `agent-${crypto.randomUUID()}`,
    settings: options.settings ?? {},
  })
  const client = server.as({ agentSecret: application.agentSecret })
  const post: Agent['post'] = (body, headers) => client.post(INGEST, body, headers)
  const request: Agent['request'] = (events, members = {}) => ({
    agentKey: application.agentKey,
    externalSessionId: 'chat',
    events,
    ...members,
  })
  const send: Agent['send'] = (events, members) => post(request(events, members))
  return {
    ...application,
    organizationId,
    tenant,
    client,
    request,
    send,
    post,
    async accept(events, members) {
      const answer = await send(events, members)
      expect(answer).toMatchObject({ status: 200 })
      return answer.body
    },
    refuse: (code, events, members) => refused(server, code, () => send(events, members)),
    async configure(settings) {
      await server.features.applications.update(organizationId, application.applicationId, { settings })
    },
  }
}

/** Runs `attempt`, and expects that it is refused with `code` in the shape of every REST error and stores nothing. */
export async function refused(
  server: TestServer,
  code: ErrorCode,
  attempt: () => Promise<Answer>,
  path = INGEST,
): Promise<Answer> {
  const before = await conversationRows(server.database.sql)
  const answer = await attempt()
  expect(answer.body).toMatchObject({ code, statusCode: ERRORS.codes[code] })
  expect(answer.status).toBe(ERRORS.codes[code])
  // A copy, because the matcher writes its wildcards into the object that it compares.
  expect({ ...answer.body }).toMatchObject({
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    path,
    error: expect.any(String),
    message: expect.any(String),
    requestId: answer.headers.get('x-request-id'),
  })
  expect(await conversationRows(server.database.sql)).toEqual(before)
  return answer
}

const TABLES = [
  'agent_session',
  'agent_event',
  'agent_event_revision',
  'agent_late_event',
  'agent_response',
  'agent_usage',
  'agent_signal',
  'actor_mailbox',
  'actor_message',
] as const

/** Every row that ingestion and its actors write, as text. */
async function conversationRows(sql: Sql): Promise<readonly string[]> {
  const tables = await Promise.all(
    TABLES.map(async (table) => {
      const rows = await sql<{ row: string }[]>`select t::text as row from ${sql(table)} t order by 1`
      return rows.map(({ row }) => `${table} ${row}`)
    }),
  )
  return tables.flat()
}

export interface EventRecord {
  readonly id: string
  readonly sequence: number
  readonly revision: number
  readonly type: string
  readonly final: boolean
  readonly occurredAt: Date
  readonly body: Members
  readonly settingsVersion: number
}

/** The stored events of a session in the order of their sequence. */
export function eventRows(sql: Sql, sessionId: string): Promise<readonly EventRecord[]> {
  return sql<EventRecord[]>`
    select
      external_event_id as id, sequence, revision, type, final, occurred_at as "occurredAt", body,
      settings_version as "settingsVersion"
    from agent_event where session_id = ${sessionId} order by sequence`
}

/** The superseded revisions of a session's events, oldest first. */
export function revisionRows(
  sql: Sql,
  sessionId: string,
): Promise<readonly Omit<EventRecord, 'type' | 'sequence'>[]> {
  return sql<Omit<EventRecord, 'type' | 'sequence'>[]>`
    select
      external_event_id as id, revision, final, occurred_at as "occurredAt", body, settings_version as "settingsVersion"
    from agent_event_revision where session_id = ${sessionId} order by external_event_id, revision`
}

/** The row of a session, with the column names of the database. */
export async function sessionRow(sql: Sql, sessionId: string): Promise<Members> {
  const [row] = await sql`select * from agent_session where id = ${sessionId}`
  if (row === undefined) throw new Error(`no session ${sessionId}`)
  return row
}
