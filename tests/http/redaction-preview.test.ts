/** Redaction rules are tried before an application gets them: bounded, and as ingestion would redact. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

const PATH = '/v3/rest/redaction/preview'

let server: TestServer
let administrator: Client
let organizationId: string
beforeAll(async () => {
  server = await startTestServer()
  const tenant = await server.createTenant()
  organizationId = tenant.organizationId
  administrator = server.as({ userToken: tenant.userToken })
})
afterAll(() => server?.stop())

test('redaction rules are tried with a text, and nothing is stored', async () => {
  const rules = { redactedFields: ['Password'], redactedPatterns: ['[0-9]{4}( [0-9]{4}){3}'] }
  const text = 'Card 4111 1111 1111 1111, {"password": "hunter2", "city": "Paris"}'
  const answer = await administrator.post(PATH, { ...rules, text })
  expect(answer).toMatchObject({
    status: 200,
    body: { text: 'Card [redacted], {"password": "[redacted]", "city": "Paris"}' },
  })
  expect((await administrator.post(PATH, { text })).body).toEqual({ text })
  expect((await administrator.get('/v3/rest/audit')).body.data).toEqual([])
})

test('a bad pattern is 400 with its place; so are a long text and an unknown member', async () => {
  const bad = await administrator.post(PATH, { redactedPatterns: ['ok', '('], text: 'x' })
  expect(bad).toMatchObject({
    status: 400,
    body: { code: 'validation_failed', details: [{ path: 'redactedPatterns[1]', code: 'pattern' }] },
  })
  expect((await administrator.post(PATH, { text: 'x'.repeat(20_001) })).status).toBe(400)
  expect((await administrator.post(PATH, { text: 'x', agentKey: 'a' })).status).toBe(400)
})

test('the costliest rules end, and others are served meanwhile', async () => {
  const redactedPatterns = Array.from({ length: 100 }, (_, index) => `(\\pL+a${index}){1,9}`)
  const long = administrator.post(PATH, { redactedPatterns, text: 'a'.repeat(20_000) })
  const served: number[] = []
  let isOver = false
  const watch = async () => {
    while (!isOver) served.push((await fetch(`${server.baseUrl}/health`)).status)
  }
  const watching = watch()
  const { status } = await long
  isOver = true
  await watching
  expect([200, 400, 503]).toContain(status)
  expect(served.length).toBeGreaterThan(3)
}, 300_000)

test('only keys and administrators try rules', async () => {
  const viewer = server.as({ userToken: (await server.createUser(organizationId, 'viewer')).userToken })
  expect(await viewer.post(PATH, { text: 'x' })).toMatchObject({
    status: 403,
    body: { code: 'role_required' },
  })
})
