/** Webhooks about signals of every channel: what is sent is what the list shows. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Value } from '@sinclair/typebox/value'
import { EVENT_TYPES } from '../../src/tell/webhooks/event-types.ts'
import { openAgent, userMessage } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { insertFinding, insertPerson, insertRecord, insertRecording } from '../support/findings.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { createWebhook } from '../support/webhooks.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ actors: true })
})
afterAll(() => server.stop())

async function subscriber() {
  const tenant = await server.createTenant()
  const client = server.as({ apiKey: tenant.apiKey })
  // It is not sent: these tests look at what is written.
  await createWebhook(client, { url: 'https://example.com/', enabled: false })
  return { tenant, client, organizationId: tenant.organizationId }
}

interface Written {
  readonly type: 'signal.created' | 'signal.updated'
  readonly data: Record<string, unknown>
}

const written = async (organizationId: string): Promise<readonly Written[]> =>
  server.database.sql<Written[]>`
  select type, data
  from webhook_event
  where organization_id = ${organizationId} and type like 'signal.%'
  order by seq`

test.each(['conversation', 'feedback', 'recording'])(
  'a finding of %s is sent as the list shows it',
  async (channel) => {
    const { tenant, client, organizationId } = await subscriber()
    const { sql } = server.database
    const person = await insertPerson(sql, organizationId)
    const subject = async () => {
      if (channel === 'feedback')
        return { feedback_record_id: (await insertRecord(sql, organizationId)).recordId, field: 'answer' }
      if (channel === 'recording')
        return { recording_id: await insertRecording(sql, organizationId), start_sec: 3.25 }
      const agent = await openAgent(server, { tenant })
      const { sessionId } = await agent.accept([userMessage(1)])
      const [session] = await sql`select application_id from agent_session where id = ${sessionId}`
      return {
        session_id: sessionId,
        application_id: session!.application_id,
        external_event_id: 'u1',
        sequence: 1,
        revision: 1,
      }
    }
    const values = { channel, ...(await subject()), person_id: person.id, confidence: 0.876 }
    const id = await insertFinding(sql, organizationId, values)
    const [event, ...others] = await written(organizationId)
    expect(others).toEqual([])
    expect(event!.type).toBe('signal.created')
    expect([...Value.Errors(EVENT_TYPES['signal.created'].data, event!.data)]).toEqual([])
    const { body } = await client.get(`/v3/rest/signals/${id}`)
    const { applicationId, path, ...sent } = event!.data
    expect(sent).toEqual(body)
    expect(path).toBe(`/v3/rest/signals/${id}`)
    expect(applicationId === null).toBe(channel !== 'conversation')
    await sql`update agent_signal set comment = 'It is worse.' where id = ${id}`
    await sql`update agent_signal set analyzer_version = '2' where id = ${id}`
    expect((await written(organizationId)).map(({ type, data }) => [type, data.comment])).toEqual([
      ['signal.created', 'It is bad.'],
      ['signal.updated', 'It is worse.'],
    ])
  },
)

test('a hidden finding is not sent before it is shown', async () => {
  const { organizationId } = await subscriber()
  const { sql } = server.database
  const { recordId } = await insertRecord(sql, organizationId)
  const values = { channel: 'feedback', feedback_record_id: recordId, shown: false }
  const id = await insertFinding(sql, organizationId, values)
  await sql`update agent_signal set comment = 'Still hidden.' where id = ${id}`
  expect(await written(organizationId)).toEqual([])
  await sql`update agent_signal set shown = true where id = ${id}`
  expect((await written(organizationId)).map(({ type }) => type)).toEqual(['signal.created'])
})

test('an erasure takes the words of findings in deleted feedback out of stored events', async () => {
  const { client, organizationId } = await subscriber()
  const { sql } = server.database
  const person = await insertPerson(sql, organizationId)
  const { recordId } = await insertRecord(sql, organizationId)
  await sql`update feedback_record set person_id = ${person.id} where id = ${recordId}`
  await insertFinding(sql, organizationId, { channel: 'feedback', feedback_record_id: recordId })
  expect((await client.delete(`/v3/rest/people/${person.id}`)).status).toBe(202)
  const data = await eventually(async () => {
    const [event] = await written(organizationId)
    return event?.data.omitted === undefined ? false : event.data
  })
  expect(data.omitted).toEqual(expect.arrayContaining(['comment', 'evidence']))
  expect(JSON.stringify(data)).not.toContain('It is bad.')
})
