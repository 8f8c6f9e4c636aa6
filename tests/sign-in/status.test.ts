/** How people sign in, as administrators see it: what the operator has configured, and no secret. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

const PATH = '/v3/rest/sign-in'
const SECRET = 'secret-of-the-client'

let plain: TestServer
let company: TestServer
let tenant: TestTenant
let other: TestTenant
beforeAll(async () => {
  plain = await startTestServer()
  tenant = await plain.createTenant()
  other = await plain.createTenant()
  company = await startTestServer({
    beside: plain,
    env: {
      PUBLIC_BASE_URL: 'https://earshot.example',
      SMTP_URL: 'smtp://user:secret-of-mail@127.0.0.1:2525',
      MAIL_FROM: 'earshot@example.com',
      OIDC_ISSUER: 'https://login.example.com',
      OIDC_CLIENT_ID: 'earshot',
      OIDC_CLIENT_SECRET: SECRET,
      OIDC_ALLOWED_DOMAINS: 'example.com, example.org',
      OIDC_ORGANIZATION: tenant.organizationId,
    },
  })
})
afterAll(async () => {
  await company?.stop()
  await plain?.stop()
})

test('without settings: mail into the folder at this machine, no provider', async () => {
  const { body } = await plain.as({ userToken: tenant.userToken }).get(PATH)
  expect(body).toEqual({ mail: 'folder', openId: null, tokenIssuer: null })
})

test('with settings: SMTP and the provider, and no secret', async () => {
  const { body } = await company.as({ apiKey: tenant.apiKey }).get(PATH)
  expect(body).toEqual({
    mail: 'smtp',
    openId: { issuer: 'https://login.example.com', newUserDomains: ['example.com', 'example.org'] },
    tokenIssuer: null,
  })
  expect(JSON.stringify(body)).not.toContain('secret')
})

test('the domains are shown to their organization only', async () => {
  const { body } = await company.as({ apiKey: other.apiKey }).get(PATH)
  expect(body.openId).toEqual({ issuer: 'https://login.example.com', newUserDomains: [] })
})

test('viewers do not see it', async () => {
  const { userToken } = await plain.createUser(tenant.organizationId, 'viewer')
  expect(await plain.as({ userToken }).get(PATH)).toMatchObject({
    status: 403,
    body: { code: 'role_required' },
  })
})
