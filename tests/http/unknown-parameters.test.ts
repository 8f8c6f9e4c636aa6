/** No operation ignores a parameter of the query: a filter with a wrong name would answer too much, and a change would do too much. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Operation } from '../../src/http/operation.ts'
import { bodyFor, createForeignObjects, fill } from '../support/foreign-objects.ts'
import { type Answer, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

let server: TestServer
let tenant: TestTenant
let objects: Readonly<Record<string, string>>
let agentSecret: string

beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
  objects = await createForeignObjects(server, tenant)
  agentSecret = (await server.createApplication(tenant.organizationId)).agentSecret
})
afterAll(() => server?.stop())

function send(operation: Operation): Promise<Answer> {
  const path = `${fill(operation.path, (name) => objects[name] ?? '')}?unknown_parameter=1`
  const { access } = operation
  const client =
    access === 'agent'
      ? server.as({ agentSecret })
      : access === 'organization' || access === 'organizationOrUser'
        ? server.as({ apiKey: tenant.apiKey })
        : server.as({ userToken: tenant.userToken })
  if (operation.body === undefined) return client.send(operation.method, path, {})
  const body = JSON.stringify(bodyFor(operation, objects))
  return client.send(operation.method, path, { body, headers: { 'content-type': 'application/json' } })
}

test('every operation refuses a parameter that it does not know, and does nothing', async () => {
  const others: unknown[] = []
  for (const operation of server.features.operations) {
    const { status, body } = await send(operation)
    if (status !== 400 || body.code !== 'unknown_member') others.push([operation.id, status, body?.code])
  }
  expect(others).toEqual([])
})
