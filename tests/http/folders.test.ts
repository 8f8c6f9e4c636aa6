/** Folders and upload batches over HTTP, and which of them a caller may use. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Viewer } from '../../src/kernel/principal.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { AppError } from '../../src/platform/errors.ts'
import { newId } from '../../src/platform/ids.ts'
import { createTenant, type Tenant } from '../support/metadata.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

const FOLDERS = '/v3/rest/folders'
const BATCHES = '/v3/rest/upload-batches'

let server: TestServer
let tenant: Tenant
/** Another user of the same organization. */
let bob: Client
let bobId: string
let stranger: Tenant
beforeAll(async () => {
  server = await startTestServer()
  tenant = await createTenant(server)
  stranger = await createTenant(server)
  const created = await server.createUser(tenant.organizationId)
  bobId = created.userId
  bob = server.as({ userToken: created.userToken })
})
afterAll(() => server.stop())

const create = async (client: Client, body: object = {}): Promise<string> =>
  (await client.post(FOLDERS, { name: newId(), ...body })).body.id

describe('creating a folder', () => {
  test('is 201 with Location and the folder, shared by default', async () => {
    for (const client of [tenant.key, tenant.user]) {
      const { status, headers, body } = await client.post(FOLDERS, { name: '  Interviews ' })
      expect(status).toBe(201)
      expect(headers.get('location')).toBe(`${FOLDERS}/${body.id}`)
      expect(body).toEqual({
        id: expect.any(String),
        name: 'Interviews',
        shared: true,
        createdAt: expect.stringMatching(/Z$/),
      })
      expect(await client.get(`${FOLDERS}/${body.id}`)).toMatchObject({ status: 200, body })
    }
  })

  test('of a user may be private', async () => {
    const answer = await tenant.user.post(FOLDERS, { name: 'Mine', shared: false })
    expect(answer).toMatchObject({ status: 201, body: { name: 'Mine', shared: false } })
  })

  test('that is private is 403 user_required for an API key', async () => {
    const answer = await tenant.key.post(FOLDERS, { name: 'Mine', shared: false })
    expect(answer).toMatchObject({ status: 403, body: { code: 'user_required' } })
  })

  test.each([
    [{}],
    [{ name: ' ' }],
    [{ name: 'x'.repeat(256) }],
    [{ name: 1 }],
    [{ name: 'a', shared: 'yes' }],
    [{ name: 'a', shared: null }],
    [[]],
  ])('with %j is 400', async (body) => {
    expect(await tenant.user.post(FOLDERS, body)).toMatchObject({
      status: 400,
      body: { code: 'validation_failed' },
    })
  })
})

describe('a private folder', () => {
  test('is visible to its owner only; for all others it does not exist', async () => {
    const id = await create(tenant.user, { shared: false })
    expect((await tenant.user.get(`${FOLDERS}/${id}`)).status).toBe(200)
    for (const client of [bob, tenant.key, stranger.user, stranger.key]) {
      expect(await client.get(`${FOLDERS}/${id}`)).toMatchObject({
        status: 404,
        body: { code: 'folder_not_found' },
      })
      expect(JSON.stringify((await client.get(`${FOLDERS}?limit=100`)).body)).not.toContain(id)
    }
  })

  test('is hidden from a key together with the token of another user', async () => {
    const id = await create(tenant.user, { shared: false })
    const answer = await bob.get(`${FOLDERS}/${id}`, { 'x-service-api-key': tenant.apiKey })
    expect(answer.status).toBe(404)
  })
})

describe('the list of folders', () => {
  test('shows shared folders and those of the user, newest first, page by page', async () => {
    const fresh = await createTenant(server)
    const other = await server.createUser(fresh.organizationId)
    const made: string[] = []
    for (let index = 0; index < 9; index++) {
      made.unshift(await create(fresh.user, { shared: index % 2 === 0 }))
      await create(server.as({ userToken: other.userToken }), { shared: false })
    }
    const found: string[] = []
    let cursor = ''
    for (;;) {
      const { body } = await fresh.user.get(`${FOLDERS}?limit=2${cursor}`)
      found.push(...body.data.map(({ id }: { id: string }) => id))
      expect(body).toMatchObject({ limit: 2, has_more: body.next_cursor !== null })
      if (!body.has_more) break
      cursor = `&cursor=${body.next_cursor}`
    }
    expect(found).toEqual(made)
    const { body } = await fresh.key.get(FOLDERS)
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual(made.filter((_, index) => index % 2 === 0))
    expect(body.data.every(({ shared }: { shared: boolean }) => shared)).toBe(true)
  })

  test.each(['limit=0', 'limit=101', 'page=1', 'cursor=abc', 'limit=1&limit=2'])(
    'with %s is 400',
    async (query) => {
      expect((await tenant.key.get(`${FOLDERS}?${query}`)).status).toBe(400)
    },
  )
})

describe('resolving the folders of a request', () => {
  const viewer = (who: Tenant): Viewer => ({
    kind: 'user',
    organizationId: who.organizationId,
    userId: who.userId,
  })
  const resolve = (who: Viewer, ids: readonly string[]) =>
    transaction(server.deps.sql, (tx) => server.features.folders.resolve(tx, who, ids))

  test('returns each id once, in order, in lower case', async () => {
    const [shared, own] = [await create(tenant.key), await create(tenant.user, { shared: false })]
    const ids = await resolve(viewer(tenant), [own, shared.toUpperCase(), own, shared])
    expect(ids).toEqual([own, shared])
    expect(await resolve(viewer(tenant), [])).toEqual([])
  })

  test('is 404 folder_not_found if one of them is not visible', async () => {
    const { organizationId, userId } = tenant
    const [shared, own] = [await create(tenant.key), await create(tenant.user, { shared: false })]
    const foreign = await create(stranger.key)
    const key: Viewer = { kind: 'organization', organizationId }
    const refused: [Viewer, string][] = [
      [viewer(tenant), foreign],
      [viewer(tenant), newId()],
      [viewer(tenant), 'nonsense'],
      [{ kind: 'user', organizationId, userId: bobId }, own],
      [key, own],
      // The user's own folder, asked for in another organization.
      [{ kind: 'user', organizationId: stranger.organizationId, userId }, own],
    ]
    for (const [who, id] of refused) {
      const error = await resolve(who, [shared, id]).catch((reason) => reason)
      expect(error).toBeInstanceOf(AppError)
      expect(error.code).toBe('folder_not_found')
    }
    expect(await resolve(key, [shared])).toEqual([shared])
  })
})

describe('an upload batch', () => {
  test('is created by a user: 201 with Location', async () => {
    const { status, headers, body } = await tenant.user.send('POST', BATCHES)
    expect(status).toBe(201)
    expect(headers.get('location')).toBe(`${BATCHES}/${body.id}`)
    expect(body).toEqual({ id: expect.any(String), createdAt: expect.stringMatching(/Z$/) })
    expect(await tenant.user.get(`${BATCHES}/${body.id}`)).toMatchObject({ status: 200, body })
  })

  test('is 403 user_required for an API key', async () => {
    for (const answer of [
      await tenant.key.send('POST', BATCHES),
      await tenant.key.get(`${BATCHES}/${newId()}`),
    ])
      expect(answer).toMatchObject({ status: 403, body: { code: 'user_required' } })
  })

  test("of another user, of another organization's, or unknown is 404", async () => {
    const { body } = await tenant.user.send('POST', BATCHES)
    for (const [client, id] of [
      [bob, body.id],
      [stranger.user, body.id],
      [tenant.user, newId()],
      [tenant.user, 'nonsense'],
    ])
      expect(await client.get(`${BATCHES}/${id}`)).toMatchObject({
        status: 404,
        body: { code: 'batch_not_found' },
      })
  })
})

describe('every operation', () => {
  test('is 401 without a credential, before anything else', async () => {
    const operations = server.features.operations.filter(({ tag }) => tag === 'Folders')
    expect(operations).toHaveLength(7)
    for (const { id, method, path } of operations) {
      const answer = await server.as('nobody').send(method, `${path.replace(/\{\w+\}/, 'x')}?colour=red`)
      expect([id, answer.status]).toEqual([id, 401])
    }
  })

  test('with an id of another organization is 404', async () => {
    const folder = await create(stranger.key)
    for (const client of [tenant.key, tenant.user])
      for (const id of [folder, newId(), 'nonsense'])
        expect((await client.get(`${FOLDERS}/${id}`)).status).toBe(404)
    expect((await stranger.user.get(`${FOLDERS}/${folder.toUpperCase()}`)).status).toBe(200)
  })
})

describe('changing a folder', () => {
  test('renames it; only the owner renames a private folder', async () => {
    const shared = await create(tenant.key)
    expect((await tenant.user.patch(`${FOLDERS}/${shared}`, { name: ' Calls ' })).body.name).toBe('Calls')
    const own = await create(tenant.user, { shared: false })
    expect((await tenant.user.patch(`${FOLDERS}/${own}`, { name: 'Mine' })).body).toMatchObject({
      name: 'Mine',
      shared: false,
    })
    for (const other of [bob, tenant.key, stranger.key])
      expect((await other.patch(`${FOLDERS}/${own}`, { name: 'x' })).body.code).toBe('folder_not_found')
    for (const wrong of [{}, { name: ' ' }, { name: null }])
      expect((await tenant.user.patch(`${FOLDERS}/${own}`, wrong)).body.code).toBe('validation_failed')
    expect((await tenant.user.patch(`${FOLDERS}/${own}`, { name: 'x', shared: true })).body.code).toBe(
      'unknown_member',
    )
  })

  test('deletes an empty folder; otherwise 409 not_empty, even if the caller cannot see the recordings', async () => {
    const shared = await create(tenant.key)
    const own = await create(tenant.user, { shared: false })
    const { id } = (await tenant.user.post('/v3/rest/recordings', { folderIds: [shared, own] })).body
    for (const folder of [shared, own]) {
      const refused = await tenant.user.delete(`${FOLDERS}/${folder}`)
      expect([refused.status, refused.body.code]).toEqual([409, 'not_empty'])
    }
    expect((await bob.delete(`${FOLDERS}/${own}`)).body.code).toBe('folder_not_found')
    await tenant.user.patch(`/v3/rest/recordings/${id}`, { folderIds: [own] })
    expect((await tenant.key.delete(`${FOLDERS}/${shared}`)).status).toBe(204)
    expect((await tenant.key.delete(`${FOLDERS}/${shared}`)).body.code).toBe('folder_not_found')
    expect((await tenant.user.get(`/v3/rest/recordings/${id}`)).body.folderIds).toEqual([own])
  })

  test('deletion while recordings arrive: either it holds them or they get 404', async () => {
    const folder = await create(tenant.key)
    const [deleted, ...answers] = await Promise.all([
      tenant.key.delete(`${FOLDERS}/${folder}`),
      ...Array.from({ length: 16 }, () => tenant.key.post('/v3/rest/recordings', { folderIds: [folder] })),
    ])
    expect(answers.every(({ status }) => status === 201 || status === 404)).toBe(true)
    const stored = answers.some(({ status }) => status === 201)
    expect(deleted?.status).toBe(stored ? 409 : 204)
  })
})
