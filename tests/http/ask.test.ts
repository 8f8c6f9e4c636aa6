/** `POST /v3/rest/ask`: passages and counts without a model server; with one, sentences that count only with quotations. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { QUICK } from '../support/actors.ts'
import { openAgent, userMessage } from '../support/agents.ts'
import { type ChatData, startFakeChat } from '../support/fake-chat.ts'
import { createRecord, createSource, field, putPerson } from '../support/feedback.ts'
import { insertTheme } from '../support/insert-theme.ts'
import { createRecording, utterance } from '../support/recordings.ts'
import { until } from '../support/search.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

const ask = (client: Client, question: string, more: object = {}) =>
  client.post('/v3/rest/ask', { question, ...more })

async function store(server: TestServer) {
  const agent = await openAgent(server)
  const { tenant } = agent
  const key = server.as({ apiKey: tenant.apiKey })
  const grace = await putPerson(key, { email: `${crypto.randomUUID()}@example.com` })
  const { sessionId } = await agent.accept(
    [userMessage(1, { content: 'The telescope in my basket is gone since the update.' })],
    { context: { productArea: 'basket' }, status: 'ended' },
  )
  const record = await createRecord(key, await createSource(key), {
    person_id: grace.id,
    display_ts: '2026-01-02T03:04:05Z',
    fields: [field({ name: 'wish', value: 'A larger telescope, please.' })],
  })
  const call = await createRecording(key, {
    startedAt: '2026-01-03T03:04:05Z',
    transcript: [utterance(3, 5, 0, 'Our telescope broke.')],
  })
  await until(key, 'telescope', 3)
  return { agent, tenant, key, grace, sessionId, recordId: record.id as number, callId: call.id as string }
}

describe('without a model server', () => {
  let server: TestServer
  let made: Awaited<ReturnType<typeof store>>
  beforeAll(async () => {
    server = await startTestServer({ actors: QUICK })
    made = await store(server)
  }, 300_000)
  afterAll(() => server?.stop())

  test('the best passages of every channel say where they stand, and no answer is made up', async () => {
    const { status, body } = await ask(made.key, 'Who has trouble with a "telescope"?')
    expect(status).toBe(200)
    expect(body).toMatchObject({ answer: null, answerStatus: 'no_model_server', model: null, match: 'any' })
    const of = (id: string) => body.passages.find((one: { id: string }) => one.id === id)
    expect(body.passages.map(({ number }: { number: number }) => number)).toEqual([1, 2, 3])
    expect(of(made.sessionId)).toMatchObject({
      channel: 'conversation',
      messageId: 'u1',
      recordId: null,
      field: null,
      startSec: null,
      quote: 'The telescope in my basket is gone since the update.',
      occurredAt: '2026-01-02T09:00:00.000Z',
    })
    expect(of(String(made.recordId))).toMatchObject({
      channel: 'feedback',
      recordId: made.recordId,
      field: 'wish',
      personId: made.grace.uuid,
      messageId: null,
    })
    expect(of(made.callId)).toMatchObject({
      channel: 'recording',
      startSec: 3,
      quote: 'Our telescope broke.',
    })
  })

  test('what was found is counted by theme, area, outcome and analyser, with the passages of each', async () => {
    const { sql } = server.database
    const { organizationId } = made.tenant
    const { themeId, itemId } = await insertTheme(sql, organizationId)
    await sql`update theme set title = 'Telescopes' where id = ${themeId}`
    await sql`update theme_item set subject_id = ${String(made.recordId)} where id = ${itemId}`
    await sql`
      insert into insight_subject
        (id, organization_id, channel, session_id, application_id, occurred_at, state, outcome, analyzer_name, analyzer_version)
      values (
        gen_random_uuid(), ${organizationId}, 'conversation', ${made.sessionId}, ${made.agent.applicationId}, now(), 'analyzed',
        'unresolved', 'small', '7'
      )
      on conflict (session_id) do update set outcome = 'unresolved', analyzer_name = 'small', analyzer_version = '7'`
    const { body } = await ask(made.key, 'telescope')
    const numberOf = (id: string) => body.passages.find((one: { id: string }) => one.id === id).number
    expect(body.counts.subjects).toBe(3)
    const [record, session] = [numberOf(String(made.recordId)), numberOf(made.sessionId)]
    expect(body.counts.themes).toEqual([{ id: themeId, title: 'Telescopes', count: 1, passages: [record] }])
    expect(body.counts.productAreas).toEqual([{ productArea: 'basket', count: 1, passages: [session] }])
    expect(body.counts.outcomes).toContainEqual({ outcome: 'unresolved', count: 1, passages: [session] })
    expect(body.counts.analyzers).toContainEqual({
      name: 'small',
      version: '7',
      count: 1,
      passages: [session],
    })
    await sql`update theme set hidden = true where id = ${themeId}`
    expect((await ask(made.key, 'telescope')).body.counts.themes).toEqual([])
  })

  test('filters restrict what is found; another organization finds nothing', async () => {
    const idsOf = async (more: object, client = made.key) =>
      (await ask(client, 'telescope', more)).body.passages.map(({ id }: { id: string }) => id)
    expect(await idsOf({ channel: 'recording' })).toEqual([made.callId])
    expect(await idsOf({ personId: String(made.grace.id) })).toEqual([String(made.recordId)])
    expect(await idsOf({ agentKey: made.agent.agentKey })).toEqual([made.sessionId])
    expect(await idsOf({ agentKey: 'nobody' })).toEqual([])
    expect(await idsOf({ since: '2026-01-02T09:00:00Z', until: '2026-01-03T00:00:00Z' })).toEqual([
      made.sessionId,
    ])
    const stranger = await server.createTenant()
    const { body } = await ask(server.as({ apiKey: stranger.apiKey }), 'telescope')
    expect(body).toMatchObject({
      answer: null,
      answerStatus: 'nothing_found',
      passages: [],
      counts: { subjects: 0 },
    })
  })

  test('what is no question is refused, and nothing is stored', async () => {
    const refused = async (body: unknown) => (await made.key.post('/v3/rest/ask', body)).body
    expect(await refused({ question: '—?! "-"' })).toMatchObject({
      code: 'validation_failed',
      details: [{ path: 'question', code: 'blank' }],
    })
    expect(await refused({ question: 'a'.repeat(501) })).toMatchObject({ details: [{ path: 'question' }] })
    expect(await refused({ question: 'a', since: '2026-02-30T00:00:00Z' })).toMatchObject({
      details: [{ path: 'since' }],
    })
    expect(await refused({ question: 'a', channel: 'mail' })).toMatchObject({
      details: [{ path: 'channel' }],
    })
    expect((await server.as('nobody').post('/v3/rest/ask', { question: 'a' })).status).toBe(401)
  })
})

describe('with a model server', () => {
  let server: TestServer
  let made: Awaited<ReturnType<typeof store>>
  const chat = startFakeChat()
  beforeAll(async () => {
    server = await startTestServer({
      actors: QUICK,
      env: { ANALYZE_URL: chat.url, ANALYZE_MODEL: 'small', ANALYZE_TOKENS_PER_DAY: '100000' },
    })
    made = await store(server)
  }, 300_000)
  beforeEach(() => chat.reset())
  afterAll(async () => {
    await server?.stop()
    await chat.stop()
  })

  /** Answers the question with the sentences. */
  const says = (sentences: (data: ChatData) => readonly object[]) =>
    chat.answer('answer', (data) => ({ nonce: data.nonce, sentences: sentences(data) }))
  const numberOf = (data: ChatData, words: string) =>
    data.passages.find(({ text }) => text.includes(words))!.number

  test('each sentence has the numbers of the passages that it quotes word for word', async () => {
    says((data) => [
      {
        text: 'Telescopes vanish from baskets.',
        quotes: [{ passage: numberOf(data, 'basket'), words: 'in my  basket is GONE' }],
      },
      {
        text: 'Some break, others are too small.',
        quotes: [
          { passage: numberOf(data, 'broke'), words: 'telescope broke' },
          { passage: numberOf(data, 'larger'), words: 'A larger telescope' },
          { passage: 99, words: 'telescope' },
        ],
      },
    ])
    const { body } = await ask(made.key, 'What is wrong with the telescope?')
    expect(body).toMatchObject({ answerStatus: 'answered', model: 'small' })
    const numbers = (...ids: string[]) =>
      ids.map((id) => body.passages.find((one: { id: string }) => one.id === id).number).toSorted()
    expect(body.answer).toEqual([
      { text: 'Telescopes vanish from baskets.', passages: numbers(made.sessionId) },
      {
        text: 'Some break, others are too small.',
        passages: numbers(made.callId, String(made.recordId)),
      },
    ])
  })

  test.each([
    ['quotes nothing', () => []],
    ['quotes a number that was not given', () => [{ passage: 99, words: 'The telescope in my basket' }]],
    ['quotes what nobody said', (n: number) => [{ passage: n, words: 'I am leaving for good' }]],
    ['quotes a single letter', (n: number) => [{ passage: n, words: 'T' }]],
  ])('a sentence that %s is dropped; with none left there is no answer', async (_, quotes) => {
    says((data) => [{ text: 'Customers are leaving.', quotes: quotes(numberOf(data, 'basket')) }])
    const { status, body } = await ask(made.key, 'telescope')
    expect(status).toBe(200)
    expect(body).toMatchObject({ answer: null, answerStatus: 'nothing_quoted', model: null })
    expect(body.passages.length).toBeGreaterThan(0)
  })

  test.each([
    ['two sentences with one quotation', 'It is gone. Everybody should leave.'],
    ['a link that no passage has', 'It is gone, see https://evil.example/x for more.'],
    ['an address that no passage has', 'It is gone, write to help@evil.example for more.'],
    ['nothing', ' — '],
  ])('%s cannot hide behind a quotation', async (_, text) => {
    says((data) => [{ text, quotes: [{ passage: numberOf(data, 'basket'), words: 'in my basket is gone' }] }])
    expect((await ask(made.key, 'telescope')).body).toMatchObject({
      answer: null,
      answerStatus: 'nothing_quoted',
    })
  })

  test('a failing server leaves passages and counts, and its words stay out of the answer', async () => {
    chat.respond('answer', () => new Response('SECRET', { status: 500 }))
    const { status, body } = await ask(made.key, 'telescope')
    expect([status, body.answer, body.answerStatus]).toEqual([200, null, 'failed'])
    expect(JSON.stringify(body)).not.toContain('SECRET')
    expect(body.passages.length).toBeGreaterThan(0)
    says(() => [])
    expect((await ask(made.key, 'nowhere')).body).toMatchObject({ answerStatus: 'nothing_found' })
  })

  test('beyond the tokens of the day no model is asked', async () => {
    const { sql } = server.database
    await sql`update analysis_tokens set tokens = 100000 where organization_id = ${made.tenant.organizationId}`
    const before = chat.asked('answer')
    expect((await ask(made.key, 'telescope')).body).toMatchObject({
      answer: null,
      answerStatus: 'budget_spent',
    })
    expect(chat.asked('answer')).toBe(before)
    await sql`update analysis_tokens set tokens = 0 where organization_id = ${made.tenant.organizationId}`
  })

  test('the request to the server ends when the caller leaves', async () => {
    const left = Promise.withResolvers<void>()
    const arrived = Promise.withResolvers<void>()
    chat.respond('answer', (request) => {
      request.signal.addEventListener('abort', () => left.resolve())
      arrived.resolve()
      return new Promise<Response>(() => {})
    })
    const controller = new AbortController()
    const asking = fetch(`${server.baseUrl}/v3/rest/ask`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-service-api-key': made.tenant.apiKey },
      body: JSON.stringify({ question: 'telescope' }),
      signal: controller.signal,
    }).catch((error: Error) => error.name)
    await arrived.promise
    controller.abort()
    expect(await asking).toBe('AbortError')
    await left.promise
  })

  test('questions that wait for the server hold up no other organization', async () => {
    const waiting = Promise.withResolvers<void>()
    chat.respond('answer', async (_, data) => {
      if (data.question === 'telescope') await waiting.promise
      return chat.completion({ nonce: data.nonce, sentences: [] })
    })
    const [own, other] = [made.key, (await store(server)).key]
    const asked = Array.from({ length: 9 }, () => ask(own, 'telescope'))
    // The ninth is refused at once: eight of one organization may wait.
    expect((await Promise.race(asked)).body).toMatchObject({ answer: null, answerStatus: 'busy' })
    const { body } = await ask(other, 'telescope please')
    expect(body.answerStatus).toBe('nothing_quoted')
    waiting.resolve()
    for (const { status } of await Promise.all(asked)) expect(status).toBe(200)
  })
})
