/** A request that would need too much work is refused, and the error says so. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server?.stop())

test('patterns that take too long to compile are 400 request_too_costly, and nothing is changed', async () => {
  const { organizationId, apiKey } = await server.createTenant()
  const { applicationId } = await server.createApplication(organizationId)
  const caller = server.as({ apiKey })
  const path = `/v3/rest/agent-applications/${applicationId}`
  const redactedPatterns = Array.from({ length: 100 }, (_, index) => `${'\\pL'.repeat(330)}${index}`)
  const answer = await caller.patch(path, { settings: { redactedPatterns } })
  expect(answer).toMatchObject({ status: 400, body: { code: 'request_too_costly' } })
  expect((await caller.get(path)).body.settings.redactedPatterns).toEqual([])
})
