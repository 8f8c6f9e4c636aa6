/** The suite *raw hosts* against the source tree; `startup/binary` runs it against the executable. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { pino } from 'pino'
import { createApp } from '../../src/app/app.ts'
import { createHttpApp } from '../../src/http/http-app.ts'
import { sendHead, testRawHosts } from '../support/raw-hosts.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

let server: TestServer
let tenant: TestTenant
let baseUrl: string
let stop: () => Promise<unknown>
let log = ''

beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
  const logger = pino(
    {},
    {
      write: (line) => {
        log += line
      },
    },
  )
  const app = createApp({ ...server.deps, log: logger }).listen({ hostname: '127.0.0.1', port: 0 })
  baseUrl = `http://127.0.0.1:${app.server?.port}`
  stop = async () => app.stop(true)
})
afterAll(async () => {
  await stop?.()
  await server.stop()
})

describe('raw hosts', () => {
  testRawHosts(() => ({ baseUrl, apiKey: tenant.apiKey, log: () => log }))

  test('absolute URLs use the Host header of the client, whatever its length', async () => {
    for (const host of ['a', 'api:8080', 'earshot.example.com']) {
      const catalog = await sendHead(baseUrl, 'GET /.well-known/api-catalog HTTP/1.1', [`Host: ${host}`])
      expect(catalog.body).toContain(`"http://${host}/`)
    }
  })

  test('a malformed Host below /api is 400 invalid_host as a problem document (RFC 9457)', async () => {
    const answer = await sendHead(baseUrl, 'GET /api/content HTTP/1.1', ['Host: a b'])
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(JSON.parse(answer.body)).toMatchObject({
      status: 400,
      code: 'invalid_host',
      instance: '/api/content',
    })
  })
})

describe('when error handling itself fails', () => {
  test('the response is a JSON 500 with a request id and no error details', async () => {
    const clock = {
      now: (): Date => {
        throw new Error('the clock of /home/somebody is broken')
      },
    }
    const app = createHttpApp({ ...server.deps, clock }).listen({ hostname: '127.0.0.1', port: 0 })
    const answer = await sendHead(`http://127.0.0.1:${app.server?.port}`, 'GET /v3/rest/x HTTP/1.1', [
      'Host: a',
    ])
    await app.stop(true)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([500, 'application/json'])
    const body = JSON.parse(answer.body) as Record<string, unknown>
    expect(body).toEqual({
      statusCode: 500,
      error: 'Internal Server Error',
      code: 'internal_error',
      requestId: answer.headers.get('x-request-id'),
    })
  })
})
