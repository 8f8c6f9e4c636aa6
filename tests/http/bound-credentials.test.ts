/**
 * A token that is bound to an organization acts in that organization only. Its user is an administrator of two; every operation of the
 * document, every tool and the event stream are tried with it. A new operation is covered automatically, or fails here until its ids are
 * known and its access has an expectation.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Access, Operation } from '../../src/http/operation.ts'
import { newId } from '../../src/platform/ids.ts'
import { bodyFor, createForeignObjects, fill, holdingsOf } from '../support/foreign-objects.ts'
import { type Answer, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

let server: TestServer
let operations: readonly Operation[]
/** The organization that issues the token, and the one that it must not reach. */
let issuer: TestTenant
let victim: TestTenant
/** Path parameters that name objects of the victim. */
let foreign: Readonly<Record<string, string>>
/** Of the victim's user, bound to the issuer. */
let bound: string

const ORGANIZATION = 'x-service-organization-key'
const JSON_TYPE = { 'content-type': 'application/json' }
const NO_END = 'stream'

beforeAll(async () => {
  server = await startTestServer()
  operations = server.features.operations
  issuer = await server.createTenant()
  victim = await server.createTenant()
  foreign = await createForeignObjects(server, victim)
  const { identity } = server.features
  const email = (await identity.findUserAnywhere(victim.userId))?.email ?? ''
  await identity.createUser(issuer.organizationId, { email, name: 'Both', role: 'administrator' })
  const input = { userId: victim.userId }
  bound = (await server.as({ apiKey: issuer.apiKey }).post('/v3/rest/user-tokens', input)).body.token
})
afterAll(() => server?.stop())

function send(operation: Operation, headers: Record<string, string> = {}, query = ''): Promise<Answer> {
  const path = `${fill(operation.path, (name) => foreign[name] ?? '')}${query}`
  const client = server.as({ userToken: bound })
  if (operation.body === undefined) return client.send(operation.method, path, { headers })
  const body = JSON.stringify(bodyFor(operation, foreign))
  return client.send(operation.method, path, { body, headers: { ...JSON_TYPE, ...headers } })
}

/** Of the other organization and of the person: everything that the token must leave alone. */
async function untouched() {
  const { sql } = server.database
  const { userId } = victim
  return [
    await holdingsOf(server, victim.organizationId),
    await sql`select * from app_user where id = ${userId}`,
    await sql`select id, revoked_at from user_session where user_id = ${userId} order by id`,
    await sql`select * from invitation where user_id = ${userId}`,
    await sql`select id, revoked_at from user_token where user_id = ${userId} and organization_id is null order by id`,
    await sql`select count(*) from oauth_record`,
  ]
}

/** Ids of the other organization's objects and of what belongs to the person; short numbers also occur by chance. */
const secrets = () => [
  victim.organizationId,
  ...Object.values(foreign).filter((value) => value.length === 36),
]

/** What an operation answers to the token: without a choice of the organization, and with the other one. */
const EXPECTED: Readonly<
  Record<Access, { readonly alone: number | null; readonly elsewhere: number | null }>
> = {
  public: { alone: null, elsewhere: null },
  agent: { alone: 401, elsewhere: 401 },
  organization: { alone: 401, elsewhere: 401 },
  person: { alone: 403, elsewhere: 403 },
  user: { alone: null, elsewhere: 401 },
  organizationOrUser: { alone: null, elsewhere: 401 },
}

describe('a token that is bound to an organization', () => {
  test('is tried with every operation of the document', async () => {
    const { paths } = (await server.as('nobody').get('/openapi.json')).body
    const documented = Object.entries(paths as Record<string, Record<string, { operationId?: string }>>)
      .flatMap(([, methods]) => Object.values(methods).map(({ operationId }) => operationId))
      .filter((id) => id !== undefined)
    const declared = new Set([...operations, ...server.features.website].map(({ id }) => id))
    expect(documented.length).toBeGreaterThan(130)
    expect(documented.filter((id) => !declared.has(id))).toEqual([])
    const names = new Set(operations.flatMap(({ path }) => path.match(/(?<=\{)\w+(?=\})/g) ?? []))
    expect([...names].filter((name) => !(name in foreign))).toEqual([])
  })

  test('opens no operation in the other organization, and none on the person', async () => {
    const before = await untouched()
    for (const operation of operations) {
      const { elsewhere } = EXPECTED[operation.access]
      const answer = await send(operation, { [ORGANIZATION]: victim.organizationId })
      if (elsewhere !== null) expect([operation.id, answer.status]).toEqual([operation.id, elsewhere])
      if (operation.access === 'person') expect(answer.body.code).toBe('unbound_credential_required')
    }
    expect(await untouched()).toEqual(before)
  })

  test('shows and changes nothing of the other organization and of the person', async () => {
    const before = await untouched()
    for (const operation of operations.filter(({ id }) => id !== NO_END)) {
      const answer = await send(operation)
      const { alone } = EXPECTED[operation.access]
      if (alone !== null) expect([operation.id, answer.status]).toEqual([operation.id, alone])
      expect([operation.id, answer.status === 500]).toEqual([operation.id, false])
      const shown = JSON.stringify(answer.status < 400 ? answer.body : [])
      expect([operation.id, secrets().filter((value) => shown?.includes(value))]).toEqual([operation.id, []])
    }
    expect(await untouched()).toEqual(before)
  })

  test('does not become another one’s beside the key of the other organization', async () => {
    const headers = { 'x-service-api-key': victim.apiKey }
    for (const operation of operations.filter(({ access }) => access === 'organizationOrUser'))
      expect([operation.id, (await send(operation, headers)).status]).toEqual([operation.id, 401])
  })

  test('opens the event stream of its organization only', async () => {
    const stream = operations.filter(({ organizationInQuery }) => organizationInQuery === true)
    expect(stream.map(({ id }) => id)).toEqual([NO_END])
    for (const operation of stream) {
      const answer = await send(operation, {}, `?organization=${victim.organizationId}`)
      expect(answer.status).toBe(401)
    }
    const own = await server.as({ userToken: bound }).send('HEAD', '/v3/rest/stream')
    expect(own.status).toBe(200)
  })

  test('reaches nothing of the other organization by any tool', async () => {
    const call = async (method: string, params: object, headers: Record<string, string> = {}) => {
      const response = await fetch(`${server.baseUrl}/mcp`, {
        method: 'POST',
        headers: {
          ...JSON_TYPE,
          ...headers,
          authorization: `Bearer ${bound}`,
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      })
      return { status: response.status, text: await response.text() }
    }
    const elsewhere = { [ORGANIZATION]: victim.organizationId }
    expect((await call('tools/list', {}, elsewhere)).status).toBe(401)
    const { tools } = JSON.parse((await call('tools/list', {})).text).result
    expect(tools.length).toBeGreaterThan(5)
    const before = await untouched()
    for (const { name } of tools as readonly { readonly name: string }[]) {
      expect((await call('tools/call', { name, arguments: {} }, elsewhere)).status).toBe(401)
      const given = { ...foreign, sessionId: foreign.codingSessionId, resourceType: 'project', query: 'bad' }
      for (const args of [
        given,
        pick(given, 'publicId'),
        pick(given, 'personId'),
        pick(given, 'query'),
        {},
      ]) {
        const { text } = await call('tools/call', { name, arguments: { ...args, userApproved: true } })
        expect([name, secrets().filter((value) => withoutErrors(text).includes(value))]).toEqual([name, []])
      }
    }
    expect(await untouched()).toEqual(before)
  })

  test('of an OAuth client opens no operation on the person either', async () => {
    const { oauthRecords } = server.features.identity
    const [token, grantId] = [newId(), newId()]
    const payload = { accountId: victim.userId, grantId, aud: `${server.baseUrl}/mcp`, scope: 'tools:read' }
    await oauthRecords.upsert('Grant', grantId, payload, 600)
    await oauthRecords.upsert('AccessToken', token, payload, 600)
    const client = server.as({ userToken: token })
    for (const { method, path } of operations.filter(({ access }) => access === 'person'))
      expect(
        (
          await client.send(
            method,
            fill(path, (name) => foreign[name] ?? ''),
          )
        ).status,
      ).toBe(401)
  })
})

const pick = (values: Record<string, unknown>, name: string) => ({ [name]: values[name] })

/** A refusal repeats the ids that were asked for. */
const withoutErrors = (text: string) => (text.includes('"isError":true') ? '' : text)
