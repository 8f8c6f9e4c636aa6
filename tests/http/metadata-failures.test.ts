/**
 * The order of failures of metadata operations (401, 404, 403, 400, 409) for every combination of simultaneous mistakes, and the
 * isolation of organizations on every route. The operations come from the router.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Operation } from '../../src/http/operation.ts'
import { newId } from '../../src/platform/ids.ts'
import {
  canonicalSource,
  createField,
  createSource,
  createTenant,
  definitions,
  insertIntegration,
  startTestServer,
  type Tenant,
  type TestServer,
} from '../support/metadata.ts'

let server: TestServer
let tenant: Tenant
let stranger: Tenant
let operations: readonly Operation[]

interface Target {
  readonly sourceId: string
  readonly fieldId: string
}
let own: Target
let integrated: Target
/** Of the other organization. */
let foreign: Target

beforeAll(async () => {
  server = await startTestServer()
  tenant = await createTenant(server)
  stranger = await createTenant(server)
  operations = server.features.operations.filter(({ tag }) => tag === 'Metadata')
  const target = async ({ key }: Tenant) => {
    const sourceId = await createSource(key)
    return { sourceId, fieldId: await createField(key, sourceId) }
  }
  own = await target(tenant)
  foreign = await target(stranger)
  integrated = await insertIntegration(server.database.sql, tenant.organizationId)
  // Both names are taken: that of a source, and that of a field in the source which is written to.
  await createSource(tenant.key, 'taken')
  await createField(tenant.key, own.sourceId, { name: 'taken' })
})
afterAll(() => server.stop())

const fill = (path: string, target: Target) =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: keyof Target) => target[name])

const credentialsOf = (who: Tenant) => [{ apiKey: who.apiKey }, { userToken: who.userToken }]

const IN_ORDER = [401, 404, 403, 400, 409] as const
type Failure = (typeof IN_ORDER)[number]

const CODES: Record<Exclude<Failure, 404>, RegExp> = {
  401: /^unauthenticated$/,
  403: /^source_read_only$/,
  400: /^(malformed_json|validation_failed|unknown_member)$/,
  409: /^name_exists$/,
}

/** What is not found is what the path names. */
const missing = ({ path }: Operation) =>
  path.includes('{fieldId}') ? 'metadata_field_not_found' : 'metadata_source_not_found'

/** What can go wrong with each operation (specification, "Errors", column "Metadata"). */
const FAILURES: Readonly<Record<string, readonly Failure[]>> = {
  listMetadataSources: [401, 400],
  createMetadataSource: [401, 400, 409],
  getMetadataSource: [401, 404, 400],
  renameMetadataSource: [401, 404, 403, 400, 409],
  listMetadataFields: [401, 404, 400],
  createMetadataField: [401, 404, 403, 400, 409],
  getMetadataField: [401, 404, 400],
  renameMetadataField: [401, 404, 403, 400, 409],
}

/** Every set of failures but the empty one. */
function combinations(failures: readonly Failure[]): readonly (readonly Failure[])[] {
  return Array.from({ length: 2 ** failures.length - 1 }, (_, bits) =>
    failures.filter((_, index) => (bits + 1) & (1 << index)),
  )
}

const cases = Object.entries(FAILURES).flatMap(([id, failures]) =>
  combinations(failures).map((wrong) => ({ id, wrong, first: wrong[0] as Failure })),
)

/** A request that is wrong in all of these ways. */
function send(operation: Operation, wrong: readonly Failure[]) {
  const target = wrong.includes(404) ? foreign : wrong.includes(403) ? integrated : own
  const client = wrong.includes(401) ? server.as('nobody') : tenant.key
  const path = fill(operation.path, target)
  if (operation.body === undefined)
    return client.send(operation.method, wrong.includes(400) ? `${path}?limit=0` : path)
  const name = wrong.includes(409) ? 'taken' : newId()
  const member = operation.id.endsWith('Field')
    ? { name, ...(operation.method === 'POST' ? { type: 'string' } : {}) }
    : { externalEntityName: name }
  const body = JSON.stringify(member)
  const headers = { 'content-type': 'application/json' }
  return client.send(operation.method, path, {
    body: wrong.includes(400) ? body.slice(0, -1) : body,
    headers,
  })
}

describe('the order of failures', () => {
  test('is listed for every operation', () => {
    expect(operations.map(({ id }) => id).sort()).toEqual(Object.keys(FAILURES).sort())
    expect(cases.length).toBeGreaterThan(100)
  })

  test.each(cases)('$id with $wrong at once is $first', async ({ id, wrong, first }) => {
    const operation = operations.find((one) => one.id === id) as Operation
    const { sql } = server.database
    const before = await definitions(sql, tenant.organizationId)
    const answer = await send(operation, wrong)
    expect([answer.status, answer.body.statusCode]).toEqual([first, first])
    expect(answer.body.code).toMatch(first === 404 ? missing(operation) : CODES[first])
    expect(await definitions(sql, tenant.organizationId)).toEqual(before)
  })

  test.each([
    ['blank', { name: ' ', type: 'string' }],
    ['too long', { name: 'taken'.padEnd(256, 'x'), type: 'string' }],
    ['taken, with an unsupported type', { name: 'taken', type: 'number' }],
  ])('a field whose name is %s is 404 before 400 before 409', async (_, body) => {
    const path = (target: Target) => `/v3/rest/metadata/sources/${target.sourceId}/fields`
    expect((await tenant.key.post(path(foreign), body)).status).toBe(404)
    expect((await tenant.key.post(path(integrated), body)).status).toBe(403)
    expect((await tenant.key.post(path(own), body)).status).toBe(400)
  })
})

describe('every operation', () => {
  test('is 401 with WWW-Authenticate for an invalid credential, even next to a valid one', async () => {
    const bad: Record<string, string>[] = [
      {},
      { 'x-service-api-key': 'esk_wrong' },
      { authorization: 'Bearer wrong' },
      { authorization: 'Bearer wrong', 'x-service-api-key': tenant.apiKey },
      { 'x-service-agent-key': tenant.apiKey },
    ]
    for (const operation of operations)
      for (const headers of bad) {
        const path = fill(operation.path, own)
        const answer = await server.as('nobody').send(operation.method, path, { headers })
        expect([operation.id, answer.status, answer.body.code]).toEqual([
          operation.id,
          401,
          'unauthenticated',
        ])
        expect(answer.headers.get('www-authenticate')).not.toBeNull()
      }
  })

  test.each<[string, () => Target]>([
    ['malformed', () => ({ sourceId: '7', fieldId: 'not-an-id' })],
    ['unknown', () => ({ sourceId: newId(), fieldId: newId() })],
    ['of another kind', () => ({ sourceId: own.fieldId, fieldId: own.sourceId })],
    ['of another organization', () => foreign],
  ])('with an id that is %s is 404 and changes nothing', async (_, target) => {
    const { sql } = server.database
    const before = await definitions(sql, stranger.organizationId)
    for (const operation of operations.filter(({ path }) => path.includes('{')))
      for (const credential of credentialsOf(tenant)) {
        const answer = await server.as(credential).send(operation.method, fill(operation.path, target()), {
          ...(operation.body === undefined ? {} : { body: JSON.stringify(operation.example) }),
          headers: { 'content-type': 'application/json' },
        })
        expect([operation.id, answer.status]).toEqual([operation.id, 404])
        expect(answer.body.code).toMatch(missing(operation))
      }
    expect(await definitions(sql, stranger.organizationId)).toEqual(before)
  })

  test('of the owner with the same ids succeeds, ids in upper case too', async () => {
    const upper = { sourceId: foreign.sourceId.toUpperCase(), fieldId: foreign.fieldId.toUpperCase() }
    for (const target of [foreign, upper])
      for (const operation of operations.filter(({ path }) => path.includes('{'))) {
        const body = operation.id.endsWith('Source')
          ? { externalEntityName: newId() }
          : { name: newId(), ...(operation.method === 'POST' ? { type: 'json' } : {}) }
        const answer = await stranger.key.send(operation.method, fill(operation.path, target), {
          ...(operation.body === undefined ? {} : { body: JSON.stringify(body) }),
          headers: { 'content-type': 'application/json' },
        })
        expect([operation.id, answer.status]).toEqual([operation.id, operation.success.status])
      }
  })

  test('that lists shows nothing of another organization', async () => {
    const lonely = await createTenant(server)
    const { body } = await lonely.key.get('/v3/rest/metadata/sources?limit=100')
    expect(body.map((source: { externalEntityName: string }) => source.externalEntityName)).toEqual([
      'recordings',
    ])
    expect(body[0].id).not.toBe(await canonicalSource(tenant.key))
  })
})
