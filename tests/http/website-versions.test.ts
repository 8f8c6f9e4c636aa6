/** Versions of the website API, CORS, and the headers of every response under /api. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { parseItem } from 'structured-headers'
import { loadConfig } from '../../src/app/config.ts'
import { type ApiVersion, createChooseVersion } from '../../src/http/api-version.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { BEHIND_PROXY, expectProblem, newClient, standingOf, submission } from '../support/website.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const daysFromNow = (days: number) => new Date(Math.floor((Date.now() + days * DAY_MS) / 1000) * 1000)

const GUIDE = 'https://docs.example/api/v2'
const superseded = (version: string, deprecated: Date, sunset: Date): ApiVersion => ({
  version,
  released: daysFromNow(-400),
  superseded: { deprecated, sunset, guide: GUIDE },
})
const OLD = { deprecated: daysFromNow(-10), sunset: daysFromNow(80) }
const VERSIONS: readonly ApiVersion[] = [
  superseded('-1', daysFromNow(-200), daysFromNow(-1)),
  superseded('0', OLD.deprecated, OLD.sunset),
  { version: '1', released: daysFromNow(-10) },
]

const ORIGIN = 'https://www.example.com'
let server: TestServer

beforeAll(async () => {
  server = await startTestServer({
    env: {
      ...BEHIND_PROXY,
      RATE_LIMIT_FORMS: '20',
      RATE_LIMIT_WEBSITE_READS: '300',
      WEBSITE_ORIGINS: ORIGIN,
    },
    website: { versions: VERSIONS },
  })
})
afterAll(() => server.stop())

const post = (headers: Record<string, string>, body: unknown = submission(['email'])) =>
  server.as('nobody').post('/api/csdemo', body, { ...newClient(), ...headers })

describe('API-Version', () => {
  test('is the current version, pinned or not, without deprecation headers', async () => {
    for (const pinned of [null, '1', ' 1 ']) {
      const answer = await post(pinned === null ? {} : { 'api-version': pinned })
      expect([answer.status, answer.headers.get('api-version')]).toEqual([200, '1'])
      for (const name of ['deprecation', 'sunset', 'link']) expect(answer.headers.get(name)).toBeNull()
    }
  })

  test.each(['2', '1.0', '01', 'v1', '1, 1', '', 'latest'])('%j is not supported: 400', async (version) => {
    expectProblem(await post({ 'api-version': version }), 400, 'unsupported_api_version', '/api/csdemo')
  })

  test('of a superseded version keeps working and announces its sunset', async () => {
    const answer = await post({ 'api-version': '0' })
    expect([answer.status, answer.body]).toEqual([200, { success: true }])
    const { headers } = answer
    expect(headers.get('api-version')).toBe('0')
    // RFC 9745: a date of RFC 9651.
    expect(headers.get('deprecation')).toMatch(/^@\d+$/)
    const [deprecated] = parseItem(headers.get('deprecation') ?? '')
    expect(deprecated).toEqual(OLD.deprecated)
    // RFC 8594: an HTTP-date.
    const sunset = headers.get('sunset') ?? ''
    expect(sunset).toMatch(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/)
    expect(new Date(sunset)).toEqual(OLD.sunset)
    for (const relation of ['deprecation', 'sunset'])
      expect(headers.get('link')).toContain(`<${GUIDE}>; rel="${relation}"`)
  })

  test('of a superseded version announces its sunset in errors, too', async () => {
    const client = newClient()
    const old = { 'api-version': '0' }
    const answers = [
      await post(old, '{'),
      await post({ ...old, 'content-type': 'text/plain' }),
      await server.as('nobody').send('PUT', '/api/csdemo', { headers: { ...old, ...client } }),
      await server.as('nobody').get('/api/nothing', { ...old, ...client }),
    ]
    for (let count = 0; count < 21; count++) answers[4] = await post({ ...old, ...client }, '{')
    expect(answers.map(({ status }) => status)).toEqual([400, 415, 405, 404, 429])
    for (const { headers } of answers) {
      expect(headers.get('api-version')).toBe('0')
      for (const name of ['deprecation', 'sunset', 'link']) expect(headers.get(name)).not.toBeNull()
    }
  })

  test('of a version past its sunset is not supported', async () => {
    expectProblem(await post({ 'api-version': '-1' }), 400, 'unsupported_api_version', '/api/csdemo')
  })

  test('ends at the moment of its sunset', () => {
    const at = (now: Date) => createChooseVersion(VERSIONS, { now: () => now })('0')
    expect(() => at(new Date(OLD.sunset.getTime() - 1)).assertSupported()).not.toThrow()
    expect(() => at(OLD.sunset).assertSupported()).toThrow('not supported')
  })

  test('a superseded version works for at least 90 days', () => {
    const choose = (days: number) =>
      createChooseVersion([superseded('0', daysFromNow(0), daysFromNow(days)), ...VERSIONS.slice(-1)], {
        now: () => new Date(),
      })
    expect(() => choose(89)).toThrow('at least 90 days')
    expect(() => choose(90)).not.toThrow()
  })

  test('the table has one current version, the last', () => {
    const clock = { now: () => new Date() }
    expect(() => createChooseVersion([], clock)).toThrow()
    expect(() => createChooseVersion(VERSIONS.slice(0, -1), clock)).toThrow()
    expect(() => createChooseVersion([VERSIONS.at(-1)!, VERSIONS.at(-1)!], clock)).toThrow()
  })
})

describe('an unknown address under /api', () => {
  test.each(['/api/nothing', '/api/contact/more', '/api/%ff'])(
    '%s is a 404 with every header',
    async (path) => {
      for (const method of ['GET', 'POST', 'DELETE']) {
        const answer = await server.as('nobody').send(method, path, { headers: newClient() })
        expectProblem(answer, 404, 'not_found', path)
        expect(standingOf(answer.headers)).toMatchObject({ policy: 'reads', limit: 300 })
      }
    },
  )

  test('counts as a read', async () => {
    const client = newClient()
    await server.as('nobody').get('/api/nothing', client)
    const { headers } = await server.as('nobody').get('/api/nothing', client)
    expect(standingOf(headers).remaining).toBe(298)
  })

  test('outside /api errors keep the format of the REST API', async () => {
    const { status, body } = await server.as('nobody').get('/apiary')
    expect([status, body.statusCode, body.code]).toEqual([404, 404, 'not_found'])
  })
})

describe('CORS', () => {
  const EXPOSED = [
    'API-Version',
    'Deprecation',
    'RateLimit',
    'RateLimit-Policy',
    'Retry-After',
    'Sunset',
    'X-RateLimit-Limit',
    'X-RateLimit-Remaining',
    'X-RateLimit-Reset',
  ]

  test('an allowed origin may read responses, errors and their headers', async () => {
    for (const answer of [await post({ origin: ORIGIN }), await post({ origin: ORIGIN }, '{')]) {
      expect(answer.headers.get('access-control-allow-origin')).toBe(ORIGIN)
      expect(answer.headers.get('vary')).toBe('Origin')
      expect(answer.headers.get('access-control-expose-headers')?.split(', ')).toEqual(
        expect.arrayContaining(EXPOSED),
      )
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
    }
  })

  const preflight = (on: TestServer, origin: string) =>
    on.as('nobody').send('OPTIONS', '/api/csdemo', {
      headers: {
        ...newClient(),
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,api-version',
      },
    })

  test('a preflight from an allowed origin gets 204 and is not counted', async () => {
    const { status, headers } = await preflight(server, ORIGIN)
    expect(status).toBe(204)
    expect(headers.get('access-control-allow-origin')).toBe(ORIGIN)
    expect(headers.get('access-control-allow-methods')).toBe('POST')
    const allowed = headers.get('access-control-allow-headers')?.toLowerCase().split(', ')
    expect(allowed).toEqual(expect.arrayContaining(['content-type', 'api-version']))
    expect(standingOf(headers).remaining).toBe(20)
    expect(headers.get('api-version')).toBe('1')
  })

  test.each([
    'https://evil.example',
    'https://www.example.com.evil.example',
    'http://www.example.com',
    'null',
  ])('%s, which is not on the list, is told nothing', async (origin) => {
    const [answer, asked] = [await post({ origin }), await preflight(server, origin)]
    expect([answer.status, asked.status]).toEqual([200, 405])
    for (const { headers } of [answer, asked]) expect(headers.get('access-control-allow-origin')).toBeNull()
  })

  test('by default no origin is allowed', async () => {
    const closed = await startTestServer()
    try {
      const { status, headers } = await preflight(closed, ORIGIN)
      expect([status, headers.get('access-control-allow-origin'), headers.get('vary')]).toEqual([
        405,
        null,
        null,
      ])
    } finally {
      await closed.stop()
    }
  })

  test('the list accepts only origins', () => {
    const list = (value: string) => loadConfig({ WEBSITE_ORIGINS: value }).websiteOrigins
    expect(list('https://a.example, http://localhost:3000')).toEqual([
      'https://a.example',
      'http://localhost:3000',
    ])
    for (const value of [
      '*',
      'a.example',
      'https://a.example/',
      'https://a.example/path',
      'https://A.example',
    ])
      expect(() => list(value)).toThrow('WEBSITE_ORIGINS')
  })
})
