/**
 * The suite *raw hosts*: requests with every kind of `Host`, written byte by byte to a running service.
 *
 * A malformed `Host` is 400 with the usual error body. A well-formed `Host` never changes which route answers or what a
 * log line shows. The suite runs against the source tree and against the executable.
 */

import { expect, test } from 'bun:test'
import { connect } from 'node:net'
import { eventually } from './eventually.ts'

export interface RawHostTarget {
  readonly baseUrl: string
  readonly apiKey: string
  /** Every log line so far. */
  readonly log: () => string
}

export interface RawHostAnswer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Headers
  readonly body: string
}

/** Sends this head unchanged. Resolves with everything received until the server closes the connection. */
export function sendHead(
  baseUrl: string,
  requestLine: string,
  fields: readonly string[],
): Promise<RawHostAnswer> {
  const { hostname, port } = new URL(baseUrl)
  const { promise, resolve, reject } = Promise.withResolvers<RawHostAnswer>()
  const socket = connect({ host: hostname, port: Number(port) })
  const chunks: Buffer[] = []
  socket.setTimeout(20_000, () => socket.destroy(new Error('no answer within 20 s')))
  socket.on('error', reject)
  socket.on('data', (data: Buffer) => void chunks.push(data))
  socket.on('close', () => {
    const text = Buffer.concat(chunks).toString()
    const [head = '', ...rest] = text.split('\r\n\r\n')
    const [statusLine = '', ...lines] = head.split('\r\n')
    const headers = new Headers(
      lines.map((line): [string, string] => [
        line.slice(0, line.indexOf(':')),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    )
    resolve({ status: Number(statusLine.split(' ')[1]), headers, body: rest.join('\r\n\r\n') })
  })
  socket.write([requestLine, ...fields, 'Connection: close', '', ''].join('\r\n'))
  return promise
}

const MALFORMED = [
  'a b',
  '',
  ' ',
  'a@b',
  'user:password@host',
  'a/b',
  'a\\b',
  'a?b',
  'a#b',
  'a,b',
  '[::',
  '[::1',
  '[not-an-address]',
  '%zz',
  '%41',
  '<x>',
  'bücher.example',
  'host:port',
  'host:99999',
  'host:80:80',
  ':80',
  '1.2.3.4.5',
  'a\tb',
]

/** `{host}` stands for no `Host` at all, which HTTP/1.0 allows. Health checks of load balancers do this. */
const WELL_FORMED = [
  'a',
  'ab',
  'api',
  'a.b',
  'x:1',
  '[::1]:3000',
  '127.0.0.1',
  'HOST.EXAMPLE.',
  'my_host:8080',
  `${'long.'.repeat(40)}example`,
]

/** Has the form of a token, but belongs to no upload. */
const TOKEN = 'T0kenT0kenT0kenT0kenT0kenT0kenT0kenT0kenT0k'

const ID = '00000000-0000-7000-8000-000000000000'

/** One address of every family of routes, with the status and error code for an ordinary `Host`. */
const FAMILIES: readonly (readonly [path: string, status: number, code?: string])[] = [
  ['/health', 200],
  ['/ready', 200],
  ['/metrics', 200],
  ['/docs', 200],
  ['/docs/swagger-ui.css', 200],
  ['/openapi.json', 200],
  ['/llms.txt', 200],
  ['/.well-known/api-catalog', 200],
  ['/api', 200],
  ['/api/content/self-hosting', 200],
  ['/api/nothing', 404],
  ['/media/nothing?signature=x', 403, 'playback_url_invalid'],
  [`/uploads/${TOKEN}`, 404, 'upload_not_found'],
  ['/v3/rest/recordings?limit=1', 200],
  [`/v3/rest/recordings/${ID}`, 404, 'recording_not_found'],
  ['/v3/rest/nothing', 404],
  ['/nothing', 404],
]

/** The route that a prefix must not reach. */
const SHIFTED = ['/x/metrics', '/x/health', `/x/v3/rest/recordings`, '/anything/openapi.json', '//metrics']

function expectAnswer([path, status, code]: (typeof FAMILIES)[number], answer: RawHostAnswer): void {
  expect([path, answer.status]).toEqual([path, status])
  if (code !== undefined) expect(JSON.parse(answer.body)).toMatchObject({ code })
}

/** Registers the tests. `target` is called when they run. */
export function testRawHosts(target: () => RawHostTarget): void {
  const get = (path: string, host: string | null, line = `GET ${path} HTTP/1.1`) => {
    const { baseUrl, apiKey } = target()
    return sendHead(baseUrl, line, [
      ...(host === null ? [] : [`Host: ${host}`]),
      `X-Service-Api-Key: ${apiKey}`,
    ])
  }

  test.each(MALFORMED)('a malformed Host is 400 invalid_host on every family of routes: %j', async (host) => {
    for (const [path] of [...FAMILIES, ...SHIFTED.map((one) => [one] as const)]) {
      const answer = await get(path, host)
      const body = JSON.parse(answer.body) as Record<string, unknown>
      expect([path, answer.status, body.code]).toEqual([path, 400, 'invalid_host'])
      expect(answer.headers.get('content-type')).toMatch(/^application\/(problem\+)?json$/)
      expect(answer.headers.get('x-request-id')).toBe(body.requestId as string)
      expect(answer.body.length).toBeLessThan(1024)
      expect(answer.body).not.toMatch(/\.ts\b|node_modules|stack|T0ken/)
    }
  })

  test.each(WELL_FORMED)('a well-formed Host changes no route: %s', async (host) => {
    for (const family of FAMILIES) expectAnswer(family, await get(family[0], host))
    for (const path of SHIFTED) expect([path, (await get(path, host)).status]).toEqual([path, 404])
  })

  test('HTTP/1.0 without a Host finds every route; HTTP/1.1 without one is 400', async () => {
    for (const family of FAMILIES) {
      const [path] = family
      expectAnswer(family, await get(path, null, `GET ${path} HTTP/1.0`))
      expect((await get(path, null)).status).toBe(400)
    }
    for (const path of SHIFTED)
      expect([path, (await get(path, null, `GET ${path} HTTP/1.0`)).status]).toEqual([path, 404])
  })

  test('two Hosts are 400; a whole URL in the request line finds its path', async () => {
    const { baseUrl } = target()
    expect((await sendHead(baseUrl, 'GET /health HTTP/1.1', ['Host: a', 'Host: b'])).status).toBe(400)
    expect((await sendHead(baseUrl, 'GET http://x/health HTTP/1.1', ['Host: x'])).status).toBe(200)
    expect((await sendHead(baseUrl, 'GET http://x/y/health HTTP/1.1', ['Host: x'])).status).toBe(404)
  })

  test('no log line shows the token of an upload, whatever the Host', async () => {
    const ids: string[] = []
    for (const host of [...MALFORMED, ...WELL_FORMED, null]) {
      for (const prefix of ['', '/x', '/'])
        for (const line of [
          `GET ${prefix}/uploads/${TOKEN} HTTP/1.`,
          `PUT ${prefix}/uploads/${TOKEN}?a=/b HTTP/1.`,
        ])
          ids.push((await get('', host, `${line}${host === null ? 0 : 1}`)).headers.get('x-request-id') ?? '')
    }
    await eventually(() => ids.every((id) => target().log().includes(`"requestId":"${id}"`)))
    expect(target().log()).not.toContain('T0ken')
  })
}
