/**
 * The exporters of OpenTelemetry for JavaScript against the service: both encodings, compression, and what they do after 429, 503, a
 * lost answer, a refusal and a partial success.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { DiagLogLevel, diag, trace } from '@opentelemetry/api'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as BinaryExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { CompressionAlgorithm } from '@opentelemetry/otlp-exporter-base'
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { ERRORS } from '../../src/app/error-catalogue.ts'
import { failure } from '../../src/hear/otlp/answer.ts'
import { MAX_TEXT } from '../../src/hear/otlp/model.ts'
import { AppError } from '../../src/platform/errors.ts'
import { type Agent, openAgent } from '../support/agents.ts'
import { settle, storedEvents, TRACES } from '../support/otlp.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
const cleanups: (() => unknown)[] = []
beforeAll(async () => {
  server = await startTestServer({ actors: true })
})
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})
afterAll(() => server.stop())

const EXPORTERS = [
  ['binary', BinaryExporter],
  ['JSON', JsonExporter],
] as const

const messages = (role: string, content: string) =>
  JSON.stringify([{ role, parts: [{ type: 'text', content }] }])

function sayIn(provider: BasicTracerProvider, question: string): void {
  const span = provider.getTracer('test').startSpan('agent')
  span.setAttributes({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.conversation.id': 'chat',
    'gen_ai.input.messages': messages('user', question),
    'gen_ai.output.messages': messages('assistant', 'Yes.'),
  })
  span.end()
}

/** Spans as an exporter gets them. */
function spansThatSay(...questions: readonly string[]): ReadableSpan[] {
  const memory = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(memory)] })
  for (const question of questions) sayIn(provider, question)
  return memory.getFinishedSpans()
}

type Step = 'pass' | 'lose' | AppError

/** A server in front of the service. It treats each request as the next step says, and passes on all behind the last step. */
function front(encoding: 'json' | 'protobuf', ...steps: Step[]) {
  const bodies: string[] = []
  const proxy = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const body = await request.arrayBuffer()
      bodies.push(Bun.SHA256.hash(body, 'hex'))
      const step = steps[bodies.length - 1] ?? 'pass'
      if (step instanceof AppError) return failure(encoding, step, ERRORS)
      const passed = await fetch(`${server.baseUrl}${TRACES}`, {
        method: 'POST',
        headers: request.headers,
        body,
      })
      return step === 'pass' ? passed : new Response(null, { status: 502 })
    },
  })
  cleanups.push(() => proxy.stop(true))
  return { url: `http://127.0.0.1:${proxy.port}${TRACES}`, bodies }
}

const headersOf = (agent: Agent) => ({ 'x-service-agent-key': agent.agentSecret })

function send(
  exporter: BinaryExporter | JsonExporter,
  spans: ReadableSpan[],
): Promise<'success' | 'failure'> {
  cleanups.push(() => exporter.shutdown())
  return new Promise((resolve) =>
    exporter.export(spans, ({ code }) => resolve(code === 0 ? 'success' : 'failure')),
  )
}

async function storedQuestions(agent: Agent): Promise<readonly unknown[]> {
  await settle(server)
  const events = await storedEvents(server, agent)
  return events.filter(({ type }) => type === 'user_message').map(({ body }) => body.content)
}

const busy = (retryAfter: string) =>
  new AppError('rate_limited', 'Too many requests.', { headers: { 'retry-after': retryAfter } })

describe.each(EXPORTERS)('the exporter in the %s encoding', (name, Exporter) => {
  const encoding = name === 'JSON' ? 'json' : 'protobuf'

  test('sends the conversation of an application in compressed batches', async () => {
    const agent = await openAgent(server)
    const exporter = new Exporter({
      url: `${server.baseUrl}${TRACES}`,
      headers: headersOf(agent),
      compression: CompressionAlgorithm.GZIP,
    })
    const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] })
    sayIn(provider, 'Is it open today?')
    await provider.shutdown()
    expect(await storedQuestions(agent)).toEqual(['Is it open today?'])
  })

  test.each([
    ['429', busy('1')],
    ['503', new AppError('unavailable', 'The database is away.')],
  ])('sends the same body again after %s, and everything is stored once', async (_, refusal) => {
    const agent = await openAgent(server)
    const { url, bodies } = front(encoding, refusal)
    const result = await send(
      new Exporter({ url, headers: headersOf(agent) }),
      spansThatSay('Are you there?'),
    )
    expect([result, bodies.length, new Set(bodies).size]).toEqual(['success', 2, 1])
    expect(await storedQuestions(agent)).toEqual(['Are you there?'])
  })

  test('sends again where the answer was lost, and everything is stored once', async () => {
    const agent = await openAgent(server)
    const { url, bodies } = front(encoding, 'lose')
    const result = await send(new Exporter({ url, headers: headersOf(agent) }), spansThatSay('Once?'))
    expect([result, bodies.length]).toEqual(['success', 2])
    expect(await storedQuestions(agent)).toEqual(['Once?'])
  })

  test('gives up where Retry-After is beyond its time limit', async () => {
    const agent = await openAgent(server)
    const { url, bodies } = front(encoding, busy('60'))
    expect(await send(new Exporter({ url, headers: headersOf(agent) }), spansThatSay('Now?'))).toBe('failure')
    expect(bodies).toHaveLength(1)
  })

  test('does not send again after another refusal', async () => {
    const { url, bodies } = front(encoding)
    const headers = { 'x-service-agent-key': 'wrong' }
    expect(await send(new Exporter({ url, headers }), spansThatSay('Who?'))).toBe('failure')
    expect(bodies).toHaveLength(1)
  })

  test('reads a partial success: a warning, and the other spans are stored', async () => {
    const warnings: string[] = []
    const ignore = () => {}
    const warn = (...parts: unknown[]) => warnings.push(parts.map(String).join(' '))
    diag.setLogger({ error: ignore, warn, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN)
    cleanups.push(() => {
      diag.disable()
      trace.disable()
    })
    const agent = await openAgent(server)
    const { url, bodies } = front(encoding)
    const spans = spansThatSay('Short?', `Long? ${'x'.repeat(MAX_TEXT)}`)
    const result = await send(new Exporter({ url, headers: headersOf(agent) }), spans)
    expect([result, bodies.length]).toEqual(['success', 1])
    const told = warnings.filter((warning) => warning.includes('Partial Success'))
    expect(told).toHaveLength(1)
    expect(told[0]).toContain(`a message has more than ${MAX_TEXT} characters`)
    expect(await storedQuestions(agent)).toEqual(['Short?'])
  })
})
