/**
 * The service with two organizations of two users each. Sessions, events and signals are written directly, so that a
 * test of reading controls exactly what is stored.
 */

import type { Identity } from '../../src/access/identity/service.ts'
import type { Role } from '../../src/kernel/roles.rules.ts'
import type { Sql } from '../../src/platform/db/pool.ts'
import { newId } from '../../src/platform/ids.ts'
import { type Answer, type Credential, clientOf, startTestServer, type TestServerOptions } from './server.ts'

export type Agents = Awaited<ReturnType<typeof startAgents>>

export async function startAgents(options: TestServerOptions = {}) {
  const server = await startTestServer(options)
  const { identity, applications } = server.features
  return {
    sql: server.database.sql,
    identity,
    applications,
    organization: await createOrganization(identity, 'Acme'),
    stranger: await createOrganization(identity, 'Other'),
    /** Sends one request. `body` is sent as JSON; a string is sent unchanged. */
    call(caller: Credential, method: string, path: string, body?: unknown): Promise<Answer> {
      const init =
        body === undefined
          ? {}
          : {
              body: typeof body === 'string' ? body : JSON.stringify(body),
              headers: { 'content-type': 'application/json' },
            }
      return clientOf(server.baseUrl, caller).send(method, path, init)
    },
    /** The analyser that runs, as the API names it. */
    async precision(): Promise<{ readonly name: string; readonly version: string }> {
      const { id } = await createOrganization(identity, crypto.randomUUID())
      const key: Credential = await identity.createApiKey(id, 'test')
      return (await clientOf(server.baseUrl, key).get('/v3/rest/insights/precision')).body.analyzer
    },
    stop: () => server.stop(),
  }
}

/** An organization with its key, two administrators and an analyst. */
async function createOrganization(identity: Identity, name: string) {
  const { id } = await identity.createOrganization(name)
  const key = (await identity.createApiKey(id, 'test')) as Credential
  const user = async (who: string, role: Role) => {
    const created = await identity.createUser(id, {
      email: `${who}@${name}.example`,
      name: who,
      role,
    })
    const caller: Credential = { userToken: await identity.createUserToken(created.id, 600) }
    return { id: created.id, caller }
  }
  return {
    id,
    key,
    ada: await user('ada', 'administrator'),
    bob: await user('bob', 'administrator'),
    cleo: await user('cleo', 'analyst'),
  }
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

/** With microseconds, which the driver would cut from a timestamptz parameter. */
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

/** Writes an event. Default type: `user_message`. */
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
    kind: 'message_feedback',
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

/** Creates an application. Its `agentKey` separates the rows of one test from the others. */
export async function createApplicationOf(agents: Agents, settings: object = {}) {
  const organizationId = agents.organization.id
  const application = await agents.applications.create(organizationId, {
    agentKey: newId(),
    name: 'Test',
    settings,
  })
  const applicationId = application.id
  return {
    ...application,
    session: (values?: Readonly<Record<string, unknown>>) =>
      insertSession(agents.sql, organizationId, applicationId, values),
    signal: (sessionId: string, values?: Readonly<Record<string, unknown>>) =>
      insertSignal(agents.sql, { organizationId, applicationId, sessionId }, values),
  }
}

/** The ids of a page, in their order. */
export const ids = (answer: Answer): string[] => answer.body.data.map((item: { id: string }) => item.id)

/** Reads a list to its end with the organization key. `between` runs after each page except the last. */
export async function readAll(
  agents: Agents,
  path: string,
  between: () => Promise<unknown> = async () => {},
): Promise<readonly { readonly id: string; readonly sequence: number }[]> {
  const items: { id: string; sequence: number }[] = []
  let cursor = ''
  for (;;) {
    const { body } = await agents.call(agents.organization.key, 'GET', `${path}${cursor}`)
    items.push(...body.data)
    if (body.has_more !== (body.next_cursor !== null)) throw new Error('has_more and next_cursor disagree')
    if (!body.has_more) return items
    cursor = `&cursor=${body.next_cursor}`
    await between()
  }
}
