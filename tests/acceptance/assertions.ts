/**
 * What every running Earshot must do, seen from outside. Given an address and credentials, the tests follow one
 * conversation from its first event to its deletion.
 *
 * They import nothing of the service and use only its interface. The session is new each time, so they may run against
 * a service that is in use.
 */
import { beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

export interface Target {
  /** Scheme, host, port and prefix, without a trailing slash. */
  readonly baseUrl: string
  readonly credentials: Credentials
}

/** The members of `credentials.json` that are used here. */
interface Credentials {
  readonly apiKey: string
  readonly agentKey: string
  readonly agentSecret: string
  /** null where an OpenID Connect issuer makes the tokens. */
  readonly userToken: string | null
}

const INGEST = '/v3/rest/agent-conversations/ingest'
const SESSIONS = '/v3/rest/agent-conversations/sessions'

interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: what comes over the wire is for the test to judge
  readonly body: any
}

interface Example {
  readonly agentKey: string
  readonly externalSessionId: string
  readonly status: string
  readonly events: readonly Readonly<Record<string, unknown>>[]
}

/** The first request of docs/getting-started.md, as a reader sends it. */
function documentedExample(): Example {
  return JSON.parse(readFileSync(resolve(import.meta.dir, '../../examples/conversation.json'), 'utf8'))
}

/** Registers the tests, which run in this order. `start` brings the target up. */
export function describeService(title: string, start: () => Promise<Target>): void {
  describe(title, () => {
    let target: Target
    const externalSessionId = `acceptance ${crypto.randomUUID()}`
    let sessionId = ''
    beforeAll(async () => {
      target = await start()
    }, 300_000)

    const call = async (
      method: string,
      path: string,
      headers: Record<string, string> = {},
      body?: unknown,
    ): Promise<Answer> => {
      const response = await fetch(`${target.baseUrl}${path}`, {
        method,
        headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const text = await response.text()
      const isJson = response.headers.get('content-type')?.includes('json') ?? false
      return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
    }
    const secret = () => ({ 'x-service-agent-key': target.credentials.agentSecret })
    const key = () => ({ 'x-service-api-key': target.credentials.apiKey })
    const example = (): Example => ({
      ...documentedExample(),
      agentKey: target.credentials.agentKey,
      externalSessionId,
    })
    const ingest = (body: unknown, headers: Record<string, string> = secret()) =>
      call('POST', INGEST, headers, body)
    /** The example's event at `index` alone, with other members. */
    const changed = (index: number, members: object) => ({
      ...example(),
      events: [{ ...example().events[index], ...members }],
    })

    test('is alive and ready', async () => {
      expect(await call('GET', '/health')).toMatchObject({ status: 200 })
      expect(await call('GET', '/ready')).toMatchObject({ status: 200, body: { status: 'ready' } })
      expect((await call('GET', '/metrics')).body).toContain('# TYPE ')
    })

    test('serves its documentation from itself', async () => {
      const page = await call('GET', '/docs')
      expect(page.status).toBe(200)
      const assets = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(
        ([, path]) => new URL(path, `${target.baseUrl}/docs`),
      )
      expect(assets.length).toBeGreaterThan(1)
      for (const asset of assets) {
        expect(asset.origin).toBe(new URL(target.baseUrl).origin)
        expect((await fetch(asset)).status).toBe(200)
      }
      const document = await call('GET', '/openapi.json')
      expect(document.body.openapi).toStartWith('3.1')
      for (const status of ['200', '400', '401', '404', '409'])
        expect(document.body.paths[INGEST].post.responses[status]).toBeObject()
    })

    test('ingests the example of the documentation', async () => {
      const answer = await ingest(example())
      expect(answer.status).toBe(200)
      sessionId = answer.body.sessionId
      expect(answer.body).toEqual({
        sessionId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        acceptedEventCount: 3,
        deduplicatedEventCount: 0,
        revisedEventCount: 0,
        processingStatus: 'pending',
        nextSequence: 4,
      })
    })

    test('recognises the retry', async () => {
      const answer = await ingest(example())
      expect(answer).toMatchObject({
        status: 200,
        body: { sessionId, acceptedEventCount: 0, deduplicatedEventCount: 3, revisedEventCount: 0 },
      })
    })

    test('takes a revision', async () => {
      const answer = await ingest(changed(1, { revision: 2, content: 'Under Billing.' }))
      expect(answer).toMatchObject({
        status: 200,
        body: { sessionId, acceptedEventCount: 0, deduplicatedEventCount: 0, revisedEventCount: 1 },
      })
    })

    test('refuses what contradicts it: 409 with a code and the place', async () => {
      const answer = await ingest(changed(0, { content: 'Something else' }))
      expect(answer).toMatchObject({
        status: 409,
        body: { statusCode: 409, code: 'event_changed', path: INGEST, eventIndex: 0, externalEventId: 'm1' },
      })
      expect(answer.headers.get('x-request-id')).toBe(answer.body.requestId)
    })

    test('refuses strangers: 401 without the secret, with a wrong one, with the API key', async () => {
      const { apiKey } = target.credentials
      for (const headers of [
        {},
        { 'x-service-agent-key': 'wrong' },
        { 'x-service-agent-key': apiKey },
        key(),
      ]) {
        const answer = await ingest(example(), headers as Record<string, string>)
        expect(answer).toMatchObject({ status: 401, body: { code: 'invalid_agent_secret' } })
        expect(answer.headers.get('www-authenticate')).toBeString()
      }
      expect(await call('GET', SESSIONS, secret())).toMatchObject({ status: 401 })
    })

    test('refuses what it does not understand', async () => {
      expect(await ingest('{')).toMatchObject({ status: 400, body: { code: 'malformed_json' } })
      expect(await ingest(changed(0, { sequence: '5' }))).toMatchObject({
        status: 400,
        body: { code: 'validation_failed' },
      })
      expect(await ingest({ ...example(), agentKey: 'nobody' })).toMatchObject({ status: 404 })
      expect(await call('GET', INGEST)).toMatchObject({ status: 405 })
      expect(await call('GET', '/v3/rest/nothing')).toMatchObject({
        status: 404,
        body: { code: 'not_found' },
      })
    })

    test('makes the signal of the feedback, and says when the session is done', async () => {
      const session = await until(async () => {
        const answer = await call('GET', `${SESSIONS}/${sessionId}`, key())
        return answer.body.processingStatus === 'completed' && answer
      })
      expect(session.body).toMatchObject({
        id: sessionId,
        externalSessionId,
        agentKey: target.credentials.agentKey,
        status: 'ended',
        processedThroughSequence: 3,
        events: {
          data: [
            { externalEventId: 'm1', revision: 1, type: 'user_message' },
            { externalEventId: 'm2', revision: 2, type: 'assistant_message', content: 'Under Billing.' },
            { externalEventId: 'f1', revision: 1, type: 'feedback' },
          ],
        },
      })
      const signals = await call(
        'GET',
        `/v3/rest/signals?sessionId=${sessionId}&source=explicit_feedback`,
        key(),
      )
      expect(signals.body.data).toMatchObject([
        {
          sessionId,
          rating: 'positive',
          comment: 'Found it at once.',
          externalEventId: 'f1',
          targetEventExternalId: 'm2',
          sequence: 3,
        },
      ])
    })

    test('is read by a user of the organization too', async () => {
      const { userToken } = target.credentials
      if (userToken === null) return
      const answer = await call('GET', `${SESSIONS}/${sessionId}`, { authorization: `Bearer ${userToken}` })
      expect(answer).toMatchObject({ status: 200, body: { id: sessionId } })
    })

    test('keeps the superseded revision', async () => {
      const path = `${SESSIONS}/${sessionId}/events/m2/revisions`
      const { data } = (await call('GET', path, key())).body
      expect(data.map(({ revision }: { readonly revision: number }) => revision).sort()).toEqual([1, 2])
    })

    test('deletes the session with its events and signals', async () => {
      expect((await call('DELETE', `${SESSIONS}/${sessionId}`, key())).status).toBe(204)
      expect((await call('GET', `${SESSIONS}/${sessionId}`, key())).status).toBe(404)
      expect((await call('DELETE', `${SESSIONS}/${sessionId}`, key())).status).toBe(404)
      const signals = await call('GET', `/v3/rest/signals?sessionId=${sessionId}`, key())
      expect(signals.body.data ?? []).toEqual([])
    })
  })
}

const DEADLINE_MS = 30_000

async function until<T>(attempt: () => Promise<T | false>): Promise<T> {
  const deadline = Date.now() + DEADLINE_MS
  for (;;) {
    const value = await attempt()
    if (value !== false) return value
    if (Date.now() > deadline) throw new Error(`not within ${DEADLINE_MS} ms`)
    await Bun.sleep(50)
  }
}
