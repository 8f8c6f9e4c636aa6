/** Tokens of an OpenID Connect issuer, whose key set is served by a real HTTP server. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { createMembers } from '../../src/access/identity/members.ts'
import { ERRORS } from '../../src/app/error-catalogue.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { type IdentityProcess, openIdentity } from '../support/identity.ts'
import { startTestServer } from '../support/server.ts'

const ISSUER = 'https://login.example.com'
const AUDIENCE = 'earshot'

let database: TestDatabase
let service: IdentityProcess
let keyServer: Bun.Server<undefined>
let keySet: { keys: object[] }
let failing = false
let organizationId: string
let userId: string
let rsa: CryptoKeyPair
let elliptic: CryptoKeyPair

beforeAll(async () => {
  database = await createTestDatabase()
  rsa = await generateKeyPair('RS256', { extractable: true })
  elliptic = await generateKeyPair('ES256', { extractable: true })
  keySet = {
    keys: [
      { ...(await exportJWK(rsa.publicKey)), kid: 'rsa', alg: 'RS256', use: 'sig' },
      { ...(await exportJWK(elliptic.publicKey)), kid: 'ec', alg: 'ES256', use: 'sig' },
    ],
  }
  keyServer = Bun.serve({
    port: 0,
    fetch: () => (failing ? new Response('sorry', { status: 500 }) : Response.json(keySet)),
  })
  service = open(`http://127.0.0.1:${keyServer.port}/jwks`)
  organizationId = (await service.identity.createOrganization('Acme')).id
  const ann = { email: 'Ann@Example.com', name: 'Ann' }
  userId = (await service.identity.createUser(organizationId, ann)).id
})

afterAll(async () => {
  await service.close()
  await keyServer.stop(true)
  await database.drop()
})

function open(jwksUrl: string): IdentityProcess {
  return openIdentity({
    databaseUrl: database.url,
    env: { OIDC_ISSUER: ISSUER, OIDC_AUDIENCE: AUDIENCE, OIDC_JWKS_URL: jwksUrl },
  })
}

function token(claims: JWTPayload, key = rsa.privateKey, header = { alg: 'RS256', kid: 'rsa' }) {
  const now = Math.floor(Date.now() / 1000)
  return new SignJWT({
    sub: 'auth0|123',
    email: 'ann@example.com',
    iss: ISSUER,
    aud: AUDIENCE,
    exp: now + 60,
    ...claims,
  })
    .setProtectedHeader(header)
    .sign(key)
}

describe('a token of the issuer', () => {
  const good: readonly (readonly [string, JWTPayload])[] = [
    ['is about the user with its e-mail address, whatever the case', {}],
    ['may say that the address is verified', { email_verified: true }],
    ['may be for several audiences', { aud: ['other', AUDIENCE] }],
    ['may name the issuer with a slash at its end', { iss: `${ISSUER}/` }],
  ]
  test.each(good)('%s', async (_name, claims) => {
    expect(await service.identity.byToken(await token(claims), null)).toEqual({
      kind: 'user',
      organizationId,
      userId,
      role: 'analyst',
    })
  })

  test('may be signed with any key of the set', async () => {
    const signed = await token({}, elliptic.privateKey, { alg: 'ES256', kid: 'ec' })
    expect(await service.identity.byToken(signed, organizationId)).toMatchObject({ userId })
  })

  const bad: readonly (readonly [string, JWTPayload])[] = [
    ['of another issuer', { iss: 'https://login.example.com.evil.example' }],
    ['for another audience', { aud: 'other' }],
    ['without audience', { aud: undefined }],
    ['that expired a minute ago', { exp: Math.floor(Date.now() / 1000) - 60 }],
    ['without expiry', { exp: undefined }],
    ['without e-mail address', { email: undefined }],
    ['with an address that is not verified', { email_verified: false }],
    ['about somebody who is not known here', { email: 'bob@example.com' }],
    ['with a list for an address', { email: ['ann@example.com'] }],
  ]
  test.each(bad)('%s is refused', async (_name, claims) => {
    expect(await service.identity.byToken(await token(claims), null)).toHaveProperty('refused')
  })

  test('signed with a key that is not in the set is refused', async () => {
    const { privateKey } = await generateKeyPair('RS256')
    expect(await service.identity.byToken(await token({}, privateKey), null)).toHaveProperty('refused')
    const unknown = await token({}, privateKey, { alg: 'RS256', kid: 'nobody' })
    expect(await service.identity.byToken(unknown, null)).toHaveProperty('refused')
  })

  test('signed with a symmetric algorithm is refused', async () => {
    const secret = await crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, true, ['sign'])
    const signed = await token({}, secret as CryptoKey, { alg: 'HS256', kid: 'rsa' })
    expect(await service.identity.byToken(signed, null)).toHaveProperty('refused')
  })
})

describe('a token of the issuer about a user', () => {
  const seconds = () => Math.floor(Date.now() / 1000)
  const join = (email: string) => service.identity.createUser(organizationId, { email, name: 'Ben' })

  test('who was removed is refused, regardless of its issue time', async () => {
    const { id } = await join('ben@example.com')
    const [older, newer] = await Promise.all(
      [seconds() - 30, seconds() + 30].map((iat) => token({ email: 'ben@example.com', iat })),
    )
    expect(await service.identity.byToken(older as string, null)).toMatchObject({ userId: id })
    const privateContent = { count: async () => ({ folders: 0, recordings: 0 }), handOver: async () => {} }
    const members = createMembers({ ...service, log: createLog('silent', 'test'), privateContent })
    await members.remove(organizationId, id)
    for (const one of [older, newer])
      expect(await service.identity.byToken(one as string, null)).toHaveProperty('refused')
    await join('ben@example.com')
    expect(await service.identity.byToken(older as string, null)).toHaveProperty('refused')
    expect(await service.identity.byToken(newer as string, null)).toMatchObject({ userId: id })
  })

  test('whose tokens were revoked is refused if issued before, or without an issue time', async () => {
    const { id } = await join('cem@example.com')
    const [older, newer, silent] = await Promise.all(
      [seconds() - 30, seconds() + 30, undefined].map((iat) => token({ email: 'cem@example.com', iat })),
    )
    expect(await service.identity.byToken(silent as string, null)).toMatchObject({ userId: id })
    await service.identity.revokeUserTokensOf(id)
    expect(await service.identity.byToken(newer as string, null)).toMatchObject({ userId: id })
    for (const one of [older, silent])
      expect(await service.identity.byToken(one as string, null)).toHaveProperty('refused')
  })
})

test('unreadable issuer keys are 503, not an error of the caller', async () => {
  expect(ERRORS.codes.unavailable).toBe(503)
  failing = true
  const unreachable = open(`http://127.0.0.1:${keyServer.port}/jwks`)
  await expect(unreachable.identity.byToken(await token({}), null)).rejects.toMatchObject({
    code: 'unavailable',
  })
  failing = false
  expect(await unreachable.identity.byToken(await token({}), null)).toMatchObject({ userId })
  await unreachable.close()
  const gone = open('http://127.0.0.1:1/jwks')
  await expect(gone.identity.byToken(await token({}), null)).rejects.toMatchObject({ code: 'unavailable' })
  await gone.close()
})

test('with an issuer configured the service signs no tokens', async () => {
  await expect(service.identity.createUserToken(userId, 60)).rejects.toThrow('OIDC_ISSUER')
  await expect(service.identity.createMemberToken(organizationId, { userId })).rejects.toMatchObject({
    code: 'external_token_issuer',
  })
})

test('and asking for one is 409 external_token_issuer', async () => {
  const server = await startTestServer({
    env: { OIDC_ISSUER: ISSUER, OIDC_AUDIENCE: AUDIENCE, OIDC_JWKS_URL: `${ISSUER}/keys` },
  })
  try {
    const { identity } = server.features
    const { id } = await identity.createOrganization('with an issuer')
    const { apiKey } = await identity.createApiKey(id, 'test')
    const member = await identity.createUser(id, { email: 'ada@example.com', name: 'Ada' })
    const answer = await server.as({ apiKey }).post('/v3/rest/user-tokens', { userId: member.id })
    expect(answer).toMatchObject({ status: 409, body: { code: 'external_token_issuer' } })
  } finally {
    await server.stop()
  }
})
