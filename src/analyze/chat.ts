/**
 * Asks an OpenAI-compatible `POST /v1/chat/completions` one question. The answer is a value of a schema.
 *
 * Answers are validated like any input. Error messages and logs contain nothing of questions or answers.
 */

import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { OpenAiError, type OpenAiServer, postToOpenAi } from '../platform/net/openai-compatible.ts'
import { AnalyzerError } from './analyzer-error.ts'

export interface ChatOptions extends OpenAiServer {
  readonly model: string
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
  /** Gets the tokens of question and answer, if the server counts them. */
  readonly onTokens?: (tokens: number) => void
}

const TIMEOUT = 120_000
const MAX_ANSWER_BYTES = 1024 * 1024

const Completion = Type.Object({
  choices: Type.Array(Type.Object({ message: Type.Object({ content: Type.String() }) }), { minItems: 1 }),
})

/** More than any model reads and writes for one question. A server that claims more may not stop the count for good. */
const MAX_COUNTED_TOKENS = 100_000_000

const Counted = Type.Object({ usage: Type.Object({ total_tokens: Type.Integer({ minimum: 0 }) }) })

/**
 * @param signal ends the request when aborted; the promise then rejects with its reason
 * @param maxTokens most tokens of the answer. Absent: the limit of the server
 * @throws AnalyzerError if the server gives no usable answer
 */
export async function askChat<S extends TSchema>(
  options: ChatOptions,
  question: Question<S>,
  signal: AbortSignal,
  maxTokens?: number,
): Promise<Static<S>> {
  const completion = parse(await post(options, bodyOf(options.model, question, maxTokens), signal))
  if (Value.Check(Counted, completion))
    question.onTokens?.(Math.min(completion.usage.total_tokens, MAX_COUNTED_TOKENS))
  if (!Value.Check(Completion, completion)) throw unusable('no choice')
  const answer = parse(completion.choices[0]!.message.content)
  if (!Value.Check(question.answer, answer)) throw unusable('content that does not match the schema')
  return answer
}

function bodyOf(
  model: string,
  { name, instructions, data, answer }: Question<TSchema>,
  maxTokens: number | undefined,
): object {
  return {
    model,
    temperature: 0,
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    messages: [
      { role: 'system', content: instructions },
      { role: 'user', content: JSON.stringify(data) },
    ],
    response_format: { type: 'json_schema', json_schema: { name, strict: true, schema: answer } },
  }
}

async function post(server: ChatOptions, body: object, signal: AbortSignal): Promise<string> {
  const timeoutMs = server.timeout ?? TIMEOUT
  try {
    const request = { path: 'chat/completions', body, timeoutMs, maxBytes: MAX_ANSWER_BYTES }
    return await postToOpenAi(server, request, signal)
  } catch (error) {
    if (!(error instanceof OpenAiError)) throw error
    const message = `The analysis server ${error.message}`
    throw new AnalyzerError(message, isRetryable(error), { cause: error })
  }
}

/** A refusal of the request itself is permanent. An operator can correct a refused key or an unknown model. */
function isRetryable({ status }: OpenAiError): boolean {
  return status !== 400 && status !== 413 && status !== 422
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
