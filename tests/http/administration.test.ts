/** What administrators do over REST: members and their roles, API keys, credits, messages of actors. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Role } from '../../src/kernel/roles.rules.ts'
import { newId } from '../../src/platform/ids.ts'
import { eventually } from '../support/eventually.ts'
import { type Client, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

const MEMBERS = '/v3/rest/members'
const KEYS = '/v3/rest/api-keys'
const CREDITS = '/v3/rest/credits'
const ACTORS = '/v3/rest/actors'
const TOKENS = '/v3/rest/user-tokens'

let server: TestServer
/** A second process on the same database. */
let second: TestServer
let tenant: TestTenant
/** The user of the tenant, an administrator. */
let admin: Client
let key: Client

beforeAll(async () => {
  const env = { SECRET_KEY: 'x'.repeat(43) }
  server = await startTestServer({ env })
  second = await startTestServer({ env, beside: server })
})
afterAll(async () => {
  await second?.stop()
  await server?.stop()
})

beforeEach(async () => {
  tenant = await server.createTenant()
  admin = server.as({ userToken: tenant.userToken })
  key = server.as({ apiKey: tenant.apiKey })
})

const member = (role: Role) => server.createUser(tenant.organizationId, role)
const codeOf = ({ status, body }: { status: number; body: { code?: string } | null }) => [status, body?.code]

describe('members', () => {
  test('are added, read and given another role by an administrator', async () => {
    const email = `${newId()}@example.com`
    const created = await admin.post(MEMBERS, { email, name: 'Grace', role: 'viewer' })
    expect(created).toMatchObject({
      status: 201,
      body: { email, name: 'Grace', role: 'viewer', removedAt: null },
    })
    const path = `${MEMBERS}/${created.body.id}`
    expect(created.headers.get('location')).toBe(path)
    expect((await admin.get(path)).body).toEqual(created.body)
    const changed = await admin.patch(path, { role: 'administrator' })
    expect(changed).toMatchObject({ status: 200, body: { ...created.body, role: 'administrator' } })
    expect((await key.get(MEMBERS)).body.data.map(({ role }: { role: string }) => role)).toEqual([
      'administrator',
      'administrator',
    ])
  })

  test('without a role are analysts, and exist once', async () => {
    const email = `${newId()}@example.com`
    expect((await admin.post(MEMBERS, { email })).body).toMatchObject({ name: email, role: 'analyst' })
    expect(codeOf(await admin.post(MEMBERS, { email: email.toUpperCase() }))).toEqual([409, 'member_exists'])
  })

  test.each([
    [{}],
    [{ email: 'nonsense' }],
    [{ email: 'a@example.com', role: 'king' }],
    [{ email: 'a@example.com', age: 1 }],
  ])('cannot be created from %j: 400', async (body) => {
    expect((await admin.post(MEMBERS, body)).status).toBe(400)
  })

  test('that were removed have no role, and cannot get one', async () => {
    const { userId } = await member('analyst')
    await admin.delete(`${MEMBERS}/${userId}`)
    expect((await admin.get(`${MEMBERS}/${userId}`)).body).toMatchObject({ role: null })
    expect(codeOf(await admin.patch(`${MEMBERS}/${userId}`, { role: 'viewer' }))).toEqual([
      404,
      'member_not_found',
    ])
  })

  test('have their new role at once here, and within 5 seconds in another process', async () => {
    const { userId, userToken } = await member('viewer')
    const statusAt = async (at: TestServer) =>
      (await at.as({ userToken }).post('/v3/rest/folders', { name: 'x' })).status
    for (const at of [server, second, server, second]) expect(await statusAt(at)).toBe(403)
    await admin.patch(`${MEMBERS}/${userId}`, { role: 'analyst' })
    expect(await statusAt(server)).toBe(201)
    await eventually(async () => (await statusAt(second)) === 201, { deadlineMs: 5_000 })
    await admin.patch(`${MEMBERS}/${userId}`, { role: 'viewer' })
    expect(await statusAt(server)).toBe(403)
    await eventually(async () => (await statusAt(second)) === 403, { deadlineMs: 5_000 })
  })
})

describe('the last administrator', () => {
  test('cannot be removed or get a lower role, not even by the key', async () => {
    const path = `${MEMBERS}/${tenant.userId}`
    for (const client of [admin, key]) {
      expect(codeOf(await client.delete(path))).toEqual([409, 'last_administrator'])
      expect(codeOf(await client.patch(path, { role: 'viewer' }))).toEqual([409, 'last_administrator'])
      expect((await client.patch(path, { role: 'administrator' })).status).toBe(200)
    }
    expect((await admin.get(path)).body).toMatchObject({ role: 'administrator', removedAt: null })
  })

  test('remains when all of them go at the same time', async () => {
    const ids = [tenant.userId]
    for (let count = 0; count < 7; count++) ids.push((await member('administrator')).userId)
    const ways = ids.map((id, index) => {
      const [client, path] = [index % 4 < 2 ? key : second.as({ apiKey: tenant.apiKey }), `${MEMBERS}/${id}`]
      return index % 2 === 0 ? client.delete(path) : client.patch(path, { role: 'viewer' })
    })
    const statuses = (await Promise.all(ways)).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([...Array(7).fill(200), 409])
    const { data } = (await key.get(MEMBERS)).body
    expect(data.filter(({ role }: { role: string }) => role === 'administrator')).toHaveLength(1)
  })
})

describe('API keys', () => {
  test('are shown once, work, and are listed newest first without their text', async () => {
    const created = await admin.post(KEYS, { name: ' Import ' })
    const { apiKey, ...row } = created.body
    expect(created.status).toBe(201)
    expect(created.headers.get('location')).toBe(`${KEYS}/${row.id}`)
    expect(row).toMatchObject({ name: 'Import', prefix: apiKey.slice(0, 10), revokedAt: null })
    expect((await server.as({ apiKey }).get('/v3/rest/folders')).status).toBe(200)
    const { data } = (await admin.get(KEYS)).body
    expect(data.map(({ name }: { name: string }) => name)).toEqual(['Import', 'test'])
    expect(JSON.stringify(data)).not.toContain(apiKey)
    const [stored] = await server.database.sql<{ text: string }[]>`
      select json_agg(k)::text as text from api_key k where id = ${row.id}`
    expect(stored?.text).not.toContain(apiKey.slice(12))
    expect((await admin.patch(`${KEYS}/${row.id}`, { name: 'Export' })).body).toMatchObject({
      name: 'Export',
    })
    expect((await admin.get(`${KEYS}/${row.id}`)).body).toMatchObject({ id: row.id, name: 'Export' })
  })

  test('that are revoked are refused in every process, and stay listed', async () => {
    const { id, apiKey } = (await admin.post(KEYS, { name: 'short-lived' })).body
    const statusAt = async (at: TestServer) => (await at.as({ apiKey }).get('/v3/rest/folders')).status
    for (const at of [server, second]) expect(await statusAt(at)).toBe(200)
    expect((await admin.delete(`${KEYS}/${id}`)).status).toBe(204)
    expect(await statusAt(server)).toBe(401)
    await eventually(async () => (await statusAt(second)) === 401, { deadlineMs: 5_000 })
    expect((await admin.delete(`${KEYS}/${id}`)).status).toBe(204)
    expect((await admin.get(`${KEYS}/${id}`)).body.revokedAt).not.toBeNull()
  })

  test('cannot revoke themselves, but one another', async () => {
    const own = (await key.get(KEYS)).body.data[0].id
    expect(codeOf(await key.delete(`${KEYS}/${own}`))).toEqual([409, 'own_api_key'])
    const { apiKey } = (await key.post(KEYS, { name: 'next' })).body
    expect((await server.as({ apiKey }).delete(`${KEYS}/${own}`)).status).toBe(204)
    expect((await key.get(KEYS)).status).toBe(401)
  })

  test('are listed page by page', async () => {
    for (const name of ['a', 'b', 'c']) await admin.post(KEYS, { name })
    const first = (await admin.get(`${KEYS}?limit=3`)).body
    const rest = (await admin.get(`${KEYS}?limit=3&cursor=${first.next_cursor}`)).body
    const names = [...first.data, ...rest.data].map(({ name }: { name: string }) => name)
    expect(names).toEqual(['c', 'b', 'a', 'test'])
    expect(rest).toMatchObject({ has_more: false, next_cursor: null })
  })
})

describe('user tokens', () => {
  test('can be read and renamed; one for every organization of its user cannot be renamed by one of them', async () => {
    const { userId } = tenant
    const { id } = (await admin.post(TOKENS, { userId, name: 'old' })).body
    expect((await admin.patch(`${TOKENS}/${id}`, { name: 'new' })).body).toMatchObject({ id, name: 'new' })
    expect((await admin.patch(`${TOKENS}/${id}`, { name: null })).body).toMatchObject({ name: null })
    expect((await admin.get(`${TOKENS}/${id}`)).body).toMatchObject({ id, name: null, userId })
    const { data } = (await admin.get(TOKENS)).body
    const wide = data.find(({ restricted }: { restricted: boolean }) => !restricted)
    expect(codeOf(await admin.patch(`${TOKENS}/${wide.id}`, { name: 'x' }))).toEqual([
      404,
      'user_token_not_found',
    ])
  })
})

describe('credits', () => {
  test('are unlimited at first; they can be set, added to and listed', async () => {
    expect((await admin.get(CREDITS)).body).toEqual({ balance: null })
    expect((await admin.patch(CREDITS, { balance: 10, note: 'trial' })).body).toEqual({ balance: 10 })
    expect((await admin.post(CREDITS, { units: 5 })).body).toEqual({ balance: 15 })
    expect((await key.get(CREDITS)).body).toEqual({ balance: 15 })
    const { data } = (await admin.get(`${CREDITS}/entries`)).body
    expect(data).toMatchObject([
      { amount: 5, note: null },
      { amount: 10, note: 'trial' },
    ])
    expect((await admin.patch(CREDITS, { balance: null })).body).toEqual({ balance: null })
  })

  test.each([
    [{}],
    [{ units: 0 }],
    [{ units: -1 }],
    [{ units: 1.5 }],
    [{ units: 1e13 }],
    [{ units: 1, x: 1 }],
  ])('are not added for %j: 400', async (body) => {
    expect((await admin.post(CREDITS, body)).status).toBe(400)
  })

  test('never grow beyond what a number holds exactly', async () => {
    await admin.patch(CREDITS, { balance: Number.MAX_SAFE_INTEGER })
    expect((await admin.post(CREDITS, { units: 1 })).status).toBe(400)
    expect((await admin.get(CREDITS)).body).toEqual({ balance: Number.MAX_SAFE_INTEGER })
  })
})

describe('messages of actors', () => {
  async function actor(organizationId: string, waiting: number, dead: number): Promise<string> {
    const { sql } = server.database
    const actorKey = `session:${newId()}`
    await sql`
      insert into actor_mailbox (key, organization_id, last_seq) values (${actorKey}, ${organizationId}, ${waiting + dead})`
    for (let seq = 1; seq <= dead; seq++)
      await sql`
        insert into actor_dead_letter (key, seq, type, payload, attempts, last_error)
        values (${actorKey}, ${seq}, 'advance', '{"secret":"payload"}', 10, 'internal text')`
    for (let seq = dead + 1; seq <= dead + waiting; seq++)
      await sql`
        insert into actor_message (key, seq, type, organization_id, available_at)
        values (${actorKey}, ${seq}, 'advance', ${organizationId}, now() - ${seq} * interval '1 minute')`
    return actorKey
  }

  test('are listed with the longest wait first, dead letters newest first, of the own organization alone', async () => {
    const other = await server.createTenant()
    await actor(other.organizationId, 2, 2)
    const own = await actor(tenant.organizationId, 3, 2)
    const waiting = (await admin.get(ACTORS)).body
    expect(waiting.data.map((row: { actor: string; number: number }) => [row.actor, row.number])).toEqual([
      [own, 5],
      [own, 4],
      [own, 3],
    ])
    const dead = (await admin.get(`${ACTORS}/dead-letters`)).body
    expect(dead.data.map((row: { actor: string; number: number }) => [row.actor, row.number])).toEqual([
      [own, 2],
      [own, 1],
    ])
    // Payloads and texts of errors are for the operator.
    expect(JSON.stringify([waiting, dead])).not.toMatch(/secret|internal text/)
  })

  test('are listed page by page without repetition', async () => {
    const own = await actor(tenant.organizationId, 5, 5)
    for (const list of [ACTORS, `${ACTORS}/dead-letters`]) {
      const seen: number[] = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const page: { data: { actor: string; number: number }[]; next_cursor: string | null } = (
          await admin.get(`${list}?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`)
        ).body
        seen.push(...page.data.map(({ number }) => number))
        cursor = page.next_cursor
      }
      expect(seen).toEqual(list === ACTORS ? [10, 9, 8, 7, 6] : [5, 4, 3, 2, 1])
    }
    expect((await admin.get(`${ACTORS}?kind=recording`)).body.data).toEqual([])
    expect((await admin.get(`${ACTORS}?kind=session`)).body.data).toHaveLength(5)
    expect((await admin.get(`${ACTORS}/dead-letters?actor=${own}`)).body.data).toHaveLength(5)
  })

  test('are retried and skipped in the own organization alone', async () => {
    const own = await actor(tenant.organizationId, 1, 2)
    const message = (actorKey: string, number: number, what: string) =>
      `${ACTORS}/${actorKey}/messages/${number}/${what}`
    expect((await admin.post(message(own, 1, 'retry'), {})).status).toBe(204)
    expect((await admin.post(message(own, 2, 'skip'), {})).status).toBe(204)
    expect((await admin.get(`${ACTORS}/dead-letters`)).body.data).toEqual([])
    expect((await admin.get(ACTORS)).body.data).toHaveLength(2)
    // It has not failed, so it is not the administrator's to drop.
    expect(codeOf(await admin.post(message(own, 3, 'skip'), {}))).toEqual([404, 'actor_message_not_found'])
    const other = await server.createTenant()
    const foreign = await actor(other.organizationId, 1, 1)
    await server.database.sql`update actor_message set attempts = 1 where key = ${foreign}`
    for (const [number, what] of [
      [1, 'retry'],
      [1, 'skip'],
      [2, 'skip'],
    ] as const)
      expect(codeOf(await admin.post(message(foreign, number, what), {}))).toEqual([
        404,
        'actor_message_not_found',
      ])
    const [left] = await server.database.sql<{ dead: number; waiting: number }[]>`
      select (select count(*) from actor_dead_letter where key = ${foreign})::int as dead,
        (select count(*) from actor_message where key = ${foreign})::int as waiting`
    expect(left).toEqual({ dead: 1, waiting: 1 })
  })
})

describe('the state of the service', () => {
  const SERVICE = '/v3/rest/service'

  test('names what it runs on and what is not configured', async () => {
    const { status, body } = await key.get(SERVICE)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      workers: 0,
      waiting: 0,
      dueSince: null,
    })
    const parts = new Map<string, { state: string; settings: readonly string[] }>(
      body.parts.map((part: { name: string }) => [part.name, part]),
    )
    expect(parts.get('database')).toMatchObject({
      state: 'ready',
      detail: expect.stringMatching(/^PostgreSQL \d/),
    })
    expect(parts.get('media')).toMatchObject({ state: 'ready', settings: [] })
    expect(parts.get('mail')).toMatchObject({ state: 'not_configured', settings: ['SMTP_URL', 'MAIL_FROM'] })
    // Nothing of the servers' addresses is told.
    expect(JSON.stringify(body)).not.toMatch(/:\/\/|127\.0\.0\.1|localhost/)
  })

  test('counts workers, and what waits and failed in the own organization only', async () => {
    const { sql } = server.database
    const worker = newId()
    await sql`insert into worker (id) values (${worker})`
    const keyOf = (organization: string) => `session:${organization}`
    const other = await server.createTenant()
    for (const { organizationId } of [tenant, other]) {
      const one = keyOf(organizationId)
      await sql`insert into actor_mailbox (key, organization_id, last_seq) values (${one}, ${organizationId}, 2)`
      await sql`
        insert into actor_message (key, seq, type, organization_id, available_at)
        values (${one}, 2, 'advance', ${organizationId}, '2026-01-02T09:00:00Z')`
      await sql`
        insert into actor_dead_letter (key, seq, type, payload, attempts) values (${one}, 1, 'advance', '{}', 3)`
    }
    expect((await admin.get(SERVICE)).body).toMatchObject({
      workers: 1,
      waiting: 1,
      dueSince: '2026-01-02T09:00:00.000Z',
      deadLetters: 1,
    })
    await sql`delete from worker where id = ${worker}`
    await sql`delete from actor_message where key = any(${[tenant, other].map(({ organizationId }) => keyOf(organizationId))})`
  })

  test('is for administrators', async () => {
    const { userToken } = await member('viewer')
    expect(codeOf(await server.as({ userToken }).get(SERVICE))).toEqual([403, 'role_required'])
  })
})
