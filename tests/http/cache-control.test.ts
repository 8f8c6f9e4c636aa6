/** No cache between client and service may store an answer to an authenticated caller. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

const ID = '00000000-0000-7000-8000-000000000000'

let server: TestServer
let tenant: TestTenant

beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
})
afterAll(() => server.stop())

async function cacheControl(method: string, path: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.baseUrl}${path}`, { method, headers })
  // A stream has no end.
  await response.body?.cancel()
  return response.headers.get('cache-control')
}

describe('Cache-Control', () => {
  test('private, no-store on every operation below /v3/rest, with and without a credential', async () => {
    const document = await (await fetch(`${server.baseUrl}/openapi.json`)).json()
    const { paths } = document as { paths: Record<string, Record<string, unknown>> }
    const operations = Object.entries(paths)
      .filter(([path]) => path.startsWith('/v3/rest'))
      .flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => [method.toUpperCase(), path] as const),
      )
    expect(operations.length).toBeGreaterThan(20)
    for (const [method, template] of operations) {
      const path = template.replaceAll(/\{\w+\}/g, ID)
      const credentials: Record<string, string>[] = [{}, { 'x-service-api-key': tenant.apiKey }]
      for (const headers of credentials)
        expect([method, path, await cacheControl(method, path, headers)]).toEqual([
          method,
          path,
          'private, no-store',
        ])
    }
  })

  test.each([
    ['an unknown address', 'GET', '/v3/rest/nothing'],
    ['a wrong method', 'DELETE', '/v3/rest/recordings'],
    ['a HEAD', 'HEAD', '/v3/rest/recordings'],
    ['the root itself', 'GET', '/v3/rest'],
    ['tools for coding agents', 'POST', '/mcp'],
    ['traces', 'POST', '/v1/traces'],
  ])('private, no-store on %s', async (_, method, path) => {
    expect(await cacheControl(method, path)).toBe('private, no-store')
  })

  test.each(['/openapi.json', '/llms.txt'])('a public document is not private: %s', async (path) => {
    expect(await cacheControl('GET', path)).toBe('no-cache')
  })
})
