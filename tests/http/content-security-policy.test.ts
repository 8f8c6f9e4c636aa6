/** Every answer has a Content-Security-Policy: its own, or one that lets it load nothing. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

const ID = '00000000-0000-7000-8000-000000000000'
const STRICT = "default-src 'none'; frame-ancestors 'none'"

let server: TestServer
let tenant: TestTenant

beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
})
afterAll(() => server.stop())

async function answerTo(method: string, path: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.baseUrl}${path}`, { method, headers, redirect: 'manual' })
  // A stream has no end.
  await response.body?.cancel()
  return { status: response.status, policy: response.headers.get('content-security-policy') ?? '' }
}

describe('Content-Security-Policy', () => {
  test('lets answers of every operation load nothing, with and without a credential', async () => {
    const document = await (await fetch(`${server.baseUrl}/openapi.json`)).json()
    const { paths } = document as { paths: Record<string, Record<string, unknown>> }
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => [method.toUpperCase(), path.replaceAll(/\{\w+\}/g, ID)] as const),
    )
    expect(operations.length).toBeGreaterThan(100)
    const credentials: Record<string, string>[] = [{}, { 'x-service-api-key': tenant.apiKey }]
    const others = new Set<string>()
    for (const [method, path] of operations)
      for (const headers of credentials) {
        const { policy } = await answerTo(method, path, headers)
        if (policy !== STRICT) others.add(`${method} ${path}: ${policy}`)
      }
    expect([...others]).toEqual([])
  })

  const plain: readonly (readonly [what: string, method: string, path: string, status: number])[] = [
    ['an unknown address', 'GET', '/nothing', 404],
    ['an unknown address of an interface', 'GET', '/v3/rest/nothing', 404],
    ['a wrong method', 'DELETE', '/openapi.json', 405],
    ['a HEAD', 'HEAD', '/health', 200],
    ['a preflight', 'OPTIONS', '/oauth/register', 204],
    ['the health', 'GET', '/health', 200],
    ['the document', 'GET', '/openapi.json', 200],
    ['the redirect of the documentation', 'GET', '/docs/', 308],
    ['a script of the documentation', 'GET', '/docs/swagger-ui-bundle.js', 200],
    ['the style of the sign-in', 'GET', '/sign-in/style.css', 200],
    ['a script that is not there', 'GET', '/assets/nothing.js', 404],
    ['the keys of the sign-in', 'GET', '/oauth/jwks', 200],
    ['the redirect of a lost authorization', 'GET', '/oauth/interaction/nothing', 303],
    ['a refused token', 'POST', '/oauth/token', 400],
    ['the widget', 'GET', '/widget/earshot.js', 200],
    ['tools for coding agents', 'POST', '/mcp', 401],
    ['traces', 'POST', '/v1/traces', 415],
    ['a file without a signature', 'GET', '/media/nothing', 403],
    ['a missing upload', 'PATCH', '/uploads/nothing', 404],
    ['the list for language models', 'GET', '/llms.txt', 200],
  ]
  test.each([
    ['the console', '/console'],
    ['the documentation', '/docs'],
    ['the sign-in', '/sign-in'],
    ['a refused authorization', '/oauth/authorize'],
    ['the end of weekly mails', '/unsubscribe?token=nothing'],
  ])('lets %s load what it needs, in no frame', async (_, path) => {
    const { policy } = await answerTo('GET', path)
    expect(policy).toStartWith("default-src 'none'; ")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toBe(STRICT)
  })

  test.each(plain)('lets %s load nothing', async (_, method, path, status) => {
    expect(await answerTo(method, path)).toEqual({ status, policy: STRICT })
  })
})
