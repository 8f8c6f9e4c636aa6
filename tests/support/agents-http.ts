/**
 * The agent operations behind a real HTTP server on a database of its own, with two organizations. Rows of sessions,
 * events and signals are written directly, so that a test of reading says exactly what is stored.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Elysia } from 'elysia'
import { applicationOperations } from '../../src/agents/applications.routes.ts'
import { createApplications } from '../../src/agents/applications.ts'
import { conversationOperations } from '../../src/agents/conversations.routes.ts'
import { createConversations } from '../../src/agents/conversations.ts'
import { loadConfig } from '../../src/config.ts'
import { createAuthenticate } from '../../src/http/auth.ts'
import { renderError, toAppError } from '../../src/http/error-handler.ts'
import { mount } from '../../src/http/mount.ts'
import { createIdentity } from '../../src/identity/service.ts'
import { systemClock } from '../../src/platform/clock.ts'
import type { Sql } from '../../src/platform/db/pool.ts'
import { AppError } from '../../src/platform/errors.ts'
import { newId } from '../../src/platform/ids.ts'
import { createLog } from '../../src/platform/log.ts'
import { createTestDatabase } from './database.ts'

export type Agents = Awaited<ReturnType<typeof startAgents>>

/** Who calls: the headers of a credential. */
export type Caller = Readonly<Record<string, string>>

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back
  readonly body: any
}

export async function startAgents() {
  const database = await createTestDatabase()
  const { sql } = database
  const dataDir = await mkdtemp(join(tmpdir(), 'earshot-test-'))
  const config = loadConfig({ DATABASE_URL: database.url, DATA_DIR: dataDir, LOG_LEVEL: 'silent' })
  const log = createLog('silent', 'test')
  const doorbell = { name: 'postgres', ring() {}, async close() {} } as const
  const deps = { sql, newId, clock: systemClock, log, config, doorbell }
  const identity = createIdentity(deps)
  const applications = createApplications({ ...deps, identity })
  const conversations = createConversations(deps)
  const operations = [...applicationOperations(applications), ...conversationOperations(conversations)]
  const app = new Elysia({ normalize: false })
    .onError(({ code, error, request }) => {
      const context = { path: new URL(request.url).pathname, requestId: '-', now: new Date() }
      const failure = code === 'NOT_FOUND' ? new AppError('not_found', 'Nothing here.') : error
      return renderError(toAppError(failure, context, log), context)
    })
    .use(
      mount(operations, {
        newId,
        authenticate: createAuthenticate({ identity, countFailure: async () => ({}) }),
        limit: async () => ({}),
      }),
    )
    .listen({ port: 0, hostname: '127.0.0.1' })
  const base = `http://127.0.0.1:${app.server?.port}`
  const organization = await createOrganization(identity, 'Acme')
  const stranger = await createOrganization(identity, 'Other')
  return {
    sql,
    identity,
    applications,
    operations,
    organization,
    stranger,
    /** Sends one request; `body` as JSON, a string as it is. */
    async call(caller: Caller, method: string, path: string, body?: unknown): Promise<Answer> {
      const response = await fetch(`${base}${path}`, {
        method,
        headers: { ...caller, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const text = await response.text()
      return {
        status: response.status,
        headers: response.headers,
        body: text === '' ? null : JSON.parse(text),
      }
    },
    async stop() {
      await app.stop(true)
      await database.drop()
      await rm(dataDir, { recursive: true })
    },
  }
}

/** An organization with its key and two users. */
async function createOrganization(identity: ReturnType<typeof createIdentity>, name: string) {
  const { id } = await identity.createOrganization(name)
  const { apiKey } = await identity.createApiKey(id, 'test')
  const user = async (who: string) => {
    const created = await identity.createUser(id, { email: `${who}@${name}.example`, name: who })
    return {
      id: created.id,
      caller: { authorization: `Bearer ${await identity.createUserToken(created.id, 600)}` } as Caller,
    }
  }
  const key: Caller = { 'x-service-api-key': apiKey }
  return { id, key, ada: await user('ada'), bob: await user('bob') }
}

/** Writes a session and returns its id. */
export async function insertSession(
  sql: Sql,
  organizationId: string,
  applicationId: string,
  values: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const id = newId()
  const row = {
    id,
    organization_id: organizationId,
    application_id: applicationId,
    external_session_id: id,
    status: 'open',
    processing_status: 'pending',
    ...values,
  }
  await sql`insert into agent_session ${sql(row)}`
  await setCreated(sql, 'agent_session', row)
  return id
}

/** With microseconds, which the driver cuts from a timestamptz parameter. */
async function setCreated(
  sql: Sql,
  table: string,
  row: { readonly id: string; readonly created_at?: unknown },
) {
  if (row.created_at === undefined) return
  await sql`
    update ${sql(table)}
    set created_at = ${String(row.created_at)}::text::timestamptz
    where id = ${row.id}`
}

/** Writes an event of type `user_message` unless told. */
export async function insertEvent(
  sql: Sql,
  organizationId: string,
  sessionId: string,
  sequence: number,
  values: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const row = {
    organization_id: organizationId,
    session_id: sessionId,
    external_event_id: `e${sequence}`,
    sequence,
    revision: 1,
    type: 'user_message',
    final: true,
    occurred_at: '2026-01-02T03:04:05Z',
    body: sql.json({ content: `text ${sequence}` }),
    fingerprint: Buffer.alloc(32),
    settings_version: 1,
    ...values,
  }
  await sql`insert into agent_event ${sql(row)}`
}

/** Writes a signal and returns its id. */
export async function insertSignal(
  sql: Sql,
  session: { readonly organizationId: string; readonly applicationId: string; readonly sessionId: string },
  values: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const id = newId()
  const row = {
    id,
    organization_id: session.organizationId,
    application_id: session.applicationId,
    session_id: session.sessionId,
    source: 'explicit_feedback',
    kind: 'feedback',
    external_event_id: id,
    sequence: 1,
    revision: 1,
    occurred_at: '2026-01-02T03:04:05Z',
    ...values,
  }
  await sql`insert into agent_signal ${sql(row)}`
  await setCreated(sql, 'agent_signal', row)
  return id
}
