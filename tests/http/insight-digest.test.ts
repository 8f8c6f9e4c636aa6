/** `GET /v3/rest/insights/digest`: what grew and fell, with quotations, for whoever may see them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { insertSession, insertSignal } from '../support/agents-http.ts'
import { createRecord, createSource } from '../support/feedback.ts'
import { createTenant, type Tenant } from '../support/metadata.ts'
import { createFolder, createRecording } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

const WEEK = 'since=2026-03-09T00:00:00Z&until=2026-03-16T00:00:00Z'
const DIGEST = `/v3/rest/insights/digest?${WEEK}`

let server: TestServer
let tenant: Tenant
let ada: Client
let bob: Client
let openSession: string
let recordId: number

beforeAll(async () => {
  server = await startTestServer()
  tenant = await createTenant(server)
  const { organizationId } = tenant
  const { sql } = server.database
  ada = server.as({ userToken: (await server.createUser(organizationId, 'viewer')).userToken })
  const bobUser = await server.createUser(organizationId)
  bob = server.as({ userToken: bobUser.userToken })
  const session = async (agentKey: string, settings = {}) => {
    const { applicationId } = await server.createApplication(organizationId, { agentKey, settings })
    const sessionId = await insertSession(sql, organizationId, applicationId, {
      created_at: '2026-03-10T09:00:00Z',
    })
    return { organizationId, applicationId, sessionId }
  }
  const open = await session('open')
  const restricted = await session('restricted', {
    conversationAccess: { type: 'restricted' as const, userIds: [bobUser.userId] },
  })
  openSession = open.sessionId
  const said = (at: string, kind: string, comment: string, area = 'export') => ({
    occurred_at: `2026-03-${at}:00:00Z`,
    kind,
    comment,
    product_area: area,
  })
  for (let n = 0; n < 8; n++) {
    await insertSignal(sql, open, said('11T10', 'wrong_answer', n === 0 ? 'Not what I asked.' : ''))
    await insertSignal(sql, open, said('03T10', 'praise', 'Lovely.'))
  }
  await insertSignal(sql, open, { ...said('12T10', 'wrong_answer', 'Not shown.'), shown: false })
  await insertSignal(sql, restricted, said('12T10', 'wrong_answer', 'A secret remark.'))
  const source = await createSource(tenant.key, 'Survey')
  recordId = (await createRecord(tenant.key, source, { display_ts: '2026-03-12T10:00:00Z' })).id
  const folderIds = [await createFolder(bob, false)]
  const { id } = await createRecording(bob, { startedAt: '2026-03-12T10:00:00Z', folderIds })
  await sql`
    insert into agent_signal (id, organization_id, feedback_record_id, recording_id, channel, source, kind, occurred_at, comment, start_sec)
    values
      (gen_random_uuid(), ${organizationId}, ${recordId}, null, 'feedback', 'qualitative_inference', 'wrong_answer', '2026-03-12T10:00:00Z', 'On the form: wrong.', null),
      (gen_random_uuid(), ${organizationId}, null, ${id}, 'recording', 'qualitative_inference', 'wrong_answer', '2026-03-12T11:00:00Z', 'Said in private.', 61)`
}, 300_000)
afterAll(() => server?.stop())

const digest = async (client: Client, query = '') => {
  const { status, body } = await client.get(`${DIGEST}${query}`)
  expect(status).toBe(200)
  return body
}

describe('a summary', () => {
  test('names what grew and what fell against the week before, with quotations and their place', async () => {
    const body = await digest(ada)
    expect(body).toMatchObject({
      timeZone: 'UTC',
      since: '2026-03-09T00:00:00.000Z',
      until: '2026-03-16T00:00:00.000Z',
      beforeSince: '2026-03-02T00:00:00.000Z',
      totals: {
        signals: { count: 9, before: 8 },
        sessions: { count: 1, before: 0 },
        feedback: { count: 1, before: 0 },
        recordings: { count: 0, before: 0 },
      },
      outcomes: { resolved: { count: 0, before: 0 } },
      kinds: {
        grew: [{ kind: 'wrong_answer', count: 9, before: 0 }],
        fell: [{ kind: 'praise', count: 0, before: 8, quotations: [] }],
      },
      productAreas: { grew: [], fell: [] },
    })
    expect(body.kinds.grew[0].quotations).toMatchObject([
      { channel: 'feedback', id: String(recordId), quote: 'On the form: wrong.' },
      {
        channel: 'conversation',
        id: openSession,
        quote: 'Not what I asked.',
        path: `/v3/rest/agent-conversations/sessions/${openSession}`,
      },
    ])
  })

  test('counts and quotes for each caller what the caller may see', async () => {
    const quotes = async (client: Client) => {
      const { kinds, totals } = await digest(client)
      const said = kinds.grew[0].quotations.map(({ quote }: { quote: string }) => quote)
      return [totals.signals.count, kinds.grew[0].count, ...said]
    }
    const mine = ['On the form: wrong.', 'Not what I asked.']
    expect(await quotes(ada)).toEqual([9, 9, ...mine])
    const [total, grown, first, ...others] = await quotes(bob)
    expect([total, grown, first]).toEqual([11, 11, 'Said in private.'])
    // Two were said at the same moment; three are shown.
    expect(new Set(others)).toEqual(new Set(['A secret remark.', 'On the form: wrong.']))
    expect((await quotes(tenant.key)).slice(0, 2)).toEqual([10, 10])
    expect(JSON.stringify(await digest(tenant.key))).not.toContain('private')
  })

  test('quotes as many as are asked for', async () => {
    expect((await digest(ada, '&quotations=1')).kinds.grew[0].quotations).toHaveLength(1)
    expect((await digest(ada, '&quotations=0')).kinds.grew[0].quotations).toEqual([])
    expect((await ada.get(`${DIGEST}&quotations=6`)).status).toBe(400)
  })
})
