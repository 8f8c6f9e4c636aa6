/**
 * Every operation of the OpenAPI document with every kind of credential: who gets in, who is refused, and how. What the
 * document declares is what docs/administration.md shows and what the service does.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ROLES, type Role } from '../../src/kernel/roles.rules.ts'
import { newId } from '../../src/platform/ids.ts'
import { type Credential, credentialHeaders, startTestServer, type TestServer } from '../support/server.ts'

interface Documented {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly hasBody: boolean
  /** Names of security schemes. None: public. */
  readonly schemes: readonly string[]
  readonly role: Role | undefined
}

/** `passed` means that neither authentication nor the role refused the request. */
type Outcome =
  | 'passed'
  | 'unauthenticated'
  | 'invalid_agent_secret'
  | 'user_required'
  | `role_required ${Role}`

let server: TestServer
let documented: readonly Documented[]
let callers: Readonly<
  Record<'viewer' | 'analyst' | 'administrator' | 'key' | 'agent' | 'foreignAdministrator', Credential>
>
let organizationId: string

beforeAll(async () => {
  server = await startTestServer()
  const own = await server.createTenant()
  const foreign = await server.createTenant()
  organizationId = own.organizationId
  const token = async (role: Role) => ({
    userToken: (await server.createUser(own.organizationId, role)).userToken,
  })
  callers = {
    viewer: await token('viewer'),
    analyst: await token('analyst'),
    administrator: await token('administrator'),
    key: { apiKey: own.apiKey },
    agent: { agentSecret: (await server.createApplication(own.organizationId)).agentSecret },
    foreignAdministrator: { userToken: foreign.userToken },
  }
  documented = restOperations((await server.as('nobody').get('/openapi.json')).body)
})
afterAll(() => server?.stop())

// biome-ignore lint/suspicious/noExplicitAny: the document is what is being judged here
function restOperations({ paths }: any): readonly Documented[] {
  // biome-ignore lint/suspicious/noExplicitAny: as above
  return Object.entries<any>(paths)
    .filter(([path]) => path.startsWith('/v3/rest/'))
    .flatMap(([path, item]) =>
      // biome-ignore lint/suspicious/noExplicitAny: as above
      Object.entries<any>(item).map(([method, operation]) => ({
        id: operation.operationId,
        method: method.toUpperCase(),
        path,
        hasBody: operation.requestBody !== undefined,
        schemes: (operation.security ?? []).flatMap((one: object) => Object.keys(one)),
        role: operation['x-required-role'],
      })),
    )
}

/** Sends a request that no operation carries out: ids are unknown, the body and the query have the wrong shape. */
async function outcome(
  { method, path, hasBody }: Documented,
  credential: Credential,
  more: Record<string, string> = {},
): Promise<Outcome> {
  const address = `${path.replaceAll(/\{\w+\}/g, () => newId())}?not-a-parameter=1`
  const headers = { 'content-type': 'application/json', ...credentialHeaders(credential), ...more }
  const response = await fetch(`${server.baseUrl}${address}`, {
    method,
    headers,
    ...(hasBody ? { body: '"not an object"' } : {}),
  })
  if (response.status !== 401 && response.status !== 403) return 'passed'
  const { code, requiredRole } = (await response.json()) as { code: string; requiredRole?: string }
  return (requiredRole === undefined ? code : `${code} ${requiredRole}`) as Outcome
}

/** What every user may do, whatever organization they name: see tests/http/bound-credentials.test.ts. */
const ON_PERSON = [
  'getSession',
  'signOut',
  'acceptInvitation',
  'declineInvitation',
  'listSessions',
  'endSession',
]

function expected({ id, schemes, role }: Documented, caller: keyof typeof callers | 'nobody'): Outcome {
  if (schemes.length === 0) return 'passed'
  if (schemes.includes('agentSecret')) return caller === 'agent' ? 'passed' : 'invalid_agent_secret'
  const takesUsers = schemes.includes('userToken')
  if (caller === 'key') return schemes.includes('apiKey') ? 'passed' : 'user_required'
  if (caller === 'nobody' || caller === 'agent' || !takesUsers) return 'unauthenticated'
  if (ON_PERSON.includes(id)) return 'passed'
  if (caller === 'foreignAdministrator') return 'unauthenticated'
  const needed = role ?? 'administrator'
  return ROLES.indexOf(caller) >= ROLES.indexOf(needed) ? 'passed' : `role_required ${needed}`
}

async function outcomes(
  credential: Credential,
  more: Record<string, string> = {},
): Promise<Record<string, Outcome>> {
  const found: Record<string, Outcome> = {}
  for (const operation of documented) found[operation.id] = await outcome(operation, credential, more)
  return found
}

const table = (caller: keyof typeof callers | 'nobody') =>
  Object.fromEntries(documented.map((operation) => [operation.id, expected(operation, caller)]))

describe('every operation', () => {
  test('declares a role if and only if it accepts users', () => {
    expect(documented.length).toBeGreaterThan(60)
    const wrong = documented.filter(
      ({ id, schemes, role }) =>
        (schemes.includes('userToken') && !ON_PERSON.includes(id)) !==
        (role !== undefined && ROLES.includes(role)),
    )
    expect(wrong.map(({ id }) => id)).toEqual([])
    const declared = new Map(server.features.operations.map(({ id, role }) => [id, role]))
    expect(documented.map(({ id, role }) => [id, role])).toEqual(
      documented.map(({ id }) => [id, declared.get(id)]),
    )
  })

  test('that changes something needs more than a viewer', () => {
    const writes = documented.filter(({ method, role }) => method !== 'GET' && role === 'viewer')
    // A question changes nothing. Everybody chooses their own mails.
    expect(writes.map(({ id }) => id).toSorted()).toEqual(['ask', 'updateSelf'])
    const onPerson = server.features.operations.filter(({ access }) => access === 'person')
    expect(onPerson.map(({ id }) => id)).toEqual(ON_PERSON)
  })

  test.each(['viewer', 'analyst', 'administrator', 'key', 'agent'] as const)(
    'answers %s as it declares',
    async (caller) => {
      expect(await outcomes(callers[caller])).toEqual(table(caller))
    },
  )

  test('answers 401 without a credential', async () => {
    expect(await outcomes('nobody')).toEqual(table('nobody'))
  })

  test('is 401 for the administrator of another organization who names this one', async () => {
    const headers = { 'x-service-organization-key': organizationId }
    expect(await outcomes(callers.foreignAdministrator, headers)).toEqual(table('foreignAdministrator'))
  })

  test('takes the role of the organization that the request names', async () => {
    const other = await server.createTenant()
    const { userId, userToken } = await server.createUser(other.organizationId, 'administrator')
    const [user] = await server.database.sql<
      { email: string }[]
    >`select email from app_user where id = ${userId}`
    const { identity } = server.features
    await identity.createUser(organizationId, { email: user?.email ?? '', name: 'x', role: 'viewer' })
    const here = { 'x-service-organization-key': organizationId }
    expect(await outcomes({ userToken }, here)).toEqual(table('viewer'))
    const there = { 'x-service-organization-key': other.organizationId }
    expect(await outcomes({ userToken }, there)).toEqual(table('administrator'))
  })
})

test('a refusal names the needed role in code, member and message', async () => {
  const answer = await server.as(callers.viewer).post('/v3/rest/folders', { name: 'x' })
  expect(answer).toMatchObject({
    status: 403,
    body: {
      code: 'role_required',
      requiredRole: 'analyst',
      message: expect.stringContaining('role analyst'),
    },
  })
})

test('the key beside the token does not lift the role of the user', async () => {
  const { apiKey } = callers.key as { apiKey: string }
  const answer = await server
    .as(callers.viewer)
    .post('/v3/rest/folders', { name: 'x' }, { 'x-service-api-key': apiKey })
  expect(answer).toMatchObject({ status: 403, body: { code: 'role_required' } })
})

test('a member of the versions before roles is an administrator', async () => {
  const { userId, userToken } = await server.createUser(organizationId, 'viewer')
  const { sql } = server.database
  await sql`delete from membership where user_id = ${userId}`
  await sql`insert into membership (organization_id, user_id) values (${organizationId}, ${userId})`
  expect((await server.as({ userToken }).get('/v3/rest/members')).status).toBe(200)
})
