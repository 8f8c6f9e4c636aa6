/** Paths that are not REST operations: the methods they allow, and their answers to HEAD. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startTestServer, type TestServer } from '../support/server.ts'

const READ_ONLY = [
  '/health',
  '/ready',
  '/metrics',
  '/docs',
  '/docs/swagger-ui.css',
  '/openapi.json',
  '/llms.txt',
  '/.well-known/api-catalog',
  '/media/nothing',
]

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.stop())

describe.each(READ_ONLY)('%s', (path) => {
  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('%s is 405 with Allow', async (method) => {
    const response = await fetch(`${server.baseUrl}${path}`, { method })
    const body = (await response.json()) as Record<string, unknown>
    expect([response.status, body.code, response.headers.get('allow')]).toEqual([
      405,
      'method_not_allowed',
      'GET, HEAD',
    ])
  })

  test('HEAD has the status and headers of GET, including Date', async () => {
    const head = await fetch(`${server.baseUrl}${path}`, { method: 'HEAD' })
    const get = await fetch(`${server.baseUrl}${path}`)
    expect(head.status).toBe(get.status)
    expect(head.headers.get('content-type')).toBe(get.headers.get('content-type'))
    for (const { headers } of [head, get])
      expect(Math.abs(Date.parse(headers.get('date') ?? '') - Date.now())).toBeLessThan(60_000)
    expect(await head.text()).toBe('')
    await get.arrayBuffer()
  })
})

test.each(['/v3/rest/recordings', '/api', '/api/content', '/nothing'])(
  'HEAD of %s has Date',
  async (path) => {
    const { headers } = await fetch(`${server.baseUrl}${path}`, { method: 'HEAD' })
    expect(headers.get('date')).toEndWith('GMT')
    expect(headers.get('date')?.split('GMT').length).toBe(2)
  },
)
