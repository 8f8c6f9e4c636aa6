/** `GET /v3/rest/insights/counts`: what it counts, by what, for whom, and what it refuses. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { recountAll } from '../../src/understand/counts/recount.ts'
import { createInsight } from '../../src/understand/counts/service.ts'
import { insertSession, insertSignal } from '../support/agents-http.ts'
import { createRecord, createSource } from '../support/feedback.ts'
import { createTenant, type Tenant } from '../support/metadata.ts'
import { createFolder, createRecording } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

const COUNTS = '/v3/rest/insights/counts'
const AT = (day: number) => `2026-03-${String(day).padStart(2, '0')}T23:30:00.000Z`
const PERIOD = 'since=2026-03-01T00:00:00Z&until=2026-04-01T00:00:00Z'

let server: TestServer
let tenant: Tenant
let ada: Client
let bob: Client
let stranger: Client

beforeAll(async () => {
  server = await startTestServer()
  tenant = await createTenant(server)
  stranger = (await createTenant(server)).key
  const { organizationId } = tenant
  const adaUser = await server.createUser(organizationId, 'viewer')
  const bobUser = await server.createUser(organizationId)
  ada = server.as({ userToken: adaUser.userToken })
  bob = server.as({ userToken: bobUser.userToken })
  const { sql } = server.database
  for (const agentKey of ['open', 'restricted']) {
    const settings =
      agentKey === 'open'
        ? {}
        : { conversationAccess: { type: 'restricted' as const, userIds: [bobUser.userId] } }
    const { applicationId } = await server.createApplication(organizationId, { agentKey, settings })
    const sessionId = await insertSession(sql, organizationId, applicationId, {
      created_at: AT(4),
      agent_version: '1.2',
      context: sql.json({ productArea: 'billing' }),
    })
    const session = { organizationId, applicationId, sessionId }
    await insertSignal(sql, session, { occurred_at: AT(4), rating: 'negative', product_area: 'billing' })
    await insertSignal(sql, session, { occurred_at: AT(5), rating: 'positive', product_area: 'export' })
    await insertSignal(sql, session, { occurred_at: AT(5), kind: 'praise', shown: false })
    await sql`
      insert into insight_subject (id, organization_id, channel, session_id, application_id, occurred_at, state, outcome)
      values (gen_random_uuid(), ${organizationId}, 'conversation', ${sessionId}, ${applicationId}, ${AT(4)}, 'analyzed', 'resolved')`
  }
  await createRecord(tenant.key, await createSource(tenant.key, 'Help desk'), { display_ts: AT(6) })
  await createRecording(tenant.key, { startedAt: AT(2) })
  const folderIds = [await createFolder(bob, false)]
  const { id } = await createRecording(bob, { startedAt: AT(3), folderIds })
  await sql`
    insert into agent_signal (id, organization_id, recording_id, channel, source, kind, occurred_at, product_area)
    values (gen_random_uuid(), ${organizationId}, ${id}, 'recording', 'qualitative_inference', 'complaint', ${AT(3)}, 'export')`
}, 300_000)
afterAll(() => server?.stop())

const counts = async (client: Client, query: string) => {
  const { status, body } = await client.get(`${COUNTS}?${PERIOD}&${query}`)
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body
}

describe('counts', () => {
  test('have one or two keys, the counted days, and the total', async () => {
    expect(await counts(ada, 'metric=signals&by=day,rating')).toEqual({
      timeZone: 'UTC',
      since: '2026-03-01T00:00:00.000Z',
      until: '2026-04-01T00:00:00.000Z',
      data: [
        { day: '2026-03-05', rating: 'positive', count: 1 },
        { day: '2026-03-04', rating: 'negative', count: 1 },
      ],
      total: 2,
      coverage: { read: 1, waiting: 1, notRead: 1 },
      complete: true,
    })
  })

  test.each([
    ['metric=signals&by=week', [{ week: '2026-03-02', count: 2 }]],
    ['metric=signals&by=productArea&rating=positive', [{ productArea: 'export', count: 1 }]],
    ['metric=signals&by=channel&productArea=billing', [{ channel: 'conversation', count: 1 }]],
    ['metric=signals&by=kind&kind=praise', []],
    ['metric=signals&by=agentKey&agentKey=restricted', []],
    [
      'metric=sessions&by=agentVersion,productArea',
      [{ agentVersion: '1.2', productArea: 'billing', count: 1 }],
    ],
    ['metric=outcomes&by=outcome,agentVersion', [{ outcome: 'resolved', agentVersion: '1.2', count: 1 }]],
    ['metric=outcomes&by=outcome&outcome=unclear', []],
    ['metric=feedback&by=source', [{ source: 'Help desk', count: 1 }]],
    ['metric=recordings&by=day', [{ day: '2026-03-02', count: 1 }]],
  ])('%s is %j', async (query, data) => {
    expect((await counts(ada, query)).data).toEqual(data)
  })

  test('have what the caller may see, and nothing else', async () => {
    const totals = async (client: Client) =>
      Promise.all(
        ['signals', 'sessions', 'outcomes', 'recordings', 'feedback'].map(
          async (metric) => (await counts(client, `metric=${metric}&by=day`)).total,
        ),
      )
    expect(await totals(ada)).toEqual([2, 1, 1, 1, 1])
    expect(await totals(bob)).toEqual([5, 2, 2, 2, 1])
    expect(await totals(tenant.key)).toEqual([4, 2, 2, 1, 1])
    expect(await totals(stranger)).toEqual([0, 0, 0, 0, 0])
  })

  test('follow folders that are shared, and recordings that are deleted', async () => {
    const folderIds = [await createFolder(bob, false)]
    const { id } = await createRecording(bob, { startedAt: AT(20), folderIds })
    const seen = async () => (await counts(ada, 'metric=recordings&by=day')).total
    expect(await seen()).toBe(1)
    await server.database.sql`update folder set owner_user_id = null where id = ${folderIds[0] as string}`
    expect(await seen()).toBe(2)
    await bob.delete(`/v3/rest/recordings/${id}`)
    expect(await seen()).toBe(1)
  })

  test('count signals by theme, for each caller', async () => {
    const { sql } = server.database
    const { organizationId } = tenant
    const theme = crypto.randomUUID()
    const hidden = crypto.randomUUID()
    for (const id of [theme, hidden])
      await sql`
        insert into theme (id, organization_id, title, hidden, centroid)
        values (${id}, ${organizationId}, 'Exports', ${id === hidden}, ''::bytea)`
    await sql`
      insert into theme_item (organization_id, channel, subject_id, passage, signal_id, occurred_at, theme_id, vector, terms)
      select organization_id, channel, id::text, id::text, id, occurred_at,
        case when rating = 'negative' then ${hidden}::uuid else ${theme}::uuid end, ''::bytea, '{}'
      from agent_signal where organization_id = ${organizationId}`
    const byTheme = async (client: Client, query = '') =>
      (await counts(client, `metric=signals&by=theme${query}`)).data
    expect(await byTheme(ada)).toEqual([{ theme, count: 1 }])
    expect(await byTheme(bob)).toEqual([{ theme, count: 3 }])
    expect(await byTheme(bob, ',channel')).toEqual([
      { theme, channel: 'conversation', count: 2 },
      { theme, channel: 'recording', count: 1 },
    ])
    expect(await byTheme(tenant.key)).toEqual([{ theme, count: 2 }])
    expect(await byTheme(stranger)).toEqual([])
    expect((await counts(ada, `metric=signals&by=day&theme=${theme}`)).data).toEqual([
      { day: '2026-03-05', count: 1 },
    ])
  })

  test('count a day of the period wholly, and by default the last 30 days', async () => {
    const part = `${COUNTS}?metric=signals&by=day&since=2026-03-04T23:59:00Z&until=2026-03-05T00:00:01Z`
    expect((await ada.get(part)).body).toMatchObject({
      since: '2026-03-04T00:00:00.000Z',
      until: '2026-03-06T00:00:00.000Z',
      total: 2,
    })
    const { body } = await ada.get(`${COUNTS}?metric=recordings&by=day`)
    expect(Date.parse(body.until) - Date.parse(body.since)).toBe(30 * 86_400_000)
    expect(Date.parse(body.until)).toBeGreaterThan(Date.now())
  })

  test('are by the days of the time zone after a change, and say that they are not complete until then', async () => {
    const zone = async (timeZone: string) => {
      expect((await tenant.key.patch('/v3/rest/organization', { timeZone })).body.timeZone).toBe(timeZone)
      const { complete } = await counts(ada, 'metric=sessions&by=day')
      await recountAll(server.deps, new AbortController().signal)
      return complete
    }
    expect(await zone('Asia/Tokyo')).toBe(false)
    const part = `${COUNTS}?metric=signals&by=day,rating&since=2026-03-05T00:00:00Z&until=2026-03-06T00:00:00Z`
    expect((await ada.get(part)).body).toMatchObject({
      timeZone: 'Asia/Tokyo',
      since: '2026-03-04T15:00:00.000Z',
      until: '2026-03-06T15:00:00.000Z',
      data: [
        { day: '2026-03-06', rating: 'positive', count: 1 },
        { day: '2026-03-05', rating: 'negative', count: 1 },
      ],
      complete: true,
    })
    for (const [query, data] of [
      ['metric=sessions&by=day', [{ day: '2026-03-05', count: 1 }]],
      ['metric=outcomes&by=day', [{ day: '2026-03-05', count: 1 }]],
      ['metric=feedback&by=day', [{ day: '2026-03-07', count: 1 }]],
      ['metric=recordings&by=day', [{ day: '2026-03-03', count: 1 }]],
      ['metric=sessions&by=week', [{ week: '2026-03-02', count: 1 }]],
    ] as const)
      expect((await counts(ada, query)).data).toEqual(data)
    const digest = await ada.get(
      '/v3/rest/insights/digest?since=2026-03-01T15:00:00Z&until=2026-03-08T15:00:00Z',
    )
    expect(digest.body).toMatchObject({
      timeZone: 'Asia/Tokyo',
      since: '2026-03-01T15:00:00.000Z',
      beforeSince: '2026-02-22T15:00:00.000Z',
      totals: { signals: { count: 2 } },
    })
    expect((await counts(stranger, 'metric=signals&by=day')).timeZone).toBe('UTC')
    expect(await zone('UTC')).toBe(false)
    expect((await counts(ada, 'metric=sessions&by=day')).data).toEqual([{ day: '2026-03-04', count: 1 }])
  })

  test('say that they are not complete while older rows are being counted', async () => {
    const { sql } = server.database
    await sql`update data_change set finished_at = null where name = 'count_feedback'`
    expect((await counts(ada, 'metric=feedback&by=day')).complete).toBe(false)
    await sql`update data_change set finished_at = now() where name = 'count_feedback'`
    expect((await counts(ada, 'metric=feedback&by=day')).complete).toBe(true)
  })

  test.each([
    'metric=signals',
    'by=day',
    'metric=signals&by=',
    'metric=signals&by=day,kind,rating',
    'metric=signals&by=day,day',
    'metric=signals&by=outcome',
    'metric=feedback&by=day&rating=positive',
    'metric=signals&by=day&since=2024-01-01T00:00:00Z',
    'metric=signals&by=day&since=2026-04-02T00:00:00Z&until=2026-04-01T00:00:00Z',
  ])('%s is refused', async (query) => {
    const { status, body } = await ada.get(`${COUNTS}?${query}`)
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'validation_failed' })
  })
})

test('one organization has at most 30 counts at a time, with a time limit, and delays no other', async () => {
  // The condition of access takes longer than the time limit.
  const conversations: Parameters<typeof createInsight>[0]['conversations'] = {
    readableApplications: (sql, { organizationId }) =>
      sql`select id from agent_application where organization_id = ${organizationId} and pg_sleep(10) is null`,
  }
  const { hiddenRecordings, visibleRecording } = server.features.folders
  const insight = createInsight(
    { ...server.deps, folders: { hiddenRecordings, visibleRecording }, conversations },
    200,
  )
  const viewer = { kind: 'organization' as const, organizationId: tenant.organizationId }
  const request = { metric: 'sessions', by: ['day'], since: AT(1), until: AT(31) } as const
  const outcomes: string[] = []
  const settled = Array.from({ length: 40 }, () =>
    insight.counts(viewer, request).then(
      () => void outcomes.push('counted'),
      (error: { code?: string }) => void outcomes.push(error.code ?? String(error)),
    ),
  )
  const other = await insight.counts({ ...viewer, organizationId: crypto.randomUUID() }, request)
  expect(other.data).toEqual([])
  const before = outcomes.filter((outcome) => outcome === 'insights_timed_out').length
  await Promise.all(settled)
  expect(before).toBeLessThan(10)
  expect(outcomes.filter((outcome) => outcome === 'insights_busy')).toHaveLength(10)
  expect(outcomes.filter((outcome) => outcome === 'insights_timed_out')).toHaveLength(30)
}, 300_000)
