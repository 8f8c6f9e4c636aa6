/** Publishable keys: what they may send, and that they can do nothing else. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { feedbackIdOf } from '../../src/hear/agents/ingest/visitor-feedback.ts'
import { FORMS } from '../../src/hear/website/model.ts'
import source from '../../src/hear/widget/earshot.browser.js' with { type: 'text' }
import { newId } from '../../src/platform/ids.ts'
import { assistantMessage, eventRows, userMessage } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { keysPath, ORIGIN, openPage, type PageOfAgent } from '../support/widget.ts'

let server: TestServer
let page: PageOfAgent
beforeAll(async () => {
  server = await startTestServer({ actors: { retryBaseMs: 20, retryCapMs: 500 } })
  page = await openPage(server)
})
afterAll(() => server?.stop())

const newSession = () => `chat-${crypto.randomUUID()}`
const answered = (externalSessionId: string) =>
  page.agent.accept([userMessage(1), assistantMessage(2)], { externalSessionId })

/** What visitors have said about the response `a2`. */
async function storedFeedback(sessionId: string) {
  const rows = await eventRows(server.database.sql, sessionId)
  // biome-ignore lint/suspicious/noExplicitAny: the test judges it
  return rows.filter(({ type }) => type === 'feedback').map(({ id, body }: any) => ({ id, ...body.feedback }))
}

const idle = () =>
  eventually(async () => {
    const waiting = await server.database.sql`
      select 1 from actor_message where key like 'visitor_feedback:%'`
    return waiting.length === 0
  })

describe('feedback', () => {
  test('on a stored response becomes one event of its session', async () => {
    const session = newSession()
    const { sessionId } = await answered(session)
    const answer = await page.feedback({
      session,
      message: 'a2',
      rating: 'negative',
      comment: ' It is wrong. ',
    })
    expect([answer.status, answer.body]).toEqual([202, { accepted: true }])
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
    await idle()
    expect(await storedFeedback(sessionId)).toEqual([
      { id: feedbackIdOf('a2'), targetEventExternalId: 'a2', rating: 'negative', comment: 'It is wrong.' },
    ])
  })

  test('the last opinion counts, also one that was held before', async () => {
    const session = newSession()
    const { sessionId } = await answered(session)
    for (const rating of ['positive', 'negative', 'positive', 'negative', 'positive'])
      expect((await page.feedback({ session, message: 'a2', rating })).status).toBe(202)
    await idle()
    expect(await storedFeedback(sessionId)).toMatchObject([{ rating: 'positive' }])
    await page.feedback({ session, message: 'a2', rating: 'negative' })
    await idle()
    expect(await storedFeedback(sessionId)).toMatchObject([{ rating: 'negative' }])
  })

  test('that comes before its response is stored after it', async () => {
    const session = newSession()
    expect((await page.feedback({ session, message: 'a2', rating: 'positive' })).status).toBe(202)
    await eventually(async () => {
      const tried = await server.database.sql`
        select 1 from actor_message where key like 'visitor_feedback:%' and attempts > 0`
      return tried.length > 0
    })
    const { sessionId } = await answered(session)
    await idle()
    expect(await storedFeedback(sessionId)).toMatchObject([{ rating: 'positive' }])
  })

  test('is in the environment of its response', async () => {
    const named = await openPage(server)
    await named.agent.configure({ allowedEnvironments: ['production'] })
    const context = { environment: 'production' }
    const each = [userMessage(1, { context }), assistantMessage(2, { context })]
    const sessions = [
      await named.agent.accept(each, { externalSessionId: 'each' }),
      await named.agent.accept([userMessage(1), assistantMessage(2)], { externalSessionId: 'all', context }),
    ]
    for (const session of ['each', 'all'])
      await named.feedback({ session, message: 'a2', rating: 'negative' })
    await idle()
    for (const { sessionId } of sessions)
      expect(await storedFeedback(sessionId)).toMatchObject([{ rating: 'negative' }])
  })

  test('on an unknown session is answered alike, creates nothing, and is dropped', async () => {
    const session = newSession()
    const known = newSession()
    const { sessionId } = await answered(known)
    const answers = [
      await page.feedback({ session, message: 'a2', rating: 'positive' }),
      await page.feedback({ session: known, message: 'nothing', rating: 'positive' }),
      await page.feedback({ session: known, message: 'u1', rating: 'positive' }),
      await page.feedback({ session: known, message: 'a2', rating: 'positive' }),
    ]
    expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, body]))).size).toBe(1)
    await idle()
    expect(await storedFeedback(sessionId)).toHaveLength(1)
    const { sql } = server.database
    expect(await sql`select 1 from agent_session where external_session_id = ${session}`).toHaveLength(0)
    expect(await sql`select 1 from actor_dead_letter where key like 'visitor_feedback:%'`).toHaveLength(0)
  })

  test("never reaches another application's session", async () => {
    const other = await openPage(server)
    const session = newSession()
    const { sessionId } = await answered(session)
    expect((await other.feedback({ session, message: 'a2', rating: 'negative' })).status).toBe(202)
    await idle()
    expect(await storedFeedback(sessionId)).toEqual([])
  })

  test('is redacted before it is queued, and without content where none is kept', async () => {
    const strict = await openPage(server)
    await strict.agent.configure({ redactedPatterns: ['hunter[0-9]'] })
    await strict.feedback({ session: 'x', message: 'a2', rating: 'negative', comment: 'It is hunter2' })
    await strict.agent.configure({ captureContent: false })
    await strict.feedback({ session: 'y', message: 'a2', rating: 'negative', comment: 'hunter3' })
    const rows = await server.database.sql<{ payload: { comment?: string } }[]>`
      select payload from actor_message
      where key like 'visitor_feedback:%' and payload->>'applicationId' = ${strict.agent.applicationId}
      order by payload->>'externalSessionId'`
    expect(rows.map(({ payload }) => payload.comment)).toEqual(['It is [redacted]', undefined])
  })

  test.each([
    ['no rating', { session: 's', message: 'm' }],
    ['another rating', { session: 's', message: 'm', rating: 'great' }],
    ['a blank session', { session: ' ', message: 'm', rating: 'positive' }],
    ['a long comment', { session: 's', message: 'm', rating: 'positive', comment: 'x'.repeat(2001) }],
    ['an unknown member', { session: 's', message: 'm', rating: 'positive', sequence: 1 }],
    ['no object', []],
  ])('with %s is 400', async (_, body) => {
    expect((await page.feedback(body)).status).toBe(400)
  })
})

describe('forms', () => {
  test('are stored as those of the website', async () => {
    for (const { name, example } of FORMS) {
      const email = `${newId()}@example.com`
      expect((await page.send(`forms/${name}`, { ...example, email })).status).toBe(202)
      const rows = await server.database.sql`
        select 1 from form_submission where form = ${name} and email = ${email}`
      expect([name, rows.length]).toEqual([name, 1])
    }
  })

  test('from robots are accepted and dropped; wrong ones are 400, unknown ones 404', async () => {
    const email = `${newId()}@example.com`
    expect((await page.send('forms/mobile-reminder', { email, _gotcha: 'x' })).status).toBe(202)
    expect(await server.database.sql`select 1 from form_submission where email = ${email}`).toHaveLength(0)
    const wrong = await page.send('forms/mobile-reminder', { email: 'nobody' })
    expect([wrong.status, wrong.body.details[0].path]).toEqual([400, 'email'])
    expect((await page.send('forms/other', { email })).status).toBe(404)
  })
})

describe('the key', () => {
  const body = { session: 's', message: 'm', rating: 'positive' }

  test.each([
    ['no origin', { origin: '' }],
    ['another origin', { origin: 'https://evil.example' }],
    ['another scheme', { origin: 'http://shop.example' }],
    ['another port', { origin: 'https://shop.example:8443' }],
    ['an opaque origin', { origin: 'null' }],
  ])('with %s is 403', async (_, headers) => {
    const answer = await page.send('feedback', body, headers)
    expect([answer.status, answer.body.code]).toEqual([403, 'page_not_allowed'])
    expect((await page.send('forms/mobile-reminder', { email: 'a@example.com' }, headers)).status).toBe(403)
  })

  test('that is missing, wrong or of another kind is 401', async () => {
    const { agentSecret, tenant } = page.agent
    for (const key of ['', 'epk_wrong', agentSecret, tenant.apiKey, `epk_${'a'.repeat(43)}`]) {
      const answer = await page.send('feedback', body, { 'x-service-publishable-key': key })
      expect([answer.status, answer.body.code]).toEqual([401, 'invalid_publishable_key'])
      expect(answer.headers.get('www-authenticate')).not.toBeNull()
    }
  })

  test('is refused at once after it is deleted', async () => {
    const { agent, keyId, feedback } = await openPage(server)
    expect((await feedback(body)).status).toBe(202)
    const admin = server.as({ apiKey: agent.tenant.apiKey })
    expect((await admin.delete(`${keysPath(agent.applicationId)}/${keyId}`)).status).toBe(204)
    expect((await feedback(body)).status).toBe(401)
    // The key of another application is none of this one.
    const foreign = await admin.delete(`${keysPath(agent.applicationId)}/${page.keyId}`)
    expect([foreign.status, foreign.body.code]).toEqual([404, 'publishable_key_not_found'])
    const { data } = (await admin.get(keysPath(agent.applicationId))).body
    expect(data).toMatchObject([{ id: keyId, origins: [ORIGIN], revokedAt: expect.any(String) }])
  })

  test('opens no operation of the interface, in whatever header it is sent', async () => {
    const { paths } = (await server.as('nobody').get('/openapi.json')).body
    let walked = 0
    for (const [path, item] of Object.entries<Record<string, { security?: object[]; requestBody?: object }>>(
      paths,
    )) {
      for (const [method, { security = [], requestBody }] of Object.entries(item)) {
        if (security.length === 0) continue
        walked++
        const places: Record<string, string>[] = [
          { 'x-service-publishable-key': page.key },
          { 'x-service-api-key': page.key },
          { 'x-service-agent-key': page.key },
          { authorization: `Bearer ${page.key}` },
        ]
        for (const headers of places) {
          const address = `${server.baseUrl}${path.replaceAll(/\{\w+\}/g, () => newId())}`
          const { status } = await fetch(address, {
            method: method.toUpperCase(),
            headers: {
              'content-type': 'application/json',
              origin: ORIGIN,
              ...headers,
            },
            ...(requestBody === undefined ? {} : { body: '{}' }),
          })
          expect([method, path, headers, status]).toEqual([method, path, headers, 401])
        }
      }
    }
    expect(walked).toBeGreaterThan(100)
    for (const path of ['/mcp', '/v1/traces']) {
      const headers = { 'x-service-publishable-key': page.key, authorization: `Bearer ${page.key}` }
      expect((await server.as('nobody').post(path, {}, headers)).status).toBe(401)
    }
  })

  test('is created by administrators only, for origins without wildcard', async () => {
    const { agent } = page
    const path = keysPath(agent.applicationId)
    const { userToken } = await server.createUser(agent.organizationId, 'analyst')
    const draft = { name: 'x', origins: [ORIGIN] }
    expect((await server.as({ userToken }).post(path, draft)).status).toBe(403)
    const admin = server.as({ apiKey: agent.tenant.apiKey })
    for (const origins of [[], ['*'], ['https://*.example'], ['https://shop.example/a'], ['shop.example']])
      expect((await admin.post(path, { name: 'x', origins })).status).toBe(400)
    const doubled = await admin.post(path, { name: 'x', origins: [ORIGIN, `${ORIGIN}:443/`] })
    expect([doubled.status, doubled.body.origins]).toEqual([201, [ORIGIN]])
    expect((await admin.get(doubled.headers.get('location') ?? '')).body.data).toContainEqual(doubled.body)
  })

  test('has at most ten live siblings', async () => {
    const { agent } = await openPage(server)
    const admin = server.as({ apiKey: agent.tenant.apiKey })
    const add = () => admin.post(keysPath(agent.applicationId), { name: 'x', origins: [ORIGIN] })
    for (let n = 1; n < 10; n++) expect((await add()).status).toBe(201)
    const refused = await add()
    expect([refused.status, refused.body.code]).toEqual([409, 'too_many_publishable_keys'])
  })
})

describe('the addresses', () => {
  test('answer a preflight of any page, without credentials', async () => {
    for (const path of ['/widget/feedback', '/widget/forms/contact']) {
      const { status, headers } = await fetch(`${server.baseUrl}${path}`, {
        method: 'OPTIONS',
        headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
      })
      expect(status).toBe(204)
      expect(headers.get('access-control-allow-methods')).toBe('POST')
      expect(headers.get('access-control-allow-headers')).toBe('Content-Type, X-Service-Publishable-Key')
      expect(headers.get('access-control-allow-credentials')).toBeNull()
    }
  })

  test('take JSON by POST only', async () => {
    expect((await server.as('nobody').get('/widget/feedback')).status).toBe(405)
    const text = await page.send('feedback', '{}', { 'content-type': 'text/plain' })
    expect(text.status).toBe(415)
    expect((await page.send('feedback', '{')).body.code).toBe('malformed_json')
  })

  test('serve the script: compressed below 6 KB, cached for an hour, and revalidated', async () => {
    const address = `${server.baseUrl}/widget/earshot.js`
    const response = await fetch(address)
    expect(await response.text()).toBe(source)
    expect(Bun.gzipSync(source).byteLength).toBeLessThan(6_000)
    const { headers } = response
    expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(headers.get('cache-control')).toBe('public, max-age=3600, stale-while-revalidate=86400')
    expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin')
    const again = await fetch(address, { headers: { 'if-none-match': headers.get('etag') ?? '' } })
    expect(again.status).toBe(304)
    expect(again.headers.get('cache-control')).toBe(headers.get('cache-control'))
    expect((await server.as('nobody').post('/widget/earshot.js', {})).status).toBe(405)
  })
})

test('limits count by address, whatever the key, and by key, whatever the address', async () => {
  const limited = await startTestServer({
    beside: server,
    env: { RATE_LIMIT_WIDGET_ADDRESS: '3', RATE_LIMIT_WIDGET_KEY: '4', TRUSTED_PROXIES: '127.0.0.0/8' },
  })
  try {
    const [one, two] = [await openPage(limited), await openPage(limited)]
    const from = async (sender: PageOfAgent, address: string, key = sender.key) => {
      const body = { session: 's', message: 'm', rating: 'positive' }
      const headers = { 'x-forwarded-for': address, 'x-service-publishable-key': key }
      return (await sender.send('feedback', body, headers)).status
    }
    expect([
      await from(one, '203.0.113.1'),
      await from(two, '203.0.113.1'),
      // A wrong key counts, too.
      await from(one, '203.0.113.1', 'epk_wrong'),
      await from(one, '203.0.113.1'),
    ]).toEqual([202, 202, 401, 429])
    expect([
      await from(one, '203.0.113.2'),
      await from(one, '203.0.113.3'),
      await from(one, '203.0.113.4'),
      await from(one, '203.0.113.5'),
      await from(two, '203.0.113.5'),
    ]).toEqual([202, 202, 202, 429, 202])
  } finally {
    await limited.stop()
  }
})

test('forms of the widget and of the website API count together for an address', async () => {
  const limited = await startTestServer({ beside: server, env: { RATE_LIMIT_FORMS: '2' } })
  try {
    const page = await openPage(limited)
    const form = { email: 'a@example.com' }
    const ofWidget = () => page.send('forms/mobile-reminder', form)
    expect((await ofWidget()).status).toBe(202)
    expect((await limited.as('nobody').post('/api/mobile-reminder', form)).status).toBe(200)
    const refused = await ofWidget()
    expect([refused.status, refused.headers.get('ratelimit-policy')]).toEqual([429, '"forms";q=2;w=60'])
    expect(refused.headers.get('access-control-allow-origin')).toBe('*')
    const feedback = { session: 's', message: 'm', rating: 'positive' }
    expect((await page.send('feedback', feedback)).status).toBe(202)
  } finally {
    await limited.stop()
  }
})
