/** The REST operations on webhooks and their deliveries. Nothing works in the background here. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { MAX_WEBHOOKS } from '../../src/tell/webhooks/model.ts'
import { createRecording } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'
import { createWebhook, WEBHOOKS } from '../support/webhooks.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.stop())

const URL = 'https://example.com/earshot?key=1'
const client = async (): Promise<Client> => server.as({ apiKey: (await server.createTenant()).apiKey })

/** Stores a delivery of this status, as a turn does. */
async function insertDelivery(webhookId: string, status: string, type = 'ping'): Promise<string> {
  const { sql } = server.database
  const id = crypto.randomUUID()
  await sql`
    with event as (
      insert into webhook_event (organization_id, webhook_id, type, data)
      select organization_id, id, ${type}, '{}' from webhook where id = ${webhookId}
      returning id, organization_id
    )
    insert into webhook_delivery (id, organization_id, webhook_id, event_id, type, status, attempts)
    select ${id}, organization_id, ${webhookId}, id, ${type}, ${status}, 1 from event`
  return id
}

describe('webhooks', () => {
  test('are created, read, listed, changed and deleted', async () => {
    const own = await client()
    const body = { url: URL, types: ['signal.created', 'signal.created', 'upload.ready'] }
    const created = await own.post(WEBHOOKS, body)
    expect(created.status).toBe(201)
    const { secret, ...shown } = created.body
    expect(created.headers.get('location')).toBe(`${WEBHOOKS}/${shown.id}`)
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(shown).toEqual({
      id: shown.id,
      url: URL,
      types: ['signal.created', 'upload.ready'],
      description: null,
      ordering: 'relaxed',
      enabled: true,
      disabledReason: null,
      disabledAt: null,
      failingSince: null,
      recoverableSince: null,
      createdAt: shown.createdAt,
      updatedAt: shown.updatedAt,
    })
    const path = `${WEBHOOKS}/${shown.id}`
    expect((await own.get(path)).body).toEqual(shown)
    const change = { types: ['*'], description: 'note', ordering: 'strict', enabled: false }
    const changed = await own.patch(path, change)
    expect(changed.body).toMatchObject({ ...change, url: URL, disabledReason: 'request' })
    expect((await own.patch(path, { description: null })).body).toMatchObject({
      description: null,
      types: ['*'],
    })
    const second = await createWebhook(own, { url: URL })
    const first = await own.get(`${WEBHOOKS}?limit=1`)
    expect(first.body).toMatchObject({ data: [{ id: second.id }], has_more: true })
    const next = await own.get(`${WEBHOOKS}?limit=1&cursor=${first.body.next_cursor}`)
    expect(next.body).toMatchObject({ data: [{ id: shown.id }], has_more: false, next_cursor: null })
    expect((await own.delete(path)).status).toBe(204)
    expect(await own.get(path)).toMatchObject({ status: 404, body: { code: 'webhook_not_found' } })
    expect(
      await server.database.sql`select from actor_mailbox where key = ${`webhook:${shown.id}`}`,
    ).toHaveLength(0)
  })

  test.each([
    [{}, 'required'],
    [{ url: URL }, 'required'],
    [{ url: URL, types: [] }, 'length'],
    [{ url: URL, types: ['nothing'] }, 'not_allowed'],
    [{ url: URL, types: ['*'], ordering: 'none' }, 'not_allowed'],
    [{ url: URL, types: ['*'], enabled: 'yes' }, 'type'],
    [{ url: `https://example.com/${'x'.repeat(2_048)}`, types: ['*'] }, 'length'],
    [{ url: URL, types: ['*'], description: 'x'.repeat(1_001) }, 'length'],
    [{ url: URL, types: ['*'], secret: 'mine' }, 'unknown_member'],
  ])('%j is refused: %s', async (body, code) => {
    const answer = await (await client()).post(WEBHOOKS, body)
    expect([answer.status, answer.body.details[0].code]).toEqual([400, code])
  })

  test('of one organization are limited', async () => {
    const own = await client()
    for (let number = 1; number <= MAX_WEBHOOKS; number++) await createWebhook(own, { url: URL })
    const refused = await own.post(WEBHOOKS, { url: URL, types: ['*'] })
    expect(refused).toMatchObject({ status: 409, body: { code: 'too_many_webhooks' } })
  })

  test('are for keys and administrators only', async () => {
    const { organizationId, apiKey, userToken } = await server.createTenant()
    const administrator = server.as({ userToken })
    const { id } = await createWebhook(administrator, { url: URL })
    expect((await server.as({ apiKey }).get(`${WEBHOOKS}/${id}`)).body).toMatchObject({ id, url: URL })
    const { body } = await administrator.get('/v3/rest/audit?action=webhook.created')
    expect(body.data).toMatchObject([{ object: { id }, principal: { kind: 'user' } }])
    for (const role of ['analyst', 'viewer'] as const) {
      const user = server.as({ userToken: (await server.createUser(organizationId, role)).userToken })
      const refused = { status: 403, body: { code: 'role_required', requiredRole: 'administrator' } }
      expect(await user.get(WEBHOOKS)).toMatchObject(refused)
      expect(await user.post(WEBHOOKS, { url: URL, types: ['*'] })).toMatchObject(refused)
    }
    const stranger = server.as({ userToken: (await server.createTenant()).userToken })
    expect((await stranger.get(`${WEBHOOKS}/${id}`)).status).toBe(404)
    expect((await server.as('nobody').get(WEBHOOKS)).status).toBe(401)
  })

  test('that are deleted take what waits with them', async () => {
    const own = await client()
    const { id } = await createWebhook(own, { url: URL })
    await createRecording(own)
    const { sql } = server.database
    expect(await sql`select from actor_message where key = ${`webhook:${id}`}`).toHaveLength(1)
    await own.delete(`${WEBHOOKS}/${id}`)
    expect(await sql`select from actor_message where key = ${`webhook:${id}`}`).toHaveLength(0)
  })
})

describe('deliveries', () => {
  test('are listed newest first, by type, status and time, page by page', async () => {
    const own = await client()
    const { id } = await createWebhook(own, { url: URL })
    const path = `${WEBHOOKS}/${id}/deliveries`
    const failed = await insertDelivery(id, 'failed', 'signal.created')
    const between = new Date().toISOString()
    const delivered = await insertDelivery(id, 'delivered')
    const ids = async (query: string) =>
      (await own.get(`${path}${query}`)).body.data.map((one: { id: string }) => one.id)
    expect(await ids('')).toEqual([delivered, failed])
    expect(await ids('?status=failed')).toEqual([failed])
    expect(await ids('?type=ping')).toEqual([delivered])
    expect(await ids('?type=ping&status=failed')).toEqual([])
    expect(await ids(`?since=${between}`)).toEqual([delivered])
    expect(await ids(`?until=${between}`)).toEqual([failed])
    const first = await own.get(`${path}?limit=1&status=failed`)
    expect(first.body).toMatchObject({ data: [{ id: failed }], has_more: false })
    const { body } = await own.get(`${path}?limit=1`)
    expect(await ids(`?limit=1&cursor=${body.next_cursor}`)).toEqual([failed])
    expect((await own.get(`${path}?status=lost`)).status).toBe(400)
  })

  test('under way are not sent again; others are, once at a time', async () => {
    const own = await client()
    const { id } = await createWebhook(own, { url: URL })
    const redeliver = (delivery: string) => own.post(`${WEBHOOKS}/${id}/deliveries/${delivery}/redeliver`, {})
    for (const status of ['pending', 'retrying'])
      expect(await redeliver(await insertDelivery(id, status))).toMatchObject({
        status: 409,
        body: { code: 'webhook_delivery_under_way' },
      })
    for (const status of ['delivered', 'failed']) {
      const delivery = await insertDelivery(id, status)
      expect(await redeliver(delivery)).toMatchObject({ status: 202, body: { id: delivery, status } })
      expect(await redeliver(delivery)).toMatchObject({
        status: 409,
        body: { code: 'webhook_delivery_under_way' },
      })
    }
  })

  test('show the data of their event to keys, and to no user', async () => {
    const { apiKey, userToken } = await server.createTenant()
    const own = server.as({ apiKey })
    const { id } = await createWebhook(own, { url: URL })
    const path = `${WEBHOOKS}/${id}/deliveries/${await insertDelivery(id, 'failed', 'signal.created')}`
    expect((await own.get(path)).body.event).toMatchObject({ type: 'signal.created', data: {} })
    const user = await server.as({ userToken }).get(path)
    expect(user).toMatchObject({ status: 200, body: { event: { type: 'signal.created', data: null } } })
  })

  test('of another webhook are not found', async () => {
    const own = await client()
    const [one, other] = [await createWebhook(own, { url: URL }), await createWebhook(own, { url: URL })]
    const delivery = await insertDelivery(one.id, 'failed')
    const path = `${WEBHOOKS}/${other.id}/deliveries/${delivery}`
    const missing = { status: 404, body: { code: 'webhook_delivery_not_found' } }
    expect(await own.get(path)).toMatchObject(missing)
    expect(await own.post(`${path}/redeliver`, {})).toMatchObject(missing)
  })

  test('and their events are deleted after WEBHOOK_LOG_DAYS', async () => {
    const own = await client()
    const { id } = await createWebhook(own, { url: URL })
    const [old, recent] = [await insertDelivery(id, 'failed'), await insertDelivery(id, 'delivered')]
    await own.post(`${WEBHOOKS}/${id}/deliveries/${old}/redeliver`, {})
    const { sql } = server.database
    await sql`
      update webhook_event e set occurred_at = now() - interval '31 days'
      from webhook_delivery d where d.event_id = e.id and d.id = ${old}`
    const task = server.features.maintenance.find(({ name }) => name === 'webhook_log')
    await task?.run(new AbortController().signal)
    const left = await own.get(`${WEBHOOKS}/${id}/deliveries`)
    expect(left.body.data).toMatchObject([{ id: recent }])
    expect(await sql`select from actor_mailbox where key = ${`webhook_delivery:${old}`}`).toHaveLength(0)
  })
})

describe('recovery', () => {
  test('is refused while one waits, while the webhook is disabled, and for an empty period', async () => {
    const own = await client()
    const { id } = await createWebhook(own, { url: URL })
    const recover = (body: object) => own.post(`${WEBHOOKS}/${id}/recover`, body)
    for (const body of [
      { since: '2026-01-02T00:00:00Z', until: '2026-01-01T00:00:00Z' },
      { since: '2026-02-30T00:00:00Z' },
      { since: 'yesterday' },
      {},
    ])
      expect(await recover(body)).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
    const period = { since: '2026-01-01T00:00:00Z', until: '2026-01-02T00:00:00Z' }
    expect(await recover(period)).toMatchObject({ status: 202, body: period })
    expect(await recover(period)).toMatchObject({ status: 409, body: { code: 'webhook_recovery_active' } })
    await own.patch(`${WEBHOOKS}/${id}`, { enabled: false })
    expect(await recover(period)).toMatchObject({ status: 409, body: { code: 'webhook_disabled' } })
  })
})
