/**
 * Every operation of agent conversations, taken from the list that is mounted: no credential is 401, an id that is
 * malformed, unknown or of another organization is 404. An operation that is added later is covered by itself.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Operation } from '../../src/http/operation.ts'
import { newId } from '../../src/platform/ids.ts'
import { type Agents, insertEvent, insertSession, insertSignal, startAgents } from '../support/agents-http.ts'
import type { Credential } from '../support/server.ts'

let agents: Agents
/** Path parameters that name objects of the other organization. */
let foreign: Readonly<Record<string, string>>

beforeAll(async () => {
  agents = await startAgents()
  const { id: organizationId } = agents.stranger
  const { id: applicationId } = await agents.applications.create(organizationId, { agentKey: 'a', name: 'A' })
  const { id: secretId } = await agents.applications.createSecret(organizationId, applicationId)
  const sessionId = await insertSession(agents.sql, organizationId, applicationId)
  await insertEvent(agents.sql, organizationId, sessionId, 1)
  const signalId = await insertSignal(agents.sql, { organizationId, applicationId, sessionId })
  foreign = { applicationId, secretId, sessionId, signalId, externalEventId: 'e1' }
})
afterAll(() => agents?.stop())

const fill = (path: string, value: (name: string) => string) =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => value(name))

const send = (caller: Credential, operation: Operation, path: string) =>
  agents.call(caller, operation.method, path, operation.body === undefined ? undefined : {})

/** What the whole database holds of the other organization. */
async function holdings() {
  const [row] = await agents.sql`
    select
      (select json_agg(s) from agent_session s) as sessions,
      (select json_agg(s) from agent_secret s) as secrets,
      (select json_agg(a) from agent_application a) as applications`
  return row
}

describe('every operation', () => {
  test('is 401 without a credential and with a wrong one, before anything else', async () => {
    expect(agents.operations.length).toBeGreaterThan(10)
    for (const operation of agents.operations) {
      const path = `${fill(operation.path, () => 'not-an-id')}?colour=red`
      const callers: Credential[] = ['nobody', { apiKey: 'esk_wrong' }, { userToken: 'wrong' }]
      for (const caller of callers) {
        const answer = await send(caller, operation, path)
        expect([operation.id, answer.status]).toEqual([operation.id, 401])
        expect(answer.headers.get('www-authenticate')).not.toBeNull()
      }
    }
  })

  test.each([
    ['malformed', () => 'not-an-id'],
    ['unknown', () => newId()],
    ['of another organization', (name: string) => foreign[name] ?? ''],
  ])('with an id that is %s is 404 and changes nothing', async (_, value) => {
    const before = await holdings()
    const { key, ada } = agents.organization
    for (const operation of agents.operations.filter(({ path }) => path.includes('{'))) {
      const callers = operation.access === 'organizationOrUser' ? [key, ada.caller] : [key]
      for (const caller of callers) {
        const answer = await send(caller, operation, fill(operation.path, value))
        expect([operation.id, answer.status]).toEqual([operation.id, 404])
        expect(answer.body.code).toEndWith('_not_found')
      }
    }
    expect(await holdings()).toEqual(before)
  })

  test('that lists shows nothing of another organization, whatever the filter', async () => {
    for (const operation of agents.operations.filter((o) => o.method === 'GET' && !o.path.includes('{'))) {
      const filters = Object.keys(operation.query?.properties ?? {}).includes('sessionId')
        ? ['', '?agentKey=a', `?sessionId=${foreign.sessionId}`]
        : ['', '?agentKey=a']
      for (const filter of filters) {
        const answer = await send(agents.organization.key, operation, `${operation.path}${filter}`)
        expect([operation.id, answer.body.data]).toEqual([operation.id, []])
      }
    }
  })

  test('of the owner with the same ids is not 404', async () => {
    const order = agents.operations.filter(({ path }) => path.includes('{'))
    // What removes comes last, the inner objects first.
    order.sort((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'))
    for (const operation of order) {
      const path = fill(operation.path, (name) => foreign[name] ?? '')
      const { status } = await send(agents.stranger.key, operation, path)
      expect([operation.id, status]).toEqual([operation.id, operation.success.status])
    }
  })
})
