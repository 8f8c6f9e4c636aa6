/** Rules for every failure: the shape of the body, the request id, and no internal details. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Elysia } from 'elysia'
import { ERRORS } from '../../src/app/error-catalogue.ts'
import { renderError, toAppError } from '../../src/http/error-handler.ts'
import { AppError } from '../../src/platform/errors.ts'
import { newId } from '../../src/platform/ids.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import {
  type Answer,
  type Client,
  startTestServer,
  type TestServer,
  type TestTenant,
} from '../support/server.ts'

const INGEST = '/v3/rest/agent-conversations/ingest'
const APPLICATIONS = '/v3/rest/agent-applications'

let server: TestServer
let tenant: TestTenant
let organization: Client
let agent: Client

beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
  organization = server.as({ apiKey: tenant.apiKey })
  agent = server.as(await server.createApplication(tenant.organizationId))
})
afterAll(() => server.stop())

function expectFailure(answer: Answer, status: number, code: string, path: string): void {
  const { statusCode, error, code: actual, message, requestId, timestamp, path: where } = answer.body
  expect([answer.status, statusCode, actual, where]).toEqual([status, status, code, path])
  expect([typeof error, typeof message]).toEqual(['string', 'string'])
  expect(new Date(timestamp).toISOString()).toBe(timestamp)
  expect(answer.headers.get('x-request-id')).toBe(requestId)
  expect(answer.headers.get('content-type')).toStartWith('application/json')
}

describe('every failure has the same body', () => {
  test('an address that does not exist is 404 not_found, without its query', async () => {
    expectFailure(await organization.get('/v3/rest/nothing?secret=1'), 404, 'not_found', '/v3/rest/nothing')
  })

  test('a wrong method is 405 method_not_allowed with Allow', async () => {
    const answer = await organization.delete(APPLICATIONS)
    expectFailure(answer, 405, 'method_not_allowed', APPLICATIONS)
    expect(answer.headers.get('allow')).toBe('GET, HEAD, POST')
  })

  test('no credential is 401 unauthenticated', async () => {
    expectFailure(await server.as('nobody').get(APPLICATIONS), 401, 'unauthenticated', APPLICATIONS)
  })

  test('an unknown session is 404 agent_session_not_found', async () => {
    const path = `/v3/rest/agent-conversations/sessions/${newId()}`
    expectFailure(await organization.get(path), 404, 'agent_session_not_found', path)
  })

  test('an unknown signal is 404 agent_signal_not_found', async () => {
    const path = `/v3/rest/signals/${newId()}`
    expectFailure(await organization.get(path), 404, 'agent_signal_not_found', path)
  })

  test.each([
    ['cut off', '{"agentKey":'],
    ['nothing', ''],
    ['two values', '{}{}'],
    ['no UTF-8', Uint8Array.of(0x22, 0xff, 0x22)],
    ['a byte order mark alone', '\uFEFF'],
    ['a comment', '{/* */}'],
  ])('a body that is not JSON is 400 malformed_json: %s', async (_, body) => {
    expectFailure(await agent.post(INGEST, body), 400, 'malformed_json', INGEST)
    expectFailure(await organization.post(APPLICATIONS, body), 400, 'malformed_json', APPLICATIONS)
  })

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
  ])('another content type is 415 unsupported_media_type: %s', async (type) => {
    const answer = await agent.post(INGEST, '{}', { 'content-type': type })
    expectFailure(answer, 415, 'unsupported_media_type', INGEST)
  })

  test('deep nesting is 400 validation_failed and does not stop the service', async () => {
    const deep = `${'['.repeat(10_000)}${']'.repeat(10_000)}`
    expectFailure(await agent.post(INGEST, deep), 400, 'validation_failed', INGEST)
    expect((await server.as('nobody').get('/health')).status).toBe(200)
  })
})

describe('an unexpected error', () => {
  /** The error hook over a route that fails; `/api` has problem details. */
  const failing = new Elysia()
    .onError(({ error, request }) => {
      const context = { path: new URL(request.url).pathname, requestId: 'r-1', now: new Date(0) }
      return renderError(toAppError(error, context, createLog('silent', 'test'), ERRORS), context, ERRORS)
    })
    .get('*', () => {
      throw new Error('select secret from api_key')
    })

  test('is 500 internal_error and reveals only the request id', async () => {
    const response = await failing.handle(new Request('http://localhost/v3/rest/x'))
    const text = await response.text()
    expect([response.status, JSON.parse(text).code, JSON.parse(text).requestId]).toEqual([
      500,
      'internal_error',
      'r-1',
    ])
    expect(text).not.toContain('secret')
    expect(text).not.toContain('.ts')
  })

  test('is a problem document (RFC 9457) below /api', async () => {
    const response = await failing.handle(new Request('http://localhost/api/contact'))
    const body = (await response.json()) as Record<string, unknown>
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(body).toMatchObject({
      type: 'about:blank',
      title: 'Internal Server Error',
      status: 500,
      code: 'internal_error',
    })
    expect(body.error).toBe(body.detail)
  })

  test('that is an AppError keeps its own code, headers and extra members', async () => {
    const context = { path: '/x', requestId: 'r-1', now: new Date(0) }
    const error = new AppError('rate_limited', 'Later.', {
      headers: { 'retry-after': '3' },
      extra: { limit: 5 },
    })
    const response = renderError(error, context, ERRORS)
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '3'])
    expect(await response.json()).toMatchObject({ statusCode: 429, code: 'rate_limited', limit: 5 })
  })
})

describe('the request id', () => {
  test.each(['a', 'x'.repeat(128), 'client-7/3'])('sent by the caller is kept: %s', async (id) => {
    const answer = await organization.get(APPLICATIONS, { 'x-request-id': id })
    expect(answer.headers.get('x-request-id')).toBe(id)
  })

  test.each(['x'.repeat(129), 'with space', 'ümlaut'])('is replaced if the caller sends %s', async (id) => {
    const answer = await organization.get(APPLICATIONS, { 'x-request-id': id })
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  })
})
