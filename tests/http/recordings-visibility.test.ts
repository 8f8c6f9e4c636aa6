/**
 * Everybody in an organization sees a recording in no folder or in a shared folder. Otherwise only the owners of its
 * private folders see it. For anyone else every operation answers 404.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTenant, type Tenant } from '../support/metadata.ts'
import { createFolder, createRecording, RECORDINGS } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let acme: Tenant
let bob: Client
let stranger: Tenant
let shared: string
let ofAda: string
let ofBob: string
beforeAll(async () => {
  server = await startTestServer()
  acme = await createTenant(server)
  stranger = await createTenant(server)
  bob = server.as({ userToken: (await server.createUser(acme.organizationId)).userToken })
  shared = await createFolder(acme.key)
  ofAda = await createFolder(acme.user, false)
  ofBob = await createFolder(bob, false)
})
afterAll(() => server?.stop())

/** Made by a user who sees it, and put into the other folders behind the interface. */
async function recordingIn(folderIds: readonly string[]): Promise<string> {
  const { id } = await createRecording(acme.key)
  for (const folderId of folderIds)
    await server.database.sql`
      insert into recording_folder (organization_id, recording_id, folder_id)
      values (${acme.organizationId}, ${id}, ${folderId})`
  return id
}

const MATRIX: readonly (readonly [string, () => string[], boolean, boolean, boolean])[] = [
  // where, folders, key, ada, bob
  ['no folder', () => [], true, true, true],
  ['a shared folder', () => [shared], true, true, true],
  ['a private folder of one user', () => [ofAda], false, true, false],
  ['a shared and a private folder', () => [shared, ofAda], true, true, true],
  ['private folders of both users', () => [ofAda, ofBob], false, true, true],
]

describe('a recording in', () => {
  test.each(MATRIX)('%s', async (_, folders, key, ada, forBob) => {
    const id = await recordingIn(folders())
    const path = `${RECORDINGS}/${id}`
    const callers: [Client, boolean][] = [
      [acme.key, key],
      [acme.user, ada],
      [bob, forBob],
      [stranger.key, false],
      [stranger.user, false],
    ]
    for (const [caller, sees] of callers) {
      const listed = (await caller.get(`${RECORDINGS}?limit=100`)).body.data
      expect(listed.some((item: { id: string }) => item.id === id)).toBe(sees)
      const answers = [
        await caller.get(path),
        await caller.get(`${path}/transcript`),
        await caller.patch(path, { summary: 'seen' }),
      ]
      for (const { status, body } of answers)
        expect([status, body.code]).toEqual(sees ? [200, undefined] : [404, 'recording_not_found'])
      if (!sees) expect((await caller.delete(path)).status).toBe(404)
    }
    const [owner] = callers.filter(([, sees]) => sees).map(([caller]) => caller)
    expect((await owner?.delete(path))?.status).toBe(204)
  })
})

test('folderIds shows the folders that the caller sees', async () => {
  const path = `${RECORDINGS}/${await recordingIn([shared, ofAda, ofBob])}`
  const foldersOf = async (caller: Client) => (await caller.get(path)).body.folderIds.toSorted()
  expect(await foldersOf(acme.key)).toEqual([shared])
  expect(await foldersOf(acme.user)).toEqual([shared, ofAda].toSorted())
  expect(await foldersOf(bob)).toEqual([shared, ofBob].toSorted())
})

test('a page is filled with visible recordings, however many are hidden', async () => {
  const fresh = await createTenant(server)
  const other = server.as({ userToken: (await server.createUser(fresh.organizationId)).userToken })
  const hidden = await createFolder(other, false)
  const seen: string[] = []
  for (let index = 0; index < 12; index++) {
    const body = index % 3 === 0 ? {} : { folderIds: [hidden] }
    const { id } = await createRecording(other, body)
    if (index % 3 === 0) seen.unshift(id)
  }
  const first = (await fresh.key.get(`${RECORDINGS}?limit=3`)).body
  const second = (await fresh.key.get(`${RECORDINGS}?limit=3&cursor=${first.next_cursor}`)).body
  expect([...first.data, ...second.data].map(({ id }) => id)).toEqual(seen)
  expect([first.has_more, second.has_more]).toEqual([true, false])
})

describe('deletions in the database do not publish a private recording', () => {
  /** A tenant whose only user has a private folder with one recording. */
  async function privately() {
    const tenant = await createTenant(server)
    const folderId = await createFolder(tenant.user, false)
    const { id } = await createRecording(tenant.user, { folderIds: [folderId] })
    return { tenant, folderId, path: `${RECORDINGS}/${id}` }
  }

  const refused = { code: '23503' }

  test('its owner stays', async () => {
    const { tenant, path } = await privately()
    const { sql } = server.database
    const deletion = sql`delete from app_user where id = ${tenant.userId}`.execute()
    await expect(deletion).rejects.toMatchObject(refused)
    expect((await tenant.key.get(path)).status).toBe(404)
    expect((await tenant.user.get(path)).status).toBe(200)
  })

  test('its owner leaves the organization: it becomes invisible to all', async () => {
    const { tenant, path } = await privately()
    await server.database.sql`delete from membership where user_id = ${tenant.userId}`
    expect((await tenant.key.get(path)).status).toBe(404)
  })

  test('its folder stays', async () => {
    const { tenant, folderId, path } = await privately()
    const { sql } = server.database
    await expect(sql`delete from folder where id = ${folderId}`.execute()).rejects.toMatchObject(refused)
    expect((await tenant.key.get(path)).status).toBe(404)
    await tenant.user.delete(path)
    expect(await sql`delete from folder where id = ${folderId}`).toMatchObject({ count: 1 })
  })

  test('an organization is deleted with everything, and then its owner can be', async () => {
    const { tenant, folderId } = await privately()
    const { sql } = server.database
    await sql`delete from organization where id = ${tenant.organizationId}`
    expect(await sql`select from recording_folder where folder_id = ${folderId}`).toHaveLength(0)
    expect(await sql`delete from app_user where id = ${tenant.userId}`).toMatchObject({ count: 1 })
  })
})
