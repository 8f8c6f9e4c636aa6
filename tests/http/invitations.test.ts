/** An organization may add any user by an e-mail address. Until that user acts in it, nothing changes for them and nothing is told about them. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { eventually } from '../support/eventually.ts'
import { type Client, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

const FOLDERS = '/v3/rest/folders'
const MEMBERS = '/v3/rest/members'
const TOKENS = '/v3/rest/user-tokens'

let server: TestServer
let tenant: TestTenant
let stranger: TestTenant
let other: Client
let email: string
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.stop())
beforeEach(async () => {
  tenant = await server.createTenant()
  stranger = await server.createTenant()
  other = server.as({ apiKey: stranger.apiKey })
  email = (await server.features.identity.findUserAnywhere(tenant.userId))?.email ?? ''
})

const invite = (name?: string) => other.post(MEMBERS, { email, name })
const statusIn = async (organizationId: string | null, { userToken } = tenant) => {
  const headers: Record<string, string> =
    organizationId === null ? {} : { 'x-service-organization-key': organizationId }
  return (await server.as({ userToken }).get(FOLDERS, headers)).status
}
const nameOfMember = async () => (await other.get(`${MEMBERS}/${tenant.userId}`)).body.name
const tokensSeen = async () => (await other.get(`${TOKENS}?userId=${tenant.userId}`)).body.data.length

test('an invitation leaves requests alone that name no organization', async () => {
  expect(await statusIn(null)).toBe(200)
  expect((await invite('x')).status).toBe(201)
  // A process without a memory of the token reads the memberships anew.
  server.features.identity.forgetUser(tenant.userId)
  expect(await statusIn(null)).toBe(200)
  const folder = { name: 'Mine', shared: true }
  const { body } = await server.as({ userToken: tenant.userToken }).post(FOLDERS, folder)
  expect((await server.as({ apiKey: tenant.apiKey }).get(`${FOLDERS}/${body.id}`)).status).toBe(200)
})

test('an invitation shows the name that was given, and no token of the user', async () => {
  expect((await invite('Whoever')).body).toMatchObject({ id: tenant.userId, email, name: 'Whoever' })
  expect(await nameOfMember()).toBe('Whoever')
  expect((await other.get(MEMBERS)).body.data.map(({ name }: { name: string }) => name)).toContain('Whoever')
  expect(await tokensSeen()).toBe(0)
  await other.delete(`${MEMBERS}/${tenant.userId}`)
  expect(await nameOfMember()).toBe('Whoever')
  expect(await tokensSeen()).toBe(0)
})

test('a user who names the organization accepts the invitation', async () => {
  await invite('Whoever')
  server.features.identity.forgetUser(tenant.userId)
  expect(await statusIn(stranger.organizationId)).toBe(200)
  const name = await eventually(async () => {
    const now = await nameOfMember()
    return now === 'Whoever' ? false : now
  })
  expect(name).toBe((await server.features.identity.findUserAnywhere(tenant.userId))?.name)
  expect(await tokensSeen()).toBe(1)
  server.features.identity.forgetUser(tenant.userId)
  expect(await statusIn(null)).toBe(401)
  // Who has acted in the organization stays known to it.
  await other.delete(`${MEMBERS}/${tenant.userId}`)
  await invite('Whoever')
  expect(await nameOfMember()).toBe(name)
})

test('a token that the organization issues for itself accepts nothing', async () => {
  await invite('Whoever')
  const { token } = (await other.post(TOKENS, { userId: tenant.userId, name: 'laptop' })).body
  expect(await statusIn(null, { ...tenant, userToken: token })).toBe(200)
  expect(await statusIn(stranger.organizationId, { ...tenant, userToken: token })).toBe(200)
  const { sql } = server.database
  const rows = await sql`
    select invited_name from membership
    where organization_id = ${stranger.organizationId} and user_id = ${tenant.userId}`
  expect(rows).toMatchObject([{ invited_name: 'Whoever' }])
  server.features.identity.forgetUser(tenant.userId)
  expect(await statusIn(null)).toBe(200)
})

test('a user with nothing but an invitation acts in that organization', async () => {
  const { body } = await other.post(MEMBERS, { email: 'only@example.com', name: 'Only' })
  const { sql } = server.database
  await sql`delete from membership where user_id = ${tenant.userId}`
  await sql`
    insert into membership (organization_id, user_id, role, invited_name)
    values (${stranger.organizationId}, ${tenant.userId}, 'viewer', 'Whoever')`
  server.features.identity.forgetUser(tenant.userId)
  expect(body.name).toBe('Only')
  expect(await statusIn(null)).toBe(200)
  await eventually(async () => (await nameOfMember()) !== 'Whoever')
})
