/** Access to conversations, and their deletion. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Agents, createApplicationOf, ids, insertEvent, startAgents } from '../support/agents-http.ts'
import { eventually } from '../support/eventually.ts'
import type { Credential } from '../support/server.ts'

const SESSIONS = '/v3/rest/agent-conversations/sessions'
const SIGNALS = '/v3/rest/signals'

let agents: Agents
beforeAll(async () => {
  agents = await startAgents()
})
afterAll(() => agents?.stop())

const organizationId = () => agents.organization.id
const get = (path: string, caller: Credential = agents.organization.key) => agents.call(caller, 'GET', path)
const createApplication = (settings: object = {}) => createApplicationOf(agents, settings)

test('restricted conversation access: listed users and the organization key read, others find nothing', async () => {
  const { ada, bob, key } = agents.organization
  const application = await createApplication({
    conversationAccess: { type: 'restricted', userIds: [ada.id] },
  })
  const id = await application.session()
  await insertEvent(agents.sql, organizationId(), id, 1)
  const signal = await application.signal(id)
  const paths = [`${SESSIONS}/${id}`, `${SESSIONS}/${id}/events/e1/revisions`, `${SIGNALS}/${signal}`]
  const lists = [
    `${SESSIONS}?agentKey=${application.agentKey}`,
    `${SIGNALS}?sessionId=${id}`,
    `${SIGNALS}?agentKey=${application.agentKey}`,
  ]
  const may = async (caller: Credential, yes: boolean) => {
    for (const path of paths) expect((await get(path, caller)).status).toBe(yes ? 200 : 404)
    for (const path of lists) expect(ids(await get(path, caller))).toHaveLength(yes ? 1 : 0)
  }
  await may(key, true)
  await may(ada.caller, true)
  await may(bob.caller, false)
  expect((await agents.call(bob.caller, 'DELETE', `${SESSIONS}/${id}`)).status).toBe(404)
  // The access in force now counts, not the one under which the session was stored.
  await agents.applications.update(organizationId(), application.id, {
    settings: { conversationAccess: { type: 'restricted', userIds: [bob.id] } },
  })
  await may(ada.caller, false)
  await may(bob.caller, true)
  await agents.applications.update(organizationId(), application.id, {
    settings: { conversationAccess: { type: 'workspace' } },
  })
  await may(ada.caller, true)
})

test('deleting a session removes everything of this session except its units in the ledger', async () => {
  const application = await createApplication()
  const [gone, kept] = [await application.session(), await application.session()]
  for (const id of [gone, kept]) {
    await insertEvent(agents.sql, organizationId(), id, 1)
    await application.signal(id)
    await agents.sql`
      insert into agent_usage (organization_id, application_id, session_id, external_event_id, unit)
      values (${organizationId()}, ${application.id}, ${id}, 'e1', 'agent_response_processed')`
    await agents.sql`insert into actor_mailbox (key) values (${`session:${id}`})`
  }
  const deletion = () => agents.call(agents.organization.ada.caller, 'DELETE', `${SESSIONS}/${gone}`)
  const answers = await Promise.all([deletion(), deletion(), deletion()])
  expect(answers.map((answer) => answer.status).sort()).toEqual([204, 404, 404])
  expect(answers.find((answer) => answer.status === 204)?.body).toBeNull()
  const count = async (id: string) => {
    const [row] = await agents.sql`
      select
        (select count(*)::int from agent_session where id = ${id}) as sessions,
        (select count(*)::int from agent_event where session_id = ${id}) as events,
        (select count(*)::int from agent_signal where session_id = ${id}) as signals,
        (select count(*)::int from actor_mailbox where key = ${`session:${id}`}) as actors,
        (select count(*)::int from agent_usage where session_id = ${id}) as usage`
    return { ...row }
  }
  expect(await count(gone)).toEqual({ sessions: 0, events: 0, signals: 0, actors: 0, usage: 1 })
  expect(await count(kept)).toEqual({ sessions: 1, events: 1, signals: 1, actors: 1, usage: 1 })
})

test('deleting a session waits for a transaction that has locked it', async () => {
  const application = await createApplication()
  const id = await application.session()
  const locked = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const holder = agents.sql.begin(async (tx) => {
    await tx`select id from agent_session where id = ${id} for update`
    locked.resolve()
    await release.promise
    await insertEvent(agents.sql, organizationId(), id, 1)
  })
  await locked.promise
  const deletion = agents.call(agents.organization.key, 'DELETE', `${SESSIONS}/${id}`)
  await eventually(async () => {
    const waiting = await agents.sql`
      select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    return waiting.length > 0
  })
  release.resolve()
  await holder
  expect((await deletion).status).toBe(204)
  expect(await agents.sql`select 1 from agent_event where session_id = ${id}`).toHaveLength(0)
})
