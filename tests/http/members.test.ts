/** Removing a member or revoking a user token takes effect at once here, and within seconds in every other process. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { importJWK, SignJWT } from 'jose'
import { readSigningKey } from '../../src/access/identity/signing-key.ts'
import { newId } from '../../src/platform/ids.ts'
import { eventually } from '../support/eventually.ts'
import { createFolder, createRecording } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

let server: TestServer
let second: TestServer
let tenant: TestTenant
let admin: Client

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
  // The last administrator could not be removed.
  await server.database.sql`update membership set role = 'analyst' where user_id = ${tenant.userId}`
  admin = server.as(tenant)
})

const FOLDERS = '/v3/rest/folders'
const MEMBERS = '/v3/rest/members'
const TOKENS = '/v3/rest/user-tokens'
/** The issue's bound, for a process that is told nothing. */
const WITHIN = { deadlineMs: 5_000 }

const statusOf = async (userToken: string, at: TestServer = server, organizationId?: string) => {
  const headers: Record<string, string> =
    organizationId === undefined ? {} : { 'x-service-organization-key': organizationId }
  return (await at.as({ userToken }).get(FOLDERS, headers)).status
}

/** Both processes have the token in their memory of good credentials. */
async function untilUsed(userToken: string): Promise<void> {
  for (const at of [server, second]) {
    expect(await statusOf(userToken, at)).toBe(200)
    expect(await statusOf(userToken, at)).toBe(200)
  }
}

async function expectRefused(userToken: string): Promise<void> {
  expect(await statusOf(userToken)).toBe(401)
  await eventually(async () => (await statusOf(userToken, second)) === 401, WITHIN)
}

/** A token as this service signed them before it gave them an id, issued `ago` seconds ago. */
async function legacyToken(userId: string, ago = 60): Promise<string> {
  const key = await importJWK((await readSigningKey(server.deps.config)) ?? {}, 'EdDSA')
  const now = Math.floor(Date.now() / 1000)
  return new SignJWT({ sub: userId, iss: 'earshot', aud: 'earshot-api', iat: now - ago, exp: now + 3_600 })
    .setProtectedHeader({ alg: 'EdDSA', typ: 'JWT' })
    .sign(key)
}

const issue = async (userId: string, client: Client = admin) =>
  (await client.post(TOKENS, { userId, name: 'laptop' })).body as {
    readonly id: string
    readonly token: string
  }

describe('a user token', () => {
  test('is created by the organization, shown once, listed without its secret, and works', async () => {
    const { userId } = tenant
    const answer = await admin.post(TOKENS, { userId, name: ' Laptop ', expiresInSeconds: 60 })
    expect(answer.status).toBe(201)
    const { token, ...row } = answer.body
    expect(answer.headers.get('location')).toBe(`${TOKENS}/${row.id}`)
    expect(row).toMatchObject({ userId, name: 'Laptop', restricted: true, lastUsedAt: null, revokedAt: null })
    expect(Date.parse(row.expiresAt) - Date.parse(row.createdAt)).toBeWithin(55_000, 65_000)
    expect(await statusOf(token)).toBe(200)
    const used = await eventually(async () => {
      const { data } = (await admin.get(`${TOKENS}?userId=${userId}`)).body
      const [found] = data.filter(({ id }: { id: string }) => id === row.id)
      return found.lastUsedAt === null ? false : found
    })
    expect(used).toEqual({ ...row, lastUsedAt: used.lastUsedAt })
    const [dump] = await server.database.sql<
      { text: string }[]
    >`select json_agg(t)::text as text from user_token t`
    expect(dump?.text).not.toContain(token.split('.')[2])
  })

  test('is valid only in the organization that issued it', async () => {
    const other = await server.createTenant()
    const [member] = (await admin.get(MEMBERS)).body.data
    await server.features.identity.createUser(other.organizationId, { email: member.email, name: 'N' })
    const { token } = await issue(tenant.userId)
    expect(await statusOf(token)).toBe(200)
    expect(await statusOf(token, server, other.organizationId)).toBe(401)
  })

  test('is refused everywhere once revoked; other tokens keep working; revoking again is 204', async () => {
    const [lost, kept] = [await issue(tenant.userId), await issue(tenant.userId)]
    await untilUsed(lost.token)
    await untilUsed(kept.token)
    expect((await admin.delete(`${TOKENS}/${lost.id}`)).status).toBe(204)
    await expectRefused(lost.token)
    for (const at of [server, second]) expect(await statusOf(kept.token, at)).toBe(200)
    expect((await admin.delete(`${TOKENS}/${lost.id}`)).status).toBe(204)
    const { data } = (await admin.get(TOKENS)).body
    const revoked = data.filter(({ revokedAt }: { revokedAt: string | null }) => revokedAt !== null)
    expect(revoked.map(({ id }: { id: string }) => id)).toEqual([lost.id])
  })

  test('for every organization of its user can be refused by one without affecting the others', async () => {
    const other = await server.createTenant()
    const [member] = (await admin.get(MEMBERS)).body.data
    await server.features.identity.createUser(other.organizationId, { email: member.email, name: 'N' })
    const { userToken } = tenant
    const [{ id }] = (await admin.get(TOKENS)).body.data
    expect((await admin.delete(`${TOKENS}/${id}`)).status).toBe(204)
    expect(await statusOf(userToken, server, tenant.organizationId)).toBe(401)
    expect(await statusOf(userToken, server, other.organizationId)).toBe(200)
    await server.features.identity.revokeUserToken(id)
    const refused = async () => (await statusOf(userToken, server, other.organizationId)) === 401
    await eventually(refused, WITHIN)
  })

  test('unknown to this database is refused despite a valid signature', async () => {
    const { identity } = server.features
    const { text } = await identity.signUserToken({ id: newId(), userId: tenant.userId, lifetimeSeconds: 60 })
    expect(await statusOf(text)).toBe(401)
  })

  test('of an older version has no id and works until all tokens of its user are revoked', async () => {
    const { userId } = tenant
    const [legacy, issued] = [await legacyToken(userId), await issue(userId)]
    await untilUsed(legacy)
    expect((await admin.delete(`${MEMBERS}/${userId}/user-tokens`)).status).toBe(204)
    await expectRefused(legacy)
    await expectRefused(issued.token)
    await expectRefused(tenant.userToken)
    expect(await statusOf((await issue(userId)).token)).toBe(200)
    expect(await statusOf(await legacyToken(userId, -5))).toBe(200)
  })

  test.each([
    ['is of nobody here', () => ({ userId: newId() }), 404, 'member_not_found'],
    ['has a malformed user', () => ({ userId: 'ada' }), 400, 'validation_failed'],
    ['lasts for more than ten years', () => ({ expiresInSeconds: 315_360_001 }), 400, 'validation_failed'],
    ['has an unknown member', () => ({ admin: true }), 400, 'unknown_member'],
    ['has a blank name', () => ({ name: '  ' }), 400, 'validation_failed'],
  ])('that %s is refused', async (_, change, status, code) => {
    const answer = await admin.post(TOKENS, { userId: tenant.userId, ...change() })
    expect([answer.status, answer.body.code]).toEqual([status, code])
  })
})

describe('a member who is removed', () => {
  test('is refused with every token in every process and listed as former', async () => {
    const { userId, userToken } = await server.createUser(tenant.organizationId, 'analyst')
    const [issued, legacy] = [await issue(userId), await legacyToken(userId)]
    for (const token of [userToken, issued.token, legacy]) await untilUsed(token)
    const answer = await admin.delete(`${MEMBERS}/${userId}`)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ id: userId, privateFolders: 0, transferredTo: null })
    for (const token of [userToken, issued.token, legacy]) await expectRefused(token)
    const idsOf = async (query: string) =>
      (await admin.get(`${MEMBERS}${query}`)).body.data.map(({ id }: { id: string }) => id)
    expect(await idsOf('')).toEqual([tenant.userId])
    expect(await idsOf('?removed=true')).toEqual([userId])
    expect((await admin.post(TOKENS, { userId })).body.code).toBe('member_not_found')
  })

  test('stays a member of other organizations, with working tokens', async () => {
    const other = await server.createTenant()
    const [member] = (await admin.get(MEMBERS)).body.data
    await server.features.identity.createUser(other.organizationId, { email: member.email, name: 'N' })
    await admin.delete(`${MEMBERS}/${tenant.userId}`)
    expect(await statusOf(tenant.userToken)).toBe(200)
    expect(await statusOf(tenant.userToken, server, tenant.organizationId)).toBe(401)
  })

  test('and added again keeps user id and folders, but old tokens stay invalid', async () => {
    const { userId } = tenant
    const [member] = (await admin.get(MEMBERS)).body.data
    const [issued, legacy] = [await issue(userId), await legacyToken(userId)]
    const mine = { name: 'Mine', shared: false }
    const folder = (await server.as({ userToken: tenant.userToken }).post(FOLDERS, mine)).body
    await admin.delete(`${MEMBERS}/${userId}`)
    const added = await server.features.identity.createUser(tenant.organizationId, {
      email: member.email,
      name: 'N',
    })
    expect(added.id).toBe(userId)
    for (const token of [tenant.userToken, issued.token, legacy]) expect(await statusOf(token)).toBe(401)
    const { token } = await issue(userId)
    expect((await server.as({ userToken: token }).get(`${FOLDERS}/${folder.id}`)).status).toBe(200)
    expect((await admin.get(`${MEMBERS}?removed=true`)).body.data).toEqual([])
  })

  test('hands private folders and their content to the successor, at once or later', async () => {
    const { userId, userToken } = await server.createUser(tenant.organizationId, 'analyst')
    const leaver = server.as({ userToken })
    const heir = server.as({ userToken: tenant.userToken })
    const { id: hidden } = (await leaver.post(FOLDERS, { name: 'Mine', shared: false })).body
    const shared = await createFolder(admin)
    const { id: alone } = await createRecording(leaver, { folderIds: [hidden] })
    const { id: both } = await createRecording(leaver, { folderIds: [hidden, shared] })
    const left = { id: userId, privateFolders: 1, privateRecordings: 1 }
    const removal = (await admin.delete(`${MEMBERS}/${userId}`)).body
    expect(removal).toMatchObject({ ...left, transferredTo: null })
    expect((await heir.get(`/v3/rest/recordings/${alone}`)).status).toBe(404)
    expect((await heir.get(`/v3/rest/recordings/${both}`)).status).toBe(200)
    const transferred = await admin.delete(`${MEMBERS}/${userId}?transferTo=${tenant.userId}`)
    expect(transferred.body).toEqual({ ...removal, transferredTo: tenant.userId })
    expect((await heir.get(`${FOLDERS}/${hidden}`)).body).toMatchObject({ shared: false })
    expect((await heir.get(`/v3/rest/recordings/${alone}`)).status).toBe(200)
    expect((await admin.get(`/v3/rest/recordings/${alone}`)).status).toBe(404)
    expect((await admin.delete(`${MEMBERS}/${userId}`)).body).toMatchObject({ privateFolders: 0 })
  })

  test('is not removed if transferTo is not another member', async () => {
    const other = await server.createTenant()
    for (const transferTo of [tenant.userId, other.userId, newId(), 'ada']) {
      const answer = await admin.delete(`${MEMBERS}/${tenant.userId}?transferTo=${transferTo}`)
      expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed'])
    }
    expect(await statusOf(tenant.userToken)).toBe(200)
  })
})

test('token rows are deleted 30 days after expiry', async () => {
  const { sql } = server.database
  const [old, recent] = [await issue(tenant.userId), await issue(tenant.userId)]
  await sql`update user_token set expires_at = now() - interval '31 days' where id = ${old.id}`
  await sql`update user_token set expires_at = now() - interval '29 days' where id = ${recent.id}`
  const task = server.features.maintenance.find(({ name }) => name === 'expired_user_tokens')
  await task?.run(new AbortController().signal)
  const left = await sql<{ id: string }[]>`select id from user_token where id in ${sql([old.id, recent.id])}`
  expect(left.map(({ id }) => id)).toEqual([recent.id])
})
