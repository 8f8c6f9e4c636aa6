/**
 * Limits of agent ingestion (specification, "Limits"), each tested at the limit and one beyond it: events and bytes of a request,
 * bytes of an event, context properties, labels, participants, lengths.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  type Agent,
  assistantMessage,
  feedbackOn,
  INGEST,
  openAgent,
  refused,
  type SentEvent,
  userMessage,
} from '../support/agents.ts'
import { rawPost } from '../support/raw-http.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const MAX_EVENTS = 500
const MAX_EVENT_BYTES = 256 * 1024
const MAX_REQUEST_BYTES = 2 * 1024 * 1024

let server: TestServer
let agent: Agent
beforeAll(async () => {
  server = await startTestServer()
  agent = await openAgent(server)
})
afterAll(() => server.stop())

const events = (count: number, first = 0) =>
  Array.from({ length: count }, (_, index) => userMessage(first + index))

const sessionOf = (externalSessionId: string) => ({ externalSessionId })

/** An event whose JSON has exactly `bytes` bytes. */
function eventOf(bytes: number, sequence: number, filler = 'x'): SentEvent {
  const empty = Buffer.byteLength(JSON.stringify(userMessage(sequence, { content: '' })))
  const each = Buffer.byteLength(filler)
  const content = filler.repeat(Math.floor((bytes - empty) / each))
  return userMessage(sequence, { content: content + 'x'.repeat((bytes - empty) % each) })
}

/** The JSON of a request with exactly `bytes` bytes. None of its events is too large. */
function requestOf(bytes: number, externalSessionId: string): string {
  const big = Array.from({ length: 7 }, (_, index) => eventOf(MAX_EVENT_BYTES, index))
  const without = JSON.stringify(
    agent.request([...big, userMessage(7, { content: '' })], { externalSessionId }),
  )
  const content = 'x'.repeat(bytes - Buffer.byteLength(without))
  return JSON.stringify(agent.request([...big, userMessage(7, { content })], { externalSessionId }))
}

describe('events of a request', () => {
  test('500 are stored, 501 are 400 too_many_events', async () => {
    expect(await agent.accept(events(MAX_EVENTS), sessionOf('500'))).toMatchObject({
      acceptedEventCount: MAX_EVENTS,
    })
    const answer = await agent.refuse('too_many_events', events(MAX_EVENTS + 1), sessionOf('501'))
    expect(answer.body).toMatchObject({ limit: MAX_EVENTS, actual: MAX_EVENTS + 1 })
  })

  test('501 are refused even where all of them are retries', async () => {
    await agent.refuse('too_many_events', [...events(MAX_EVENTS), userMessage(0)], sessionOf('500'))
  })
})

describe('bytes of an event', () => {
  test('256 KiB are stored, one byte more is 400 event_too_large naming index and id', async () => {
    await agent.accept([userMessage(0), eventOf(MAX_EVENT_BYTES, 1)], sessionOf('event'))
    const answer = await agent.refuse(
      'event_too_large',
      [userMessage(2), eventOf(MAX_EVENT_BYTES + 1, 3)],
      sessionOf('event'),
    )
    expect(answer.body).toMatchObject({
      eventIndex: 1,
      externalEventId: 'u3',
      limitBytes: MAX_EVENT_BYTES,
      actualBytes: MAX_EVENT_BYTES + 1,
    })
  })

  test('the limit counts bytes, not characters', async () => {
    await agent.accept([eventOf(MAX_EVENT_BYTES, 1, '😀')], sessionOf('emoji'))
    await agent.refuse('event_too_large', [eventOf(MAX_EVENT_BYTES + 1, 2, '😀')], sessionOf('emoji'))
  })

  test('white space around an event does not count', async () => {
    const body = JSON.stringify(agent.request([eventOf(MAX_EVENT_BYTES, 1)], sessionOf('space')), null, 4)
    expect(Buffer.byteLength(body)).toBeGreaterThan(MAX_EVENT_BYTES)
    expect((await agent.post(body)).status).toBe(200)
  })
})

describe('bytes of a request', () => {
  const tooLarge = 'payload_too_large'
  const headers = () => ({ 'x-service-agent-key': agent.agentSecret })

  test('2 MiB are stored, one byte more is 400 payload_too_large', async () => {
    expect((await agent.post(requestOf(MAX_REQUEST_BYTES, '2 MiB'))).status).toBe(200)
    const answer = await refused(server, tooLarge, () =>
      agent.post(requestOf(MAX_REQUEST_BYTES + 1, '2 MiB + 1')),
    )
    expect(answer.body).toMatchObject({
      limitBytes: MAX_REQUEST_BYTES,
      actualBytes: MAX_REQUEST_BYTES + 1,
    })
  })

  test('the same in chunks, without Content-Length', async () => {
    const chunked = (bytes: number, session: string) =>
      rawPost(server.baseUrl, {
        path: INGEST,
        headers: headers(),
        body: { chunked: Buffer.from(requestOf(bytes, session)) },
      })
    expect(await chunked(MAX_REQUEST_BYTES, 'chunks')).toMatchObject({ status: 200 })
    const answer = await chunked(MAX_REQUEST_BYTES + 1, 'chunks + 1')
    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.body)).toMatchObject({ code: tooLarge, limitBytes: MAX_REQUEST_BYTES })
  })

  test('a Content-Length beyond the limit is refused before the body arrives', async () => {
    const answer = await rawPost(server.baseUrl, {
      path: INGEST,
      headers: { ...headers(), 'content-length': String(MAX_REQUEST_BYTES + 1) },
      body: 'none',
    })
    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.body)).toMatchObject({ code: tooLarge })
  })

  test('the service reads little more than the limit of an endless body', async () => {
    const before = process.memoryUsage.rss()
    const answer = await rawPost(server.baseUrl, {
      path: INGEST,
      headers: headers(),
      body: 'endless',
      maxBytes: 256 * 1024 * 1024,
    })
    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.body)).toMatchObject({ code: tooLarge })
    // What the sockets of both sides and one read of the server hold comes on top of the limit.
    expect(answer.bytesSent).toBeLessThan(MAX_REQUEST_BYTES + 24 * 1024 * 1024)
    expect(process.memoryUsage.rss() - before).toBeLessThan(128 * 1024 * 1024)
  })

  test('without a valid secret the service reads nothing of the body', async () => {
    const answer = await rawPost(server.baseUrl, {
      path: INGEST,
      headers: { 'content-length': '100' },
      body: 'none',
    })
    expect(answer.status).toBe(401)
  })
})

describe('counts and lengths', () => {
  const properties = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, index]))

  test('50 context properties are stored, 51 are 400; of the session and of each event', async () => {
    await agent.accept([userMessage(0, { context: { properties: properties(50) } })], {
      ...sessionOf('properties'),
      context: { properties: properties(50) },
    })
    const session = { ...sessionOf('properties'), context: { properties: properties(51) } }
    expect((await agent.refuse('validation_failed', [userMessage(1)], session)).body.details).toMatchObject([
      { path: 'context.properties' },
    ])
    const event = userMessage(1, { context: { properties: properties(51) } })
    expect(
      (await agent.refuse('validation_failed', [event], sessionOf('properties'))).body.details,
    ).toMatchObject([{ path: 'events[0].context.properties' }])
  })

  test('a property may be any JSON value', async () => {
    const values = {
      a: null,
      b: true,
      c: -1.5e-7,
      d: 'text',
      e: [1, [2]],
      f: { g: {} },
      '': 'empty',
      __proto: 1,
    }
    const { sessionId } = await agent.accept([userMessage(0)], {
      ...sessionOf('any value'),
      context: { properties: values },
    })
    const [row] = await server.database.sql`select context from agent_session where id = ${sessionId}`
    expect(row?.context).toEqual({ properties: values })
  })

  test('50 labels are stored, 51 are 400', async () => {
    const labels = Array.from({ length: 51 }, (_, index) => `label ${index}`)
    const session = sessionOf('labels')
    await agent.accept([assistantMessage(1), feedbackOn('a1', 2, { labels: labels.slice(1) })], session)
    await agent.refuse('validation_failed', [feedbackOn('a1', 3, { labels })], session)
  })

  test('500 participants are stored, 501 are 400', async () => {
    const participants = Array.from({ length: 501 }, (_, index) => ({ externalId: `p${index}` }))
    const session = sessionOf('participants')
    await agent.accept([userMessage(1)], { ...session, participants: participants.slice(1) })
    await agent.refuse('validation_failed', [userMessage(2)], { ...session, participants })
  })

  test('a session has at most 1,000 participants over all requests, and present ones may change', async () => {
    const session = sessionOf('participants of many requests')
    const send = (first: number, count: number, displayName: string) =>
      agent.send([userMessage(first)], {
        ...session,
        participants: Array.from({ length: count }, (_, index) => ({
          externalId: `p${first + index}`,
          displayName,
        })),
      })
    expect((await send(0, 500, 'Ada')).status).toBe(200)
    expect((await send(500, 500, 'Ada')).status).toBe(200)
    expect((await send(499, 500, 'Grace')).status).toBe(200)
    const answer = await refused(server, 'validation_failed', () => send(501, 500, 'Ada'))
    expect(answer.body.details).toMatchObject([{ path: 'participants', code: 'length' }])
  })

  test('ids have 1 to 512 code points that are not all white space', async () => {
    const long = (count: number) => String.fromCodePoint(...Array.from({ length: count }, randomEmoji))
    const session = sessionOf(long(512))
    const good = userMessage(1, { externalEventId: long(512) })
    expect(await agent.accept([good], session)).toMatchObject({ acceptedEventCount: 1 })
    expect(await agent.accept([good], session)).toMatchObject({ deduplicatedEventCount: 1 })
    for (const bad of ['', ' \t', 'x'.repeat(513), long(513)]) {
      await agent.refuse('validation_failed', [userMessage(2, { externalEventId: bad })], session)
      await agent.refuse('validation_failed', [userMessage(2)], sessionOf(bad))
    }
  })
})

/** Four bytes of UTF-8 for each code point that do not compress: the largest ids that an index must hold. */
function randomEmoji(): number {
  return 0x1f300 + Math.floor(Math.random() * 0x300)
}
