/** Authentication: every request that is refused with 401 or 403, and the bodies of the refusals. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { generateKeyPair, importJWK, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { readSigningKey } from '../../src/access/identity/signing-key.ts'
import { ERRORS } from '../../src/app/error-catalogue.ts'
import { createAuthenticate } from '../../src/http/auth.ts'
import type { Access } from '../../src/http/operation.ts'
import { AppError } from '../../src/platform/errors.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { type IdentityProcess, openIdentity } from '../support/identity.ts'

let database: TestDatabase
let service: IdentityProcess
let authenticate: ReturnType<typeof createAuthenticate>
let organizationId: string
let otherOrganizationId: string
let applicationId: string
let userId: string
let nomadId: string
let strangerId: string
let apiKey: string
let revokedKey: string
let otherKey: string
let agentSecret: string
let revokedSecret: string
let token: string
let nomadToken: string
let strangerToken: string

beforeAll(async () => {
  database = await createTestDatabase()
  service = openIdentity({ databaseUrl: database.url })
  const { identity, sql } = service
  authenticate = createAuthenticate({ config: service.config, identity, countFailure: async () => ({}) })
  organizationId = (await identity.createOrganization('Acme')).id
  otherOrganizationId = (await identity.createOrganization('Other')).id
  apiKey = (await identity.createApiKey(organizationId, 'main')).apiKey
  otherKey = (await identity.createApiKey(otherOrganizationId, 'main')).apiKey
  const key = await identity.createApiKey(organizationId, 'old')
  revokedKey = key.apiKey
  await identity.revokeApiKey(organizationId, key.id)
  applicationId = crypto.randomUUID()
  await sql`
    insert into agent_application (id, organization_id, agent_key, name)
    values (${applicationId}, ${organizationId}, 'bot', 'Bot')`
  agentSecret = (await identity.createSecret(organizationId, applicationId)).agentSecret
  const secret = await identity.createSecret(organizationId, applicationId)
  revokedSecret = secret.agentSecret
  await identity.revokeSecret(organizationId, applicationId, secret.id)
  const ann = { email: 'ann@example.com', name: 'Ann', role: 'viewer' } as const
  const nomad = { email: 'nomad@example.com', name: 'Nomad', role: 'viewer' } as const
  userId = (await identity.createUser(organizationId, ann)).id
  nomadId = (await identity.createUser(organizationId, nomad)).id
  await identity.createUser(otherOrganizationId, { ...nomad, role: 'administrator' })
  strangerId = crypto.randomUUID()
  await sql`insert into app_user (id, email, name) values (${strangerId}, 'stranger@example.com', 'Stranger')`
  token = await identity.createUserToken(userId, 60)
  nomadToken = await identity.createUserToken(nomadId, 60)
  strangerToken = await identity.createUserToken(strangerId, 60)
})

afterAll(async () => {
  await service.close()
  await database.drop()
})

const call = (access: Access, headers: Record<string, string>) =>
  authenticate(new Request('http://localhost/', { headers }), { access }, () => null)

/** The code, and the status that the interface answers with it. */
async function refusal(access: Access, sent: Record<string, string>) {
  const error = await call(access, sent).catch((reason: unknown) => reason)
  if (!(error instanceof AppError)) throw new Error(`expected a refusal, got ${JSON.stringify(error)}`)
  const { code, message, headers } = error
  return { status: ERRORS.codes[code], code, message, headers }
}

const bearer = (value: string) => ({ authorization: `Bearer ${value}` })

/** A token signed with the service's own key, with claims of the test's choosing. */
async function forge(claims: JWTPayload, key?: CryptoKey): Promise<string> {
  const own = await readSigningKey(service.config)
  return new SignJWT({ sub: userId, iss: 'earshot', aud: 'earshot-api', exp: 4_000_000_000, ...claims })
    .setProtectedHeader({ alg: 'EdDSA' })
    .sign(key ?? (await importJWK(own ?? {}, 'EdDSA')))
}

describe('an agent secret', () => {
  test('authorises ingestion for its application', async () => {
    expect(await call('agent', { 'x-service-agent-key': agentSecret })).toMatchObject({
      kind: 'agent',
      organizationId,
      applicationId,
    })
  })

  const rows: readonly (readonly [string, () => Record<string, string>])[] = [
    ['missing', () => ({})],
    ['empty', () => ({ 'x-service-agent-key': '' })],
    ['malformed', () => ({ 'x-service-agent-key': 'nonsense' })],
    ['unknown', () => ({ 'x-service-agent-key': `eas_${'0'.repeat(43)}` })],
    ['revoked', () => ({ 'x-service-agent-key': revokedSecret })],
    ['in another case', () => ({ 'x-service-agent-key': agentSecret.toUpperCase() })],
    ['replaced by the API key', () => ({ 'x-service-api-key': apiKey })],
    ['replaced by the API key in its own header', () => ({ 'x-service-agent-key': apiKey })],
    ['replaced by a user token', () => bearer(token)],
    ['sent as a Bearer', () => bearer(agentSecret)],
  ]
  test.each(rows)('%s is 401 invalid_agent_secret', async (_name, headers) => {
    const error = await refusal('agent', headers())
    expect(error).toMatchObject({ status: 401, code: 'invalid_agent_secret' })
    expect(error.headers['www-authenticate']).toContain('X-Service-Agent-Key')
  })
})

describe('an organization API key', () => {
  test('authorises the operations of an organization', async () => {
    const principal = { kind: 'organization', organizationId }
    expect(await call('organization', { 'x-service-api-key': apiKey })).toMatchObject(principal)
    expect(await call('organizationOrUser', { 'x-service-api-key': apiKey })).toMatchObject(principal)
  })

  const rows: readonly (readonly [string, () => Record<string, string>])[] = [
    ['missing', () => ({})],
    ['empty', () => ({ 'x-service-api-key': '' })],
    ['malformed', () => ({ 'x-service-api-key': 'esk_short' })],
    ['unknown', () => ({ 'x-service-api-key': `esk_${'0'.repeat(43)}` })],
    ['revoked', () => ({ 'x-service-api-key': revokedKey })],
    ['replaced by an agent secret', () => ({ 'x-service-api-key': agentSecret })],
    ['sent as a Bearer', () => bearer(apiKey)],
  ]
  test.each(rows)('%s is 401 unauthenticated', async (_name, headers) => {
    for (const access of ['organization', 'user', 'organizationOrUser'] as const) {
      const error = await refusal(access, headers())
      expect(error).toMatchObject({ status: 401, code: 'unauthenticated' })
      expect(error.headers['www-authenticate']).toBeString()
    }
  })

  test('is required for organization-only operations: a valid token alone is 401', async () => {
    expect(await refusal('organization', bearer(token))).toMatchObject({ code: 'unauthenticated' })
  })

  test('alone is 403 for operations that require a user', async () => {
    expect(await refusal('user', { 'x-service-api-key': apiKey })).toMatchObject({
      status: 403,
      code: 'user_required',
    })
  })
})

describe('a user token', () => {
  test('authorises the operations of a user', async () => {
    const principal = { kind: 'user', organizationId, userId, role: 'viewer' }
    expect(await call('user', bearer(token))).toEqual(principal as never)
    expect(await call('organizationOrUser', bearer(token))).toEqual(principal as never)
  })

  test('is accepted in any case of the scheme name (RFC 6750)', async () => {
    expect(await call('user', { authorization: `bEARER  ${token}` })).toMatchObject({ userId })
  })

  test('together with a valid key acts for the user', async () => {
    expect(await call('organizationOrUser', { 'x-service-api-key': apiKey, ...bearer(token) })).toMatchObject(
      {
        kind: 'user',
        userId,
      },
    )
  })

  const rows: readonly (readonly [string, () => Promise<Record<string, string>>])[] = [
    ['missing', async () => ({})],
    ['without a scheme', async () => ({ authorization: token })],
    ['under another scheme', async () => ({ authorization: `Basic ${token}` })],
    ['without a token', async () => ({ authorization: 'Bearer ' })],
    ['in two parts', async () => ({ authorization: `Bearer ${token} ${token}` })],
    ['that is no JWT', async () => bearer('nonsense')],
    ['with three parts of nonsense', async () => bearer('a.b.c')],
    ['expired', async () => bearer(await forge({ exp: 1_000_000_000 }))],
    ['not yet valid', async () => bearer(await forge({ nbf: 4_000_000_000 }))],
    ['without expiry', async () => bearer(await forge({ exp: undefined }))],
    ['without subject', async () => bearer(await forge({ sub: undefined }))],
    ['with a subject that is no id', async () => bearer(await forge({ sub: 'ann' }))],
    ['about nobody', async () => bearer(await forge({ sub: crypto.randomUUID() }))],
    ['for another audience', async () => bearer(await forge({ aud: 'somebody-else' }))],
    ['of another issuer', async () => bearer(await forge({ iss: 'https://elsewhere.example' }))],
    [
      'signed with another key',
      async () => bearer(await forge({}, (await generateKeyPair('EdDSA', { crv: 'Ed25519' })).privateKey)),
    ],
    ['with its signature cut off', async () => bearer(token.replace(/[^.]+$/, ''))],
    [
      'with alg none',
      async () =>
        bearer(new UnsecuredJWT({ sub: userId, iss: 'earshot', aud: 'earshot-api', exp: 4e9 }).encode()),
    ],
    ['with the public key as HMAC secret', async () => bearer(await confused())],
    ['with changed claims', async () => bearer(await tampered())],
    ['of a user in no organization', async () => bearer(strangerToken)],
    ['of a user in several organizations who names none', async () => bearer(nomadToken)],
    [
      'of a user who names a foreign organization',
      async () => ({ ...bearer(token), 'x-service-organization-key': otherOrganizationId }),
    ],
    [
      'of a user who names no organization id',
      async () => ({ ...bearer(token), 'x-service-organization-key': 'Acme' }),
    ],
    [
      'of another organization than the key beside it',
      async () => ({ ...bearer(token), 'x-service-api-key': otherKey }),
    ],
  ]
  test.each(rows)('%s is 401 unauthenticated', async (_name, headers) => {
    const error = await refusal('user', await headers())
    expect(error).toMatchObject({ status: 401, code: 'unauthenticated' })
    expect(error.headers['www-authenticate']).toStartWith('Bearer realm="earshot"')
  })

  test.each(rows.slice(1))(
    '%s together with a valid key is 401; the key alone does not count',
    async (_name, headers) => {
      for (const access of ['organization', 'organizationOrUser', 'user'] as const) {
        const sent = { 'x-service-api-key': apiKey, ...(await headers()) }
        expect(await refusal(access, sent)).toMatchObject({ status: 401, code: 'unauthenticated' })
      }
    },
  )

  test('together with an invalid key is 401', async () => {
    const sent = { 'x-service-api-key': revokedKey, ...bearer(token) }
    for (const access of ['organization', 'organizationOrUser', 'user'] as const)
      expect(await refusal(access, sent)).toMatchObject({ status: 401, code: 'unauthenticated' })
  })

  test('of a user in several organizations acts in the organization that the request names, with the role there', async () => {
    for (const id of [organizationId, otherOrganizationId, otherOrganizationId.toUpperCase()]) {
      const sent = { ...bearer(nomadToken), 'x-service-organization-key': id }
      expect(await call('user', sent)).toEqual({
        kind: 'user',
        organizationId: id.toLowerCase(),
        userId: nomadId,
        role: id === organizationId ? 'viewer' : 'administrator',
      })
    }
    expect((await refusal('user', bearer(nomadToken))).message).toContain('X-Service-Organization-Key')
  })

  test('that is refused gets WWW-Authenticate (RFC 6750 section 3)', async () => {
    const sent = bearer(await forge({ exp: 1_000_000_000 }))
    expect((await refusal('user', sent)).headers['www-authenticate']).toBe(
      'Bearer realm="earshot", error="invalid_token", error_description="The access token has expired."',
    )
    expect((await refusal('user', {})).headers['www-authenticate']).toBe('Bearer realm="earshot"')
  })
})

test('public operations need no credential and ignore any', async () => {
  expect(await call('public', { ...bearer('nonsense'), 'x-service-api-key': 'nonsense' })).toBeNull()
})

test('a refusal repeats no credential', async () => {
  const sent = { 'x-service-api-key': revokedKey, ...bearer('nonsense') }
  for (const access of ['organization', 'user', 'agent'] as const) {
    const { message, headers } = await refusal(access, sent)
    expect(JSON.stringify({ message, headers })).not.toMatch(/nonsense|esk_/)
  }
})

/** RFC 8725 section 2.1: an asymmetric public key taken for the secret of a symmetric algorithm. */
async function confused(): Promise<string> {
  const { x } = (await readSigningKey(service.config)) ?? {}
  return new SignJWT({ sub: userId, iss: 'earshot', aud: 'earshot-api', exp: 4_000_000_000 })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(Buffer.from(String(x), 'base64url'))
}

async function tampered(): Promise<string> {
  const [header, , signature] = token.split('.')
  const claims = { sub: nomadId, iss: 'earshot', aud: 'earshot-api', exp: 4_000_000_000 }
  return [header, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.')
}

test('each forged token fails only because of its forgery: the unmodified token is accepted', async () => {
  expect(await call('user', bearer(await forge({})))).toMatchObject({ userId })
})
