/**
 * Servers that speak dialects of the OpenAI protocol, as their documentation and the servers themselves show: what each refuses, how, and
 * that the analyser then reads with it.
 */
import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { createChatServer } from '../../src/analysis/analyze/chat.ts'
import type { Subject } from '../../src/analysis/analyze/insight.ts'
import { createModelServerAnalyzer } from '../../src/analysis/analyze/model-server.ts'
import { partsOf } from '../../src/analysis/analyze/parts.rules.ts'
import { OpenAiError, postToOpenAi } from '../../src/platform/net/openai-compatible.ts'
import { refusalOf } from '../../src/platform/net/openai-refusal.rules.ts'
import { type ChatBody, startFakeChat } from '../support/fake-chat.ts'

const chat = startFakeChat()
afterAll(() => chat.stop())
beforeEach(() => chat.reset())

const { signal } = new AbortController()
const SUBJECT: Subject = { channel: 'conversation', said: [{ own: false, text: 'The export crashes.' }] }
const analyzer = () =>
  createModelServerAnalyzer(createChatServer({ url: chat.url, model: 'small', apiKey: null, timeout: 5_000 }))
const json = (status: number, body: unknown): Response => Response.json(body, { status })
const error = (message: string, more: object = {}) => json(400, { error: { message, ...more } })

/** Refuses bodies that `refuse` returns a response for. @returns the bodies that arrived */
function strict(refuse: (body: ChatBody) => Response | null): readonly ChatBody[] {
  const bodies: ChatBody[] = []
  const respond = (_: Request, data: { readonly nonce: string }, body: ChatBody) => {
    bodies.push(body)
    const answer = {
      nonce: data.nonce,
      findings: [],
      outcome: 'resolved',
      sentiment: 'neutral',
      language: 'en',
    }
    return refuse(body) ?? chat.completion(answer)
  }
  for (const name of ['insight', '']) chat.respond(name, respond)
  return bodies
}

async function twice(): Promise<void> {
  const one = analyzer()
  for (let n = 0; n < 2; n++)
    expect(await one.analyze([SUBJECT], signal)).toMatchObject([{ outcome: 'resolved' }])
}

describe('a server is asked without what it refuses, from then on', () => {
  test.each([
    // As version 0.3.36 answers.
    [
      'llama-cpp-python',
      500,
      {
        error: {
          message:
            "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text' or 'json_object'\", 'input': 'json_schema'}",
          type: 'internal_server_error',
          param: null,
          code: null,
        },
      },
    ],
    [
      'FastAPI',
      422,
      {
        detail: [{ type: 'literal_error', loc: ['body', 'response_format', 'type'], input: 'SECRET' }],
      },
    ],
  ])('%s: no json_schema, but a schema beside json_object', async (_, status, refused) => {
    const bodies = strict(({ response_format: format }) =>
      format?.type === 'json_schema' ? json(status, refused) : null,
    )
    await twice()
    expect(bodies.map(({ response_format: format }) => format?.type)).toEqual([
      'json_schema',
      'json_object',
      'json_object',
    ])
    expect(JSON.stringify(bodies[1]?.response_format?.schema)).toContain('"maxLength":400')
    expect(bodies[1]?.messages[0]?.content).toContain('JSON Schema')
  })

  test('OpenAI: no maxLength in schemas; reasoning models: max_completion_tokens and no temperature', async () => {
    const bodies = strict((body) => {
      if (JSON.stringify(body.response_format).includes('maxLength'))
        return error("Invalid schema for response_format 'insight': 'maxLength' is not permitted.", {
          type: 'invalid_request_error',
          param: 'response_format',
          code: null,
        })
      if (body.max_tokens !== undefined)
        return error("Unsupported parameter: 'max_tokens' is not supported with this model.", {
          param: 'max_tokens',
          code: 'unsupported_parameter',
        })
      if (body.temperature !== undefined)
        return error("Unsupported value: 'temperature' does not support 0 with this model.", {
          param: 'temperature',
          code: 'unsupported_value',
        })
      return null
    })
    await twice()
    expect(bodies).toHaveLength(5)
    expect(bodies.at(-1)).toMatchObject({
      max_completion_tokens: 900,
      response_format: { type: 'json_schema' },
    })
    expect(bodies.at(-1)?.temperature).toBeUndefined()
  })

  test('a server without any response_format has the schema in the instructions', async () => {
    const bodies = strict(({ response_format: format }) =>
      format === undefined ? null : json(400, { error: 'response_format is not supported' }),
    )
    await twice()
    expect(bodies.map(({ response_format: format }) => format?.type)).toEqual([
      'json_schema',
      'json_object',
      undefined,
      undefined,
    ])
    expect(bodies.at(-1)?.messages[0]?.content).toContain('"resolved_confirmation"')
  })

  test('one that refuses everything ends with the last refusal, after few requests', async () => {
    const bodies = strict(() => error('max_tokens temperature maxLength response_format'))
    const failure = await analyzer()
      .analyze([SUBJECT], signal)
      .catch((reason: unknown) => reason)
    expect(failure).toMatchObject({ retryable: false, message: 'The analysis server answered 400' })
    expect(bodies).toHaveLength(6)
  })
})

describe('a context that is too short', () => {
  const LONG: Subject = {
    channel: 'conversation',
    said: Array.from({ length: 30 }, (_, n) => ({ own: n % 2 === 1, text: `${n} ${'word '.repeat(150)}` })),
  }
  const sizeOf = ({ messages }: ChatBody) => messages[1]!.content.length

  test.each([
    [
      'OpenAI',
      () => error("This model's maximum context length is 8192 tokens.", { code: 'context_length_exceeded' }),
    ],
    [
      'llama.cpp',
      () =>
        error('the request exceeds the available context size, try increasing it', {
          code: 400,
          type: 'exceed_context_size_error',
        }),
    ],
    [
      'vLLM',
      () =>
        json(400, {
          object: 'error',
          message: "This model's maximum context length is 4096 tokens. However, you requested 5000",
          type: 'BadRequestError',
        }),
    ],
    ['a proxy', () => new Response('no', { status: 413 })],
  ])('%s: shorter parts are read, and later conversations begin with them', async (_, refuse) => {
    const bodies = strict((body) => (sizeOf(body) > 8_000 ? refuse() : null))
    const one = analyzer()
    expect(await one.analyze([LONG], signal)).toMatchObject([{ outcome: 'resolved' }])
    const refused = bodies.filter((body) => sizeOf(body) > 8_000).length
    expect(refused).toBe(2)
    const before = bodies.length
    await one.analyze([LONG], signal)
    expect(bodies.slice(before).every((body) => sizeOf(body) <= 8_000)).toBe(true)
    expect(bodies.length - before).toBeLessThanOrEqual(5)
  })

  test('one without room for a message is refused for good, after few requests', async () => {
    const bodies = strict(() => error('context_length_exceeded'))
    const failure = await analyzer()
      .analyze([LONG], signal)
      .catch((reason: unknown) => reason)
    expect(failure).toMatchObject({ retryable: false })
    expect(bodies.length).toBeLessThanOrEqual(7)
  })

  test('shorter parts have fewer words of the same messages, and no more parts', () => {
    fc.assert(
      fc.property(fc.integer({ min: 750, max: 24_000 }), (maxPart) => {
        const parts = partsOf(LONG, maxPart)
        expect(parts.length).toBeLessThanOrEqual(5)
        for (const { texts } of parts) expect(texts.join('').length).toBeLessThanOrEqual(maxPart)
        expect(parts.at(-1)!.from + parts.at(-1)!.texts.length).toBe(LONG.said.length)
      }),
    )
  })
})

describe('a refusal', () => {
  test('tells what it is about, and nothing of what was sent', () => {
    const echo = { detail: [{ loc: ['body', 'messages'], msg: 'temperature', input: 'max_tokens' }] }
    expect(refusalOf(422, JSON.stringify(echo), ['temperature', 'max_tokens']).names.size).toBe(0)
    expect(refusalOf(400, `${'x'.repeat(400)}temperature`, ['temperature']).names.size).toBe(0)
    expect(refusalOf(400, '"temperature"', ['temperature']).names.has('temperature')).toBe(true)
    expect(refusalOf(413, '', []).isTooLong).toBe(true)
    expect(refusalOf(400, '{"error":{"message":"bad key"}}', []).isTooLong).toBe(false)
  })

  test('of any text is read', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(refusalOf(400, text, ['temperature']).names.size).toBeLessThanOrEqual(1)
      }),
    )
  })

  test('without end is read in part', async () => {
    const stream = () =>
      new ReadableStream({
        pull(controller) {
          controller.enqueue(new TextEncoder().encode('max_tokens '.repeat(1_000)))
        },
      })
    chat.respond('x', () => new Response(stream(), { status: 400 }))
    const request = { path: 'chat/completions', timeoutMs: 5_000, maxBytes: 1_000, words: ['max_tokens'] }
    const body = {
      messages: [{}, { content: '{}' }],
      response_format: { json_schema: { name: 'x' } },
    }
    const failure = await postToOpenAi({ url: chat.url, apiKey: null }, { ...request, body }, signal).catch(
      (reason: unknown) => reason,
    )
    expect(failure).toBeInstanceOf(OpenAiError)
    expect((failure as OpenAiError).refusal?.names).toEqual(new Set(['max_tokens']))
  })
})
