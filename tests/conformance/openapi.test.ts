/** The OpenAPI document is valid 3.1, complete, and matches the behaviour of the service. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Value } from '@sinclair/typebox/value'
import { ERRORS } from '../../src/app/error-catalogue.ts'
import { problemStatus } from '../../src/http/problem.ts'
import { asOperation } from '../../src/http/website-operation.ts'
import type { ErrorCode } from '../../src/platform/errors.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { FORMS } from '../support/website.ts'

const ROOT = resolve(import.meta.dir, '../..')

let server: TestServer
// biome-ignore lint/suspicious/noExplicitAny: the document is what is being judged here
let document: any

beforeAll(async () => {
  server = await startTestServer()
  document = (await server.as('nobody').get('/openapi.json')).body
})
afterAll(() => server.stop())

const operations = () =>
  Object.entries(document.paths as Record<string, Record<string, unknown>>).flatMap(([path, item]) =>
    // biome-ignore lint/suspicious/noExplicitAny: as above
    Object.entries(item).map(([method, operation]) => ({ path, method, operation: operation as any })),
  )

/** Resolves a `$ref`. Returns any other value unchanged. */
// biome-ignore lint/suspicious/noExplicitAny: as above
const resolved = (value: any): any =>
  typeof value.$ref === 'string'
    ? value.$ref
        .slice(2)
        .split('/')
        // biome-ignore lint/suspicious/noExplicitAny: as above
        .reduce((node: any, name: string) => node[name], document)
    : value

/** The operations of the REST API and of the website API. */
const everyOperation = () => [...server.features.operations, ...server.features.website.map(asOperation)]

/** Headers of every response (specification, "Website API"). */
const WEBSITE_HEADERS = [
  'API-Version',
  'RateLimit-Policy',
  'RateLimit',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
]

/** Every object of the document. */
function* nodes(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield value as Record<string, unknown>
  for (const member of Object.values(value)) yield* nodes(member)
}

describe('OpenAPI document', () => {
  test('is clean under redocly lint with the strict recommended rules', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'earshot-openapi-'))
    const file = join(folder, 'openapi.json')
    await Bun.write(file, JSON.stringify(document))
    const program = join(ROOT, 'node_modules/.bin/redocly')
    const lint = Bun.spawn(
      [process.execPath, program, 'lint', file, '--format=json', '--config=redocly.yaml'],
      {
        cwd: ROOT,
        env: { ...process.env, REDOCLY_TELEMETRY: 'off' },
        stdout: 'pipe',
        stderr: 'pipe',
      },
    )
    const [output, code] = await Promise.all([lint.stdout.text(), lint.exited])
    rmSync(folder, { recursive: true, force: true })
    expect(JSON.parse(output).problems).toEqual([])
    expect(code).toBe(0)
  })

  test('is OpenAPI 3.1 without a leftover of 3.0 or of the validator', () => {
    expect(document.openapi).toBe('3.1.0')
    for (const node of nodes(document)) {
      expect(node).not.toHaveProperty('nullable')
      expect(node).not.toHaveProperty('patternProperties')
      if ('type' in node && node.type === null) throw new Error(`type null: ${JSON.stringify(node)}`)
    }
  })

  test('has every operation of the service, under its id, with its credential', () => {
    const security = (access: string) =>
      ({
        public: [],
        agent: [{ agentSecret: [] }],
        organization: [{ apiKey: [] }],
        user: [{ userToken: [] }, { session: [] }],
        person: [{ userToken: [] }, { session: [] }],
        organizationOrUser: [{ apiKey: [] }, { userToken: [] }, { session: [] }],
      })[access]
    const declared = everyOperation().map(({ method, path, id, access }) => ({
      call: `${method} ${path}`,
      id,
      security: security(access) ?? [],
    }))
    const documented = operations().map(({ path, method, operation }) => ({
      call: `${method.toUpperCase()} ${path}`,
      id: operation.operationId as string,
      security: operation.security,
    }))
    const byCall = (a: { call: string }, b: { call: string }) => (a.call < b.call ? -1 : 1)
    expect(documented.toSorted(byCall)).toEqual(declared.toSorted(byCall))
  })

  test('has the operations of the specification', () => {
    const calls = operations().map(({ path, method }) => `${method.toUpperCase()} ${path}`)
    expect(calls).toEqual(
      expect.arrayContaining([
        'POST /v3/rest/agent-conversations/ingest',
        'POST /v3/rest/agent-conversations/append',
        'GET /v3/rest/metadata/sources',
        'POST /v3/rest/metadata/sources',
        'GET /v3/rest/metadata/sources/{sourceId}',
        'PATCH /v3/rest/metadata/sources/{sourceId}',
        'GET /v3/rest/metadata/sources/{sourceId}/fields',
        'POST /v3/rest/metadata/sources/{sourceId}/fields',
        'GET /v3/rest/metadata/fields/{fieldId}',
        'PATCH /v3/rest/metadata/fields/{fieldId}',
        'GET /v3/rest/recordings',
        'POST /v3/rest/recordings',
        'GET /v3/rest/recordings/{recordingId}',
        'GET /v3/rest/recordings/{recordingId}/transcript',
        'POST /v3/rest/recordings/{recordingId}/uploads',
        'GET /v3/rest/recordings/{recordingId}/uploads/{uploadId}',
        'DELETE /v3/rest/recordings/{recordingId}/uploads/{uploadId}',
        'POST /v3/rest/feedback-sources',
        'PUT /v3/rest/people',
        'POST /v3/rest/feedback-sources/{feedbackSourceId}/records',
      ]),
    )
  })

  test('describes every tag in use, and no other', () => {
    const used = new Set(operations().flatMap(({ operation }) => operation.tags as string[]))
    expect(document.tags.map((tag: { name: string }) => tag.name).sort()).toEqual([...used].sort())
    for (const tag of document.tags) expect(tag.description).not.toBeEmpty()
  })

  test('closes the error codes: exactly those that exist', () => {
    expect(document.components.schemas.Error.properties.code.enum).toEqual(Object.keys(ERRORS.codes))
  })

  test('names for every operation the failures of its credential, and their codes', () => {
    for (const { path, operation } of operations()) {
      const statusOf = (code: ErrorCode) =>
        path.startsWith('/api') ? problemStatus(code, ERRORS) : ERRORS.codes[code]
      if (operation.security.length > 0) expect(operation.responses).toHaveProperty('401')
      expect(operation.responses).toHaveProperty('429')
      for (const [status, response] of Object.entries(operation.responses)) {
        if (Number(status) < 400) continue
        const codes = [...resolved(response).description.matchAll(/`(\w+)`/g)].map(
          ([, code]) => code as ErrorCode,
        )
        expect(codes.length).toBeGreaterThan(0)
        for (const code of codes) expect([code, String(statusOf(code))]).toEqual([code, status])
      }
    }
  })

  test('gives every operation with a body an example that its schema accepts', () => {
    const withBody = everyOperation().filter(({ body }) => body !== undefined)
    expect(withBody.length).toBeGreaterThan(0)
    for (const { id, body, example } of withBody)
      expect([
        id,
        [...Value.Errors(body!, example)].map(({ path, message }) => `${path} ${message}`),
      ]).toEqual([id, []])
  })

  test('has the seven forms of the website, with their members, headers and problem details', () => {
    for (const { path, operationId, required, optional } of FORMS) {
      const operation = document.paths[path].post
      expect(operation.operationId).toBe(operationId)
      expect(operation.security).toEqual([])
      expect(operation.parameters.map(resolved)).toMatchObject([
        { name: 'API-Version', in: 'header', required: false },
      ])
      const schema = resolved(operation.requestBody.content['application/json'].schema)
      expect(schema.required.toSorted()).toEqual(required.toSorted())
      expect(Object.keys(schema.properties).sort()).toEqual([...required, ...optional].sort())
      for (const property of Object.values(schema.properties))
        expect(property).toMatchObject({ type: 'string' })
      expect(schema.properties.email.format).toBe('email')
      expect(Object.keys(operation.responses)).toEqual(['200', '400', '405', '415', '429', '500'])
      for (const [status, response] of Object.entries(operation.responses)) {
        const { content, headers } = resolved(response)
        expect(Object.keys(headers ?? {})).toEqual(expect.arrayContaining(WEBSITE_HEADERS))
        expect('Retry-After' in (headers ?? {})).toBe(status === '429')
        expect(Object.keys(content ?? {})).toEqual([
          status === '200' ? 'application/json' : 'application/problem+json',
        ])
      }
    }
  })

  test('names the shared response headers, which the service sends', async () => {
    const { apiKey } = await server.createTenant()
    const answer = await server.as({ apiKey }).get('/v3/rest/signals')
    const { headers } = document.paths['/v3/rest/signals'].get.responses['200']
    expect(Object.keys(headers)).toContain('X-Request-Id')
    expect(answer.headers.get('x-request-id')).not.toBeEmpty()
  })

  test('answers a failure with the members that the error schema requires', async () => {
    const { status, body } = await server.as('nobody').get('/v3/rest/signals')
    const { required, properties } = document.components.schemas.Error
    expect(Object.keys(body)).toEqual(expect.arrayContaining(required))
    expect(properties.code.enum).toContain(body.code)
    expect([status, body.statusCode]).toEqual([401, 401])
  })

  test('names the configured public address as its server', async () => {
    const elsewhere = await startTestServer({ env: { PUBLIC_BASE_URL: 'https://ears.example/api' } })
    const { body } = await elsewhere.as('nobody').get('/openapi.json')
    await elsewhere.stop()
    expect(document.servers[0].url).toBe('/')
    expect(body.servers[0].url).toBe('https://ears.example/api')
  })
})

describe('Swagger UI', () => {
  test('names no foreign address and holds no inline script', async () => {
    const page = await (await fetch(`${server.baseUrl}/docs`)).text()
    expect(page).not.toMatch(/(?:src|href)="(?:[a-z]+:)?\/\//)
    for (const [, body] of page.matchAll(/<script[^>]*>([^<]*)<\/script>/g)) expect(body).toBe('')
  })

  test('is kept by the browser to this service: a content security policy without inline scripts', async () => {
    const policy = (await fetch(`${server.baseUrl}/docs`)).headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self';")
    expect(policy).toContain("connect-src 'self';")
  })

  test.each([
    '/docs',
    '/docs/swagger-ui.css',
    '/docs/swagger-ui-bundle.js',
    '/docs/initializer.js',
    '/openapi.json',
  ])('%s is revalidated by its entity tag, and compressed for who asks', async (path) => {
    const url = `${server.baseUrl}${path}`
    const first = await fetch(url, { headers: { 'accept-encoding': 'identity' } })
    const etag = first.headers.get('etag') ?? ''
    expect(etag).toStartWith('W/"')
    expect(first.headers.get('content-encoding')).toBeNull()
    const again = await fetch(url, { headers: { 'if-none-match': `"other", ${etag}` } })
    expect([again.status, (await again.arrayBuffer()).byteLength]).toEqual([304, 0])
    const changed = await fetch(url, { headers: { 'if-none-match': '"other"' } })
    expect(changed.status).toBe(200)
    const body = await first.text()
    if (body.length > 1024) {
      const compressed = await fetch(url, { headers: { 'accept-encoding': 'br, gzip' } })
      expect(compressed.headers.get('content-encoding')).toBe('br')
      expect(await compressed.text()).toBe(body)
      const refused = await fetch(url, { headers: { 'accept-encoding': 'gzip;q=0' } })
      expect(refused.headers.get('content-encoding')).toBeNull()
    }
  })

  test('leads from /docs/ to /docs, below which its addresses are relative', async () => {
    const answer = await fetch(`${server.baseUrl}/docs/`, { redirect: 'manual' })
    expect([answer.status, answer.headers.get('location')]).toEqual([308, '../docs'])
    expect((await fetch(`${server.baseUrl}/docs/`)).url).toBe(`${server.baseUrl}/docs`)
  })
})
