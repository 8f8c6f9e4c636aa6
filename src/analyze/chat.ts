/**
 * Asks an OpenAI-compatible `POST /v1/chat/completions` one question. The answer is a value of a schema.
 *
 * Answers are validated like any input. Error messages and logs contain nothing of questions or answers.
 */

import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { trimEndOf } from '../platform/validation/trim.ts'
import { AnalyzerError } from './analyzer.ts'

export interface ChatOptions {
  /** With or without the trailing `/v1`. */
  readonly url: string
  readonly model: string
  readonly apiKey: string | null
  /** Milliseconds for one request. */
  readonly timeout?: number
}

export interface Question<S extends TSchema> {
  /** Name of the schema, which the protocol requires. */
  readonly name: string
  readonly instructions: string
  /** Data of the question. The same data always makes the same request. */
  readonly data: unknown
  readonly answer: S
}

const TIMEOUT = 120_000
const MAX_ANSWER_BYTES = 1024 * 1024

const Completion = Type.Object({
  choices: Type.Array(Type.Object({ message: Type.Object({ content: Type.String() }) }), { minItems: 1 }),
})

/**
 * @param signal ends the request when aborted; the promise then rejects with its reason
 * @throws AnalyzerError if the server gives no usable answer
 */
export async function askChat<S extends TSchema>(
  options: ChatOptions,
  question: Question<S>,
  signal: AbortSignal,
): Promise<Static<S>> {
  const completion = parse(await post(options, bodyOf(options.model, question), signal))
  if (!Value.Check(Completion, completion)) throw unusable('no choice')
  const answer = parse(completion.choices[0]!.message.content)
  if (!Value.Check(question.answer, answer)) throw unusable('content that does not match the schema')
  return answer
}

function bodyOf(model: string, { name, instructions, data, answer }: Question<TSchema>): string {
  return JSON.stringify({
    model,
    temperature: 0,
    messages: [
      { role: 'system', content: instructions },
      { role: 'user', content: JSON.stringify(data) },
    ],
    response_format: { type: 'json_schema', json_schema: { name, strict: true, schema: answer } },
  })
}

async function post(
  { url, apiKey, timeout = TIMEOUT }: ChatOptions,
  body: string,
  signal: AbortSignal,
): Promise<string> {
  const endpoint = `${trimEndOf(url, '/').replace(/\/v1$/, '')}/v1/chat/completions`
  try {
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeout)]),
      // A redirect would send conversation and key to a host that is not configured.
      redirect: 'error',
    })
    if (!response.ok) {
      await response.body?.cancel()
      throw new AnalyzerError(
        `The analysis server answered ${response.status}`,
        isRetryableStatus(response.status),
      )
    }
    return await readText(response)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof AnalyzerError) throw error
    throw new AnalyzerError('The analysis server could not be reached or did not answer in time', true, {
      cause: error,
    })
  }
}

/**
 * Everything is retryable except a verdict on the request itself. Even a refused key or an unknown model is, because an
 * operator can correct it.
 */
function isRetryableStatus(status: number): boolean {
  return status !== 400 && status !== 413 && status !== 422
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > MAX_ANSWER_BYTES) throw unusable('more than 1 MiB')
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw unusable('content that is not JSON')
  }
}

function unusable(what: string): AnalyzerError {
  return new AnalyzerError(`The analysis server answered with ${what}`, true)
}
