/** The seven forms, each with all of its statuses. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startTestServer, type TestServer } from '../support/server.ts'
import { BEHIND_PROXY, expectProblem, FORMS, newClient, standingOf, submission } from '../support/website.ts'

const LIMIT = 20

let server: TestServer

beforeAll(async () => {
  server = await startTestServer({ env: { ...BEHIND_PROXY, RATE_LIMIT_FORMS: String(LIMIT) } })
})
afterAll(() => server.stop())

const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  server.as('nobody').post(path, body, { ...newClient(), ...headers })

const stored = (path: string) => server.database.sql<{ email: string; fields: Record<string, string> }[]>`
  select email, fields
  from form_submission
  where form = ${path.slice('/api/'.length)}
  order by received_at desc`

/** A submission with all members of the form. */
const full = (form: (typeof FORMS)[number]) => submission([...form.required, ...form.optional])

describe.each(FORMS.map((form) => [form.path, form] as const))('POST %s', (path, form) => {
  test('200 with {success: true}, stored with every member', async () => {
    const body = full(form)
    const answer = await post(path, body)
    expect([answer.status, answer.body]).toEqual([200, { success: true }])
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(answer.headers.get('api-version')).toBe('1')
    expect(standingOf(answer.headers)).toMatchObject({
      policy: 'forms',
      limit: 20,
      windowSeconds: 60,
      remaining: 19,
    })
    const { email, ...fields } = body
    expect((await stored(path)).find((row) => row.email === email)?.fields).toEqual(fields)
  })

  test('200 with the required members alone, and with empty optional ones', async () => {
    const [alone, empty] = [submission(form.required), submission(form.required)]
    for (const member of form.optional) empty[member] = ''
    for (const body of [alone, empty]) {
      expect((await post(path, body)).status).toBe(200)
      const { email, ...fields } = Object.fromEntries(form.required.map((name) => [name, body[name]]))
      expect((await stored(path)).find((row) => row.email === email)?.fields).toEqual(fields as never)
    }
  })

  test('200 with white space around every member, which is trimmed', async () => {
    const body = full(form)
    const padded = Object.fromEntries(Object.entries(body).map(([name, value]) => [name, ` ${value}\n`]))
    expect((await post(path, padded)).status).toBe(200)
    const { email, ...fields } = body
    expect((await stored(path)).find((row) => row.email === email)?.fields).toEqual(fields)
  })

  test('200 with an unknown member, which is ignored', async () => {
    const body: Record<string, unknown> = { ...full(form), surprise: { deep: [1] } }
    expect((await post(path, body)).status).toBe(200)
    expect((await stored(path)).find((row) => row.email === body.email)?.fields).not.toHaveProperty(
      'surprise',
    )
  })

  test.each([...form.required])('400 for a missing or blank %s', async (member) => {
    for (const value of [undefined, '', '  ']) {
      const answer = await post(path, { ...full(form), [member]: value })
      expectProblem(answer, 400, 'validation_failed', path)
      expect(answer.body.errors).toMatchObject([
        { pointer: `#/${member}`, detail: expect.stringMatching(/^(?:is|must) /) },
      ])
      expect(standingOf(answer.headers).remaining).toBe(19)
    }
  })

  test.each([...form.required, ...form.optional])('400 if %s is not a string or too long', async (member) => {
    for (const value of [5, null, true, ['a'], { a: 'a' }, 'x'.repeat(10_001)])
      expectProblem(await post(path, { ...full(form), [member]: value }), 400, 'validation_failed', path)
  })

  test.each([
    ['USER@exam\u200bple.com', 'USER@example.com'],
    ['\u200eUSER@example.com', 'USER@example.com'],
    ['USER@example.com.', 'USER@example.com'],
    ['USER@example.com。', 'USER@example.com'],
    ['mailto:USER@example.com', 'USER@example.com'],
    ['<USER@example.com>', 'USER@example.com'],
    ['< MAILTO:USER@example.com. >', 'USER@example.com'],
    ['USER@bücher.example', 'USER@xn--bcher-kva.example'],
    ['USER@BÜCHER.example'.normalize('NFD'), 'USER@xn--bcher-kva.example'],
    ['USER@xn--bcher-kva.example', 'USER@xn--bcher-kva.example'],
  ])('200 where the address is %j, which is stored as %j', async (written, normal) => {
    const user = `ann-${crypto.randomUUID()}`
    const email = written.replace('USER', user)
    expect((await post(path, { ...full(form), email })).status).toBe(200)
    expect((await stored(path)).map((row) => row.email)).toContain(normal.replace('USER', user))
  })

  test.each([
    'jörg@example.com',
    'mailto:',
    '<>',
    'ann',
    'ann@',
    '@example.com',
    'ann@example',
    'ann@exam ple.com',
    'ann@example.com\r\nBcc: bob@example.com',
    'ann@example.com, bob@example.com',
    'Ann <ann@example.com>',
    '"ann"@example.com',
    'ann@-example.com',
    'ann@[192.0.2.1]',
    `${'a'.repeat(65)}@example.com`,
    `ann@${'a.'.repeat(125)}com`,
  ])('400 where the address is %j', async (email) => {
    const answer = await post(path, { ...full(form), email })
    expectProblem(answer, 400, 'validation_failed', path)
    expect(answer.body.errors[0].pointer).toBe('#/email')
  })

  test('400 for a body that is not a JSON object', async () => {
    for (const body of ['', '{', '[]', 'null', '"a"', '5']) expect((await post(path, body)).status).toBe(400)
    expectProblem(await post(path, '{'), 400, 'malformed_json', path)
  })

  test('400 for text that cannot be stored', async () => {
    for (const text of ['"\\u0000"', '"\\ud800"'])
      expectProblem(await post(path, `{"email":${text}}`), 400, 'validation_failed', path)
  })

  test('400 payload_too_large above 64 KiB, with and without Content-Length', async () => {
    const body = JSON.stringify({ ...full(form), surprise: 'x'.repeat(64 * 1024) })
    expectProblem(await post(path, body), 400, 'payload_too_large', path)
    const chunked = new Blob([body]).stream()
    const headers = { 'content-type': 'application/json', ...newClient() }
    const answer = await server.as('nobody').send('POST', path, { body: chunked, headers })
    expectProblem(answer, 400, 'payload_too_large', path)
  })

  test.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('405 with Allow for %s', async (method) => {
    const headers = newClient()
    const answer = await server.as('nobody').send(method, path, { headers })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
    if (method !== 'HEAD') expectProblem(answer, 405, 'method_not_allowed', path)
    // Nothing was submitted, so nothing was counted.
    expect(standingOf(answer.headers)).toMatchObject({ policy: 'forms', remaining: LIMIT })
  })

  test.each([
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/plain',
    'application/jsonp',
    '',
  ])('415 where the content type is %j', async (type) => {
    const body = JSON.stringify(full(form))
    const answer = await post(path, new TextEncoder().encode(body), { 'content-type': type })
    expectProblem(answer, 415, 'unsupported_media_type', path)
    expect(standingOf(answer.headers).remaining).toBe(19)
  })

  test('429 with Retry-After after 20 submissions, accepted or not', async () => {
    const client = newClient()
    for (let count = 1; count <= LIMIT; count++) {
      const answer = await post(path, count % 2 === 0 ? '{' : full(form), client)
      expect(standingOf(answer.headers).remaining).toBe(LIMIT - count)
    }
    const answer = await post(path, full(form), client)
    expectProblem(answer, 429, 'rate_limited', path)
    expect(answer.body.type).toBe('https://iana.org/assignments/http-problem-types#quota-exceeded')
    const { remaining, waitSeconds } = standingOf(answer.headers)
    expect(remaining).toBe(0)
    expect(answer.headers.get('retry-after')).toBe(String(waitSeconds))
    expect((await post(path, full(form))).status).toBe(200)
  })

  test('200 for a filled honeypot, and nothing is stored', async () => {
    const body: Record<string, string> = { ...full(form), _gotcha: 'https://spam.example' }
    const answer = await post(path, body)
    expect([answer.status, answer.body]).toEqual([200, { success: true }])
    expect((await stored(path)).some((row) => row.email === body.email)).toBe(false)
    expect((await post(path, { ...full(form), _gotcha: '' })).status).toBe(200)
  })
})

describe('a repeated address', () => {
  const times = async (path: string, form: (typeof FORMS)[number]) => {
    const body = full(form)
    const spellings = [body.email, body.email?.toUpperCase(), ` ${body.email}`.trim()]
    const answers = await Promise.all(spellings.map((email) => post(path, { ...body, email })))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    return (await stored(path)).filter((row) => row.email.toLowerCase() === body.email).length
  }

  test.each(
    ['/api/builder-waitlist', '/api/development-waitlist', '/api/mobile-reminder'].map(
      (path) => [path, FORMS.find((form) => form.path === path)!] as const,
    ),
  )('is stored once by %s, however it is spelt', async (path, form) => {
    expect(await times(path, form)).toBe(1)
  })

  test.each(
    ['/api/contact', '/api/embed-inquiry', '/api/manifesto-download', '/api/csdemo'].map(
      (path) => [path, FORMS.find((form) => form.path === path)!] as const,
    ),
  )('is stored each time by %s', async (path, form) => {
    expect(await times(path, form)).toBe(3)
  })
})

describe('order of failures', () => {
  const limited = async () => {
    const client = newClient()
    for (let count = 0; count < LIMIT; count++) await post('/api/csdemo', '{', client)
    return client
  }

  test('405 before 429, 429 before the version, the version before 415, 415 before 400', async () => {
    const client = await limited()
    const bad = { 'api-version': '99', 'content-type': 'text/plain' }
    expect((await server.as('nobody').send('PUT', '/api/csdemo', { headers: client })).status).toBe(405)
    expect((await post('/api/csdemo', '{', { ...client, ...bad })).status).toBe(429)
    expect((await post('/api/csdemo', '{', bad)).body.code).toBe('unsupported_api_version')
    expect((await post('/api/csdemo', '{', { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await post('/api/csdemo', '{')).status).toBe(400)
  })
})

describe('500', () => {
  let broken: TestServer
  beforeAll(async () => {
    broken = await startTestServer({ env: { ...BEHIND_PROXY, RATE_LIMIT_FORMS: String(LIMIT) } })
    await broken.database.sql`alter table form_submission rename to elsewhere`
  })
  afterAll(() => broken.stop())

  test.each(FORMS.map((form) => [form.path, form] as const))(
    'of %s does not reveal its cause',
    async (path, form) => {
      const answer = await broken.as('nobody').post(path, full(form), newClient())
      expectProblem(answer, 500, 'internal_error', path)
      expect(JSON.stringify(answer.body)).not.toContain('form_submission')
      expect(standingOf(answer.headers)).toMatchObject({ policy: 'forms', remaining: 19 })
    },
  )

  test('while the database is down', async () => {
    await broken.deps.sql.end()
    const answer = await broken.as('nobody').post('/api/csdemo', submission(['email']), newClient())
    expectProblem(answer, 500, 'unavailable', '/api/csdemo')
    expect(answer.headers.get('retry-after')).not.toBeNull()
  })
})
