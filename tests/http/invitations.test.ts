/** An organization may add any user by an e-mail address. Whom another organization knows is asked first; until they accept, nothing changes. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { describeInvitations } from '../../src/access/identity/invitations.ts'
import { QUICK } from '../support/actors.ts'
import { eventually } from '../support/eventually.ts'
import { type Client, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { type SmtpSink, startSmtpSink } from '../support/smtp.ts'
import { createVisitor } from '../support/visitor.ts'

const FOLDERS = '/v3/rest/folders'
const MEMBERS = '/v3/rest/members'
const SESSION = '/v3/rest/session'
const TOKENS = '/v3/rest/user-tokens'

let smtp: SmtpSink
let server: TestServer
let tenant: TestTenant
let stranger: TestTenant
let other: Client
let email: string
beforeAll(async () => {
  smtp = await startSmtpSink()
  const env = { SMTP_URL: smtp.url, MAIL_FROM: 'Earshot <earshot@mail.example>' }
  server = await startTestServer({ env, actors: QUICK })
})
afterAll(async () => {
  await server?.stop()
  await smtp?.stop()
})
beforeEach(async () => {
  tenant = await server.createTenant()
  stranger = await server.createTenant(`Acme ${crypto.randomUUID()}`)
  other = server.as({ apiKey: stranger.apiKey })
  email = (await server.features.identity.findUserAnywhere(tenant.userId))?.email ?? ''
})

const invite = (name = 'Whoever') => other.post(MEMBERS, { email, name, role: 'viewer' })
const statusIn = async (organizationId: string | null, { userToken } = tenant) => {
  const headers: Record<string, string> =
    organizationId === null ? {} : { 'x-service-organization-key': organizationId }
  return (await server.as({ userToken }).get(FOLDERS, headers)).status
}
const self = () => server.as({ userToken: tenant.userToken })
const member = async () => (await other.get(`${MEMBERS}/${tenant.userId}`)).body
const tokensSeen = async () => (await other.get(`${TOKENS}?userId=${tenant.userId}`)).body.data.length
const invitation = () => `${SESSION}/invitations/${stranger.organizationId}`
const mails = () => smtp.delivered.filter(({ to }) => to.includes(email))

describe('a person whom another organization knows', () => {
  test('is invited, and nothing changes for them or is told about them', async () => {
    const { status, body } = await invite()
    expect([status, body.status]).toEqual([201, 'invited'])
    expect(body).toMatchObject({ id: tenant.userId, email, name: 'Whoever', role: 'viewer', removedAt: null })
    const { data } = (await other.get(MEMBERS)).body
    expect(data.map((one: { name: string; status: string }) => [one.name, one.status])).toContainEqual([
      'Whoever',
      'invited',
    ])
    expect(await tokensSeen()).toBe(0)
    server.features.identity.forgetUser(tenant.userId)
    expect(await statusIn(null)).toBe(200)
    expect(await statusIn(stranger.organizationId)).toBe(401)
    expect((await invite()).body.code).toBe('member_exists')
  })

  test('has no tokens of the organization: none can be made, and one from before is refused and counted', async () => {
    await invite()
    expect((await other.post(TOKENS, { userId: tenant.userId })).body.code).toBe('invitation_open')
    const { sql } = server.database
    const [id, seconds] = [crypto.randomUUID(), 600]
    const { text } = await server.features.identity.signUserToken({
      ...{ id, userId: tenant.userId, lifetimeSeconds: seconds },
    })
    await sql`
      insert into user_token (id, user_id, organization_id, expires_at)
      values (${id}, ${tenant.userId}, ${stranger.organizationId}, now() + interval '1 hour')`
    for (const organizationId of [null, stranger.organizationId, tenant.organizationId])
      expect(await statusIn(organizationId, { ...tenant, userToken: text })).toBe(401)
    expect(await describeInvitations(sql)).toStartWith('1 tokens refused')
    await sql`delete from user_token where id = ${id}`
  })

  test('accepts in the console: member at once, with the role that was offered', async () => {
    await invite()
    expect((await self().get(SESSION)).body.invitations).toEqual([
      {
        organizationId: stranger.organizationId,
        organizationName: expect.stringMatching(/^Acme/),
        role: 'viewer',
        invitedAt: expect.any(String),
      },
    ])
    expect((await self().send('PUT', invitation())).status).toBe(204)
    expect(await member()).toMatchObject({ status: 'active', role: 'viewer' })
    expect((await member()).name).not.toBe('Whoever')
    expect(await statusIn(stranger.organizationId)).toBe(200)
    expect((await self().get(SESSION)).body.invitations).toEqual([])
    expect((await self().send('PUT', invitation())).body.code).toBe('invitation_not_found')
    expect((await other.post(TOKENS, { userId: tenant.userId })).status).toBe(201)
    const { data } = (await other.get(`/v3/rest/audit?action=member.accepted`)).body
    expect(data).toMatchObject([{ principal: { kind: 'user' }, object: { id: tenant.userId } }])
  })

  test('declines, and may be invited again', async () => {
    await invite()
    expect((await self().delete(invitation())).status).toBe(204)
    expect((await other.get(`${MEMBERS}/${tenant.userId}`)).status).toBe(404)
    expect((await self().delete(invitation())).status).toBe(404)
    expect((await invite()).status).toBe(201)
  })

  test('who is removed while invited has no invitation any more', async () => {
    await invite()
    expect((await other.delete(`${MEMBERS}/${tenant.userId}`)).status).toBe(200)
    expect((await self().send('PUT', invitation())).status).toBe(404)
    expect(await statusIn(stranger.organizationId)).toBe(401)
  })

  test('who was a member is asked again, and finds their folders when they accept', async () => {
    await invite()
    await self().send('PUT', invitation())
    await other.patch(`${MEMBERS}/${tenant.userId}`, { role: 'analyst' })
    const choice = { 'x-service-organization-key': stranger.organizationId }
    const folder = await self().post(FOLDERS, { name: 'Mine', shared: false }, choice)
    await other.delete(`${MEMBERS}/${tenant.userId}`)
    expect((await invite()).body.status).toBe('invited')
    expect(await statusIn(stranger.organizationId)).toBe(401)
    await self().send('PUT', invitation())
    // Tokens from before the removal stay invalid.
    expect(await statusIn(stranger.organizationId)).toBe(401)
    const userToken = await server.features.identity.createUserToken(tenant.userId, 600)
    const found = await server.as({ userToken }).get(`${FOLDERS}/${folder.body.id}`, choice)
    expect(found.status).toBe(200)
  })

  test('counts as no administrator, and the operator adds them without asking', async () => {
    await other.post(MEMBERS, { email, role: 'administrator' })
    expect((await other.delete(`${MEMBERS}/${stranger.userId}`)).body.code).toBe('last_administrator')
    const user = { email, name: 'x', role: 'analyst' } as const
    await server.features.identity.createUser(stranger.organizationId, user)
    expect(await member()).toMatchObject({ status: 'active', role: 'analyst' })
    expect((await self().get(SESSION)).body.invitations).toEqual([])
    expect(await statusIn(stranger.organizationId)).toBe(200)
  })
})

test('a person whom no organization knows is a member at once', async () => {
  const address = `${crypto.randomUUID()}@example.com`
  const { body } = await other.post(MEMBERS, { email: address, name: 'New' })
  expect(body).toMatchObject({ status: 'active', name: 'New', role: 'analyst' })
  const { token } = (await other.post(TOKENS, { userId: body.id })).body
  expect(await statusIn(null, { ...tenant, userToken: token })).toBe(200)
})

test('a person with nothing but an invitation can sign in, accept and decline, and do nothing else', async () => {
  await invite()
  await server.database.sql`delete from membership where user_id = ${tenant.userId}`
  const visitor = createVisitor(server.baseUrl)
  await visitor.signIn(await server.features.identity.createLink(tenant.userId))
  const session = JSON.parse((await visitor.get(SESSION)).text)
  expect([session.organizations.length, session.invitations.length]).toEqual([0, 1])
  expect((await visitor.get(FOLDERS)).status).toBe(401)
  const headers = { 'x-csrf-token': session.csrfToken, origin: server.baseUrl }
  expect((await visitor.send('PUT', invitation(), { headers })).status).toBe(204)
  expect((await visitor.get(FOLDERS)).status).toBe(200)
})

describe('the mail of an invitation', () => {
  const linkIn = (text: string | undefined) =>
    /https?:\S+\/sign-in\/invitation\?token=\S+/.exec(text ?? '')?.[0] ?? ''

  test('asks with a page, which accepts once and signs nobody in', async () => {
    await invite()
    const [mail] = await eventually(async () => mails().length > 0 && mails())
    expect(mail?.mail.text).toContain('Acme')
    const link = linkIn(mail?.mail.text)
    const visitor = createVisitor(server.baseUrl)
    for (let opened = 0; opened < 3; opened++) {
      const page = await visitor.get(link)
      expect([page.status, page.setCookies.length]).toEqual([200, 0])
      expect(page.text).toContain('Acme')
    }
    expect((await member()).status).toBe('invited')
    const token = new URL(link).searchParams.get('token') ?? ''
    expect((await visitor.post('/sign-in/invitation', { token })).status).toBe(400)
    const accepted = await visitor.post('/sign-in/invitation', { token, answer: 'accept' })
    expect([accepted.status, accepted.setCookies.length]).toEqual([200, 0])
    expect((await member()).status).toBe('active')
    expect((await visitor.post('/sign-in/invitation', { token, answer: 'accept' })).status).toBe(410)
  })

  test('declines, and its link is not good for the next invitation', async () => {
    await invite()
    const [mail] = await eventually(async () => mails().length > 0 && mails())
    const link = linkIn(mail?.mail.text)
    const token = new URL(link).searchParams.get('token') ?? ''
    const visitor = createVisitor(server.baseUrl)
    const forged = { token: `${token.slice(0, -3)}abc`, answer: 'accept' }
    expect((await visitor.post('/sign-in/invitation', forged)).status).toBe(410)
    expect((await visitor.post('/sign-in/invitation', { token, answer: 'decline' })).status).toBe(200)
    await invite()
    expect((await visitor.post('/sign-in/invitation', { token, answer: 'accept' })).status).toBe(410)
    expect((await member()).status).toBe('invited')
  })

  test('is sent once a day by an organization, and three times to a person', async () => {
    for (let round = 0; round < 3; round++) {
      await invite()
      await other.delete(`${MEMBERS}/${tenant.userId}`)
    }
    await invite()
    for (let round = 0; round < 4; round++) {
      const { apiKey } = await server.createTenant()
      await server.as({ apiKey }).post(MEMBERS, { email })
    }
    const { sql } = server.database
    await eventually(
      async () => (await sql`select 1 from actor_message where key like 'invitation:%'`).length === 0,
    )
    expect(mails().length).toBe(3)
  })
})
