/** The analyser behind an OpenAI-compatible server, against a real HTTP server that speaks the protocol. */
import { afterAll, expect, test } from 'bun:test'
import { AnalyzerError, type Exchange } from '../../src/analyze/analyzer.ts'
import { createOpenAiAnalyzer } from '../../src/analyze/openai.ts'

type Handler = (request: Request, body: RequestBody) => Response | Promise<Response>

interface RequestBody {
  readonly model: string
  readonly messages: readonly { readonly role: string; readonly content: string }[]
  readonly response_format: { readonly type: string; readonly json_schema: { readonly schema: unknown } }
}

const servers: Bun.Server<undefined>[] = []
afterAll(async () => {
  for (const server of servers) await server.stop(true)
})

function serve(handler: Handler): string {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => handler(request, (await request.json()) as RequestBody),
  })
  servers.push(server)
  return `http://127.0.0.1:${server.port}`
}

const completion = (content: string) =>
  Response.json({ choices: [{ message: { role: 'assistant', content } }] })
const answer = (...findings: object[]) => completion(JSON.stringify({ findings }))
const exchange = (eventId: string, text = 'SECRET words'): Exchange => ({
  eventId,
  question: text,
  answer: 'An answer.',
  followUps: ['It does not work.'],
})
const { signal } = new AbortController()
const analyzerAt = (url: string, timeout?: number) =>
  createOpenAiAnalyzer({ url, model: 'small', apiKey: 'key-1', timeout })

async function failureOf(analysis: Promise<unknown>): Promise<AnalyzerError> {
  const error = await analysis.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(AnalyzerError)
  return error as AnalyzerError
}

for (const suffix of ['', '/', '/v1', '/v1/']) {
  test(`asks POST /v1/chat/completions with key, model and JSON schema at a base that ends in “${suffix}”`, async () => {
    const url = serve((request, body) => {
      expect(request.method).toBe('POST')
      expect(new URL(request.url).pathname).toBe('/v1/chat/completions')
      expect(request.headers.get('authorization')).toBe('Bearer key-1')
      expect(body.model).toBe('small')
      expect(body.response_format.type).toBe('json_schema')
      expect(JSON.stringify(body.response_format.json_schema.schema)).toContain('repeated_question')
      expect(JSON.parse(body.messages[1]!.content)).toEqual([
        { exchange: 0, question: 'Q', answer: 'An answer.', userSaidNext: ['It does not work.'] },
      ])
      return answer({
        exchange: 0,
        kind: 'unresolved',
        rating: 'negative',
        evidence: 'It does\u0000 not work.',
      })
    })
    expect(await analyzerAt(url + suffix).analyze([exchange('a1', 'Q')], signal)).toEqual([
      { eventId: 'a1', kind: 'unresolved', rating: 'negative', comment: 'It does not work.' },
    ])
  })
}

test('findings about unknown exchanges and repeated findings of a kind are dropped', async () => {
  const finding = { exchange: 0, kind: 'resolved', rating: 'positive', evidence: '' }
  const url = serve(() =>
    answer(finding, { ...finding, rating: null }, { ...finding, exchange: 7 }, { ...finding, exchange: -1 }),
  )
  expect(await analyzerAt(url).analyze([exchange('a1')], signal)).toEqual([
    { eventId: 'a1', kind: 'resolved', rating: 'positive', comment: null },
  ])
})

test('many or long exchanges are split into several requests, in order', async () => {
  const sizes: number[] = []
  const url = serve((_, body) => {
    const data = JSON.parse(body.messages[1]!.content) as object[]
    sizes.push(data.length)
    return answer({ exchange: data.length - 1, kind: 'resolved', rating: null, evidence: 'x' })
  })
  const exchanges = [
    ...Array.from({ length: 13 }, (_, index) => exchange(`short${index}`)),
    ...Array.from({ length: 3 }, (_, index) => exchange(`long${index}`, 'x'.repeat(20_000))),
  ]
  const findings = await analyzerAt(url).analyze(exchanges, signal)
  expect(sizes).toEqual([10, 4, 1, 1])
  expect(findings.map((finding) => finding.eventId)).toEqual(['short9', 'long0', 'long1', 'long2'])
})

for (const status of [400, 413, 422]) {
  test(`${status} rejects the request: terminal`, async () => {
    const url = serve(() => new Response('SECRET words', { status }))
    const error = await failureOf(analyzerAt(url).analyze([exchange('a1')], signal))
    expect(error.retryable).toBe(false)
    expect(error.message).not.toContain('SECRET')
  })
}

for (const status of [401, 404, 408, 429, 500, 503]) {
  test(`${status} is temporary: retryable`, async () => {
    const url = serve(() => new Response('no', { status }))
    expect((await failureOf(analyzerAt(url).analyze([exchange('a1')], signal))).retryable).toBe(true)
  })
}

const unusable: Record<string, () => Response> = {
  'a body that is not JSON': () => new Response('<html>'),
  'no choices': () => Response.json({ choices: [] }),
  'content that is not JSON': () => completion('SECRET words'),
  'content of another schema': () => completion('{"findings":[{"exchange":0}]}'),
  'an unknown kind': () => answer({ exchange: 0, kind: 'hate', rating: null, evidence: '' }),
  'more than 1 MiB': () => completion('x'.repeat(2 * 1024 * 1024)),
  'a redirect': () => Response.redirect('http://127.0.0.1:1/', 307),
}
for (const [what, respond] of Object.entries(unusable)) {
  test(`an answer with ${what} is rejected and retryable`, async () => {
    const error = await failureOf(analyzerAt(serve(respond)).analyze([exchange('a1')], signal))
    expect(error.retryable).toBe(true)
    expect(error.message).not.toContain('SECRET')
  })
}

test('a slow server and an unreachable server are retryable', async () => {
  const silent = serve(() => new Promise<Response>(() => {}))
  expect((await failureOf(analyzerAt(silent, 50).analyze([exchange('a1')], signal))).retryable).toBe(true)
  expect(
    (await failureOf(analyzerAt('http://127.0.0.1:1').analyze([exchange('a1')], signal))).retryable,
  ).toBe(true)
})

test('an aborted analysis ends with the reason of the abort', async () => {
  const controller = new AbortController()
  const url = serve(() => {
    controller.abort(new Error('stopped'))
    return new Promise<Response>(() => {})
  })
  await expect(analyzerAt(url).analyze([exchange('a1')], controller.signal)).rejects.toThrow('stopped')
})
