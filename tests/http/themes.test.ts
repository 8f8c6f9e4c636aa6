/** Themes over HTTP: lists, details, changes of people, audit entries, and what each caller may see. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../src/platform/ids.ts'
import { countFormerDays, wakeThemes } from '../../src/understand/themes/feed.ts'
import { QUICK } from '../support/actors.ts'
import { openAgent } from '../support/agents.ts'
import { insertSession, insertSignal } from '../support/agents-http.ts'
import { eventually } from '../support/eventually.ts'
import { createFolder, createRecording, utterance } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { addRecord, disagreements } from '../support/themes.ts'

const THEMES = '/v3/rest/themes'
const RESET = [
  'the password reset mail never arrives',
  'my password reset mail does not arrive',
  'no password reset mail has arrived',
  'I still wait for the password reset mail',
]
const EXPORT = [
  'the invoice export crashes with an error',
  'exporting an invoice crashes',
  'every export of an invoice crashes',
]

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ actors: QUICK })
}, 300_000)
afterAll(() => server?.stop())

/** Wakes the actors until nothing waits. */
async function settle({ organizationId }: TestTenant): Promise<void> {
  const { sql } = server.database
  await eventually(
    async () => {
      await wakeThemes(server.deps, 0)
      const [left] = await sql`
        select (select count(*)::int from theme_change where organization_id = ${organizationId})
          + (select count(*)::int from actor_message where key = ${`themes:${organizationId}`})
          + (select coalesce(sum(unlinked), 0)::int from theme_progress where organization_id = ${organizationId}) as n`
      return left?.n === 0
    },
    { deadlineMs: 100_000 },
  )
  expect(await disagreements(sql, organizationId)).toEqual([])
}

async function openThemes(texts: readonly string[] = [...RESET, ...EXPORT]) {
  const tenant = await server.createTenant()
  for (const text of texts) await addRecord(server.database.sql, tenant.organizationId, [{ text }])
  await settle(tenant)
  const client = server.as({ apiKey: tenant.apiKey })
  return { tenant, client, themes: await listOf(client) }
}

const listOf = async (client: Client, query = '') => (await client.get(`${THEMES}${query}`)).body.data
const itemsOf = async (client: Client, id: string) =>
  (await client.get(`${THEMES}/${id}/items?limit=100`)).body.data
const actionsOf = async (tenant: TestTenant) =>
  (
    await server.database.sql`
      select action from audit_entry where organization_id = ${tenant.organizationId} and action like 'theme%' order by id`
  ).map(({ action }) => action)

describe('reading', () => {
  test('lists themes by count and by trend, in pages', async () => {
    const { client, themes, tenant } = await openThemes()
    expect(themes.map(({ count }: { count: number }) => count)).toEqual([4, 3])
    expect(themes[0]).toMatchObject({
      title: expect.stringContaining('password'),
      titleBy: 'terms',
      pinned: false,
    })
    const first = (await client.get(`${THEMES}?limit=1`)).body
    const second = (await client.get(`${THEMES}?limit=1&cursor=${first.next_cursor}`)).body
    expect([...first.data, ...second.data]).toEqual(themes)
    expect(second.has_more).toBe(false)
    const { sql } = server.database
    // The second theme had six items five days ago.
    await sql`
      insert into theme_day (theme_id, day, channel, organization_id, count, negative, positive)
      values (${themes[1].id}, (now() at time zone 'UTC')::date - 5, 'recording', ${tenant.organizationId}, 6, 0, 0)`
    const [rising, other] = await listOf(client, '?sort=rising')
    expect(rising).toMatchObject({ id: themes[1].id, trend: { recent: 6, before: 0, rising: true } })
    expect(other.trend.rising).toBe(false)
    expect(await listOf(client, '?channel=recording')).toEqual([
      expect.objectContaining({ id: themes[1].id, count: 6 }),
    ])
    const today = new Date().toISOString()
    expect((await listOf(client, `?since=${today}`)).map(({ count }: { count: number }) => count)).toEqual([
      4, 3,
    ])
    expect(await listOf(client, '?until=2020-01-01T00:00:00Z')).toEqual([])
  })

  test('counts by the days of the time zone, also what comes after a change', async () => {
    const { client, themes, tenant } = await openThemes(RESET)
    const { sql } = server.database
    const { organizationId } = tenant
    const days = async () =>
      (
        await sql`select day::text, count from theme_day where organization_id = ${organizationId} order by day`
      ).map((row) => ({ ...row }))
    // Said at 13:00 UTC: on Kiritimati it is the next day, on Niue it is not.
    await sql`update agent_signal set occurred_at = '2026-11-02T13:00:00Z' where organization_id = ${organizationId}`
    await settle(tenant)
    expect(await days()).toEqual([{ day: '2026-11-02', count: 4 }])
    await client.patch('/v3/rest/organization', { timeZone: 'Pacific/Kiritimati' })
    await countFormerDays(server.deps)
    expect(await days()).toEqual([{ day: '2026-11-03', count: 4 }])
    expect(await listOf(client, '?since=2026-11-02T13:00:00Z&until=2026-11-03T13:00:00Z')).toMatchObject([
      { id: themes[0].id, count: 4 },
    ])
    expect(await listOf(client, '?until=2026-11-02T13:00:00Z')).toEqual([])
    await sql`update agent_signal set occurred_at = '2026-11-05T09:00:00Z' where organization_id = ${organizationId}`
    await settle(tenant)
    expect(await days()).toEqual([{ day: '2026-11-05', count: 4 }])
    await client.patch('/v3/rest/organization', { timeZone: 'Pacific/Niue' })
    await countFormerDays(server.deps)
    expect(await days()).toEqual([{ day: '2026-11-04', count: 4 }])
    expect(await disagreements(sql, organizationId)).toEqual([])
  })

  test('shows a theme with counts, quotations with their places, and its items', async () => {
    const { client, themes } = await openThemes()
    const { body } = await client.get(`${THEMES}/${themes[0].id}`)
    expect(body).toMatchObject({ count: 4, negative: 4, positive: 0, people: [] })
    const quoted = body.quotations.map(({ quotation }: { quotation: string }) => quotation)
    expect(quoted.toSorted()).toEqual(RESET.toSorted())
    const [{ place }] = body.quotations
    expect(place).toMatchObject({ channel: 'feedback', field: 'comment', messageId: null, startSec: null })
    expect(place.path).toBe(`/v3/rest/feedback-sources/${place.feedbackSourceId}/records/${place.id}`)
    expect((await client.get(place.path)).status).toBe(200)
    expect(await itemsOf(client, themes[0].id)).toHaveLength(4)
    expect((await client.get(`${THEMES}/${newId()}`)).status).toBe(404)
  })
})

describe('changing', () => {
  test('a title of a person is never replaced, and a hidden theme is not listed', async () => {
    const { client, themes, tenant } = await openThemes()
    const [{ id }] = themes
    const renamed = await client.patch(`${THEMES}/${id}`, {
      title: ' Reset mails ',
      pinned: true,
      hidden: true,
    })
    expect(renamed.body).toMatchObject({
      title: 'Reset mails',
      titleBy: 'person',
      pinned: true,
      hidden: true,
    })
    expect((await listOf(client)).map((one: { id: string }) => one.id)).not.toContain(id)
    expect((await listOf(client, '?hidden=true')).map((one: { id: string }) => one.id)).toContain(id)
    for (let n = 0; n < 5; n++)
      await addRecord(server.database.sql, tenant.organizationId, [
        { text: `password reset mail of team ${'abcde'[n]} never arrives` },
      ])
    await settle(tenant)
    const { body } = await client.get(`${THEMES}/${id}`)
    expect(body).toMatchObject({ title: 'Reset mails', count: 9 })
    const freed = await client.patch(`${THEMES}/${id}`, { title: null })
    expect(freed.body.titleBy).toBe('terms')
    await settle(tenant)
    expect((await client.get(`${THEMES}/${id}`)).body.title).toContain('password')
    expect(await actionsOf(tenant)).toEqual(['theme.updated', 'theme.updated'])
    expect((await client.patch(`${THEMES}/${id}`, { title: '  ' })).status).toBe(400)
  })

  test('merge: the merged id answers with the kept theme, and its items move', async () => {
    const { client, themes, tenant } = await openThemes()
    const [kept, merged] = themes
    const answer = await client.post(`${THEMES}/${kept.id}/merge`, { themeId: merged.id })
    expect([answer.status, answer.body.id]).toEqual([200, kept.id])
    await settle(tenant)
    expect((await client.get(`${THEMES}/${merged.id}`)).body).toMatchObject({ id: kept.id, count: 7 })
    expect(await listOf(client)).toHaveLength(1)
    expect((await client.post(`${THEMES}/${kept.id}/merge`, { themeId: merged.id })).status).toBe(200)
    expect((await client.post(`${THEMES}/${kept.id}/merge`, { themeId: kept.id })).status).toBe(200)
    expect((await client.post(`${THEMES}/${kept.id}/merge`, { themeId: newId() })).status).toBe(404)
    expect(await actionsOf(tenant)).toEqual(['theme.merged'])
  })

  test('split: items nearer to the second one move to a new theme, and the chosen ones stay', async () => {
    const { client, themes, tenant } = await openThemes()
    const [kept, merged] = themes
    await client.post(`${THEMES}/${kept.id}/merge`, { themeId: merged.id })
    await settle(tenant)
    const items: { id: number; quotation: string }[] = await itemsOf(client, kept.id)
    const idOf = (text: string) => items.find(({ quotation }) => quotation === text)!.id
    const itemIds = [idOf(RESET[0]!), idOf(EXPORT[0]!)]
    const split = await client.post(`${THEMES}/${kept.id}/split`, { itemIds, title: 'Exports' })
    expect([split.status, split.body.title, split.body.titleBy]).toEqual([201, 'Exports', 'person'])
    await settle(tenant)
    const moved: { quotation: string; locked: boolean }[] = await itemsOf(client, split.body.id)
    expect(moved.map(({ quotation }) => quotation).toSorted()).toEqual(EXPORT.toSorted())
    expect(moved.filter(({ locked }) => locked)).toHaveLength(1)
    expect((await client.post(`${THEMES}/${kept.id}/split`, { itemIds })).status).toBe(404)
    expect(await actionsOf(tenant)).toEqual(['theme.merged', 'theme.split'])
  })

  test('split: an organization has at most 1,000 themes', async () => {
    const { client, themes, tenant } = await openThemes()
    await server.database.sql`
      insert into theme (id, organization_id, title, centroid)
      select gen_random_uuid(), ${tenant.organizationId}, 'other', ${Buffer.alloc(2_048)}
      from generate_series(1, 998)`
    const itemIds = (await itemsOf(client, themes[0].id)).slice(0, 2).map(({ id }: { id: number }) => id)
    const refused = await client.post(`${THEMES}/${themes[0].id}/split`, { itemIds })
    expect([refused.status, refused.body.code]).toEqual([409, 'too_many_themes'])
  })

  test('a moved item stays, and one without a theme is not linked again', async () => {
    const { client, themes, tenant } = await openThemes()
    const [a, b] = themes
    const [item, other] = await itemsOf(client, a.id)
    const moved = await client.put(`/v3/rest/theme-items/${item.id}`, { themeId: b.id })
    expect(moved.body).toMatchObject({ id: item.id, themeId: b.id, locked: true })
    const removed = await client.put(`/v3/rest/theme-items/${other.id}`, { themeId: null })
    expect(removed.body).toMatchObject({ themeId: null, locked: true })
    await server.database
      .sql`update theme_progress set unlinked = 1 where organization_id = ${tenant.organizationId}`
    await settle(tenant)
    const [row] = await server.database.sql`
      select jsonb_agg(theme_id order by id = ${item.id}) as themes from theme_item where id in (${item.id}, ${other.id})`
    expect(row?.themes).toEqual([null, b.id])
    expect((await client.put(`/v3/rest/theme-items/${item.id}`, { themeId: newId() })).status).toBe(404)
    expect(await actionsOf(tenant)).toEqual(['theme_item.moved', 'theme_item.moved'])
  })

  test('a viewer reads, and may not change', async () => {
    const { themes, tenant } = await openThemes()
    const { userToken } = await server.createUser(tenant.organizationId, 'viewer')
    const viewer = server.as({ userToken })
    expect(await listOf(viewer)).toHaveLength(2)
    expect((await viewer.patch(`${THEMES}/${themes[0].id}`, { pinned: true })).status).toBe(403)
    expect((await viewer.post(`${THEMES}/${themes[0].id}/merge`, { themeId: themes[1].id })).status).toBe(403)
    const analyst = server.as(await server.createUser(tenant.organizationId, 'analyst'))
    expect((await analyst.patch(`${THEMES}/${themes[0].id}`, { pinned: true })).status).toBe(200)
  })
})

describe('access', () => {
  test('quotations, items and people of what a caller may not see are left out', async () => {
    const tenant = await server.createTenant()
    const key = server.as({ apiKey: tenant.apiKey })
    const { sql } = server.database
    const user = await server.createUser(tenant.organizationId, 'viewer')
    const owner = await server.createUser(tenant.organizationId, 'analyst')
    const settings = { conversationAccess: { type: 'restricted' as const, userIds: [owner.userId] } }
    const agent = await openAgent(server, { tenant, settings })
    // Not analysed, so that no analysis replaces the findings below.
    const sessionId = await insertSession(sql, tenant.organizationId, agent.applicationId)
    const grace = (await key.put('/v3/rest/people', { email: 'grace@example.com' })).body
    await sql`
      insert into agent_session_person (organization_id, session_id, participant_external_id, person_id, sole, occurred_at)
      values (${tenant.organizationId}, ${sessionId}, 'p', ${grace.id}, true, now())`
    const ownFolder = await createFolder(server.as(owner), false)
    const call = await createRecording(key, {
      transcript: [utterance(0, 5, 0, RESET[1]!)],
      participants: [{ speaker: 0, email: 'heidi@example.com' }],
    })
    await sql`
      insert into recording_folder (organization_id, recording_id, folder_id) values (${tenant.organizationId}, ${call.id}, ${ownFolder})`
    // Its own analysis must not replace the finding below.
    await eventually(
      async () =>
        (await sql`select from insight_subject where recording_id = ${call.id} and state = 'analyzed'`)
          .length === 1,
    )
    await sql`delete from agent_signal where organization_id = ${tenant.organizationId}`
    const [people] =
      await sql`select min(id) as id from person where organization_id = ${tenant.organizationId} and email = 'heidi@example.com'`
    await insertSignal(
      sql,
      { organizationId: tenant.organizationId, applicationId: agent.applicationId, sessionId },
      {
        source: 'qualitative_inference',
        kind: 'wrong_answer',
        comment: RESET[0]!,
        participant_external_id: 'p',
        tier: 'sure',
        language: 'en',
      },
    )
    await sql`
      insert into agent_signal (id, organization_id, recording_id, channel, source, kind, rating, comment, occurred_at, tier, start_sec, language, person_id)
      values (${newId()}, ${tenant.organizationId}, ${call.id}, 'recording', 'qualitative_inference', 'complaint', 'negative', ${RESET[1]!}, now(), 'sure', 0, 'en', ${people?.id})`
    for (const text of RESET.slice(2)) await addRecord(sql, tenant.organizationId, [{ text }])
    await settle(tenant)
    const seen = async (client: Client) => {
      const [theme] = await listOf(client)
      const { body } = await client.get(`${THEMES}/${theme.id}`)
      const items: { quotation: string }[] = await itemsOf(client, theme.id)
      expect(body.quotations.map(({ quotation }: { quotation: string }) => quotation).toSorted()).toEqual(
        items.map(({ quotation }) => quotation).toSorted(),
      )
      return {
        quotations: items.map(({ quotation }) => RESET.indexOf(quotation)).toSorted(),
        people: body.people.map(({ name }: { name: string }) => name).toSorted(),
      }
    }
    expect(await seen(server.as(owner))).toEqual({
      quotations: [0, 1, 2, 3],
      people: ['grace@example.com', 'heidi@example.com'],
    })
    expect(await seen(key)).toEqual({ quotations: [0, 2, 3], people: ['grace@example.com'] })
    expect(await seen(server.as(user))).toEqual({ quotations: [2, 3], people: [] })
    const [hidden] = await sql`select id, theme_id from theme_item where subject_id = ${call.id}`
    const analyst = server.as(await server.createUser(tenant.organizationId, 'analyst'))
    expect((await analyst.put(`/v3/rest/theme-items/${hidden?.id}`, { themeId: null })).status).toBe(404)
  })
})
