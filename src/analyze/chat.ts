/**
 * Asks an OpenAI-compatible `POST /v1/chat/completions` one question. The answer is a value of a schema.
 *
 * Answers are validated like any input. Error messages and logs contain nothing of questions or answers. Servers speak different dialects of
 * the protocol (`dialect.rules.ts`): if one refuses a parameter, it is asked without it, and so is every later question.
 */

import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { OpenAiError, type OpenAiServer, postToOpenAi } from '../platform/net/openai-compatible.ts'
import { AnalyzerError } from './analyzer-error.ts'
import { type AwayTimes, presenceOf } from './away.ts'
import { bodyOf, DIALECT, type Dialect, simplerDialect, WORDS } from './dialect.rules.ts'

export interface ChatOptions extends OpenAiServer {
  readonly model: string
  /** Milliseconds for one request. */
  readonly timeout?: number
  /** Absent: pauses up to some minutes. */
  readonly away?: AwayTimes
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

/** Bounds of one answer. */
export interface AnswerLimits {
  /** Default: the limit of the server. */
  readonly maxTokens?: number
  /** Default: 1 MiB. */
  readonly maxBytes?: number
}

/**
 * A value that a model repeats, so that an answer belongs to its request. It is short, because weak models do not copy a UUID without mistakes.
 */
export const nonceOf = (): string => crypto.randomUUID().slice(0, 6)

const TIMEOUT = 120_000
const MAX_ANSWER_BYTES = 1024 * 1024
/** A process knows the dialects of so many servers and models. */
const MAX_KNOWN = 100

/** What servers have accepted, by URL and model. */
const dialects = new Map<string, Dialect>()

const Completion = Type.Object({
  choices: Type.Array(Type.Object({ message: Type.Object({ content: Type.String() }) }), { minItems: 1 }),
})

/** More than any model reads and writes for one question. A server that claims more may not stop the count for good. */
const MAX_COUNTED_TOKENS = 100_000_000

const Counted = Type.Object({ usage: Type.Object({ total_tokens: Type.Integer({ minimum: 0 }) }) })

/**
 * @param signal ends the request when aborted; the promise then rejects with its reason
 * @throws AnalyzerError if the server gives no usable answer; with `putOffMs` if it is away
 */
export async function askChat<S extends TSchema>(
  options: ChatOptions,
  question: Question<S>,
  signal: AbortSignal,
  limits: AnswerLimits = {},
): Promise<Static<S>> {
  const text = await presenceOf(options, requestErrorOf).run(
    () => post(options, question, signal, limits),
    signal,
  )
  const completion = parse(text)
  if (Value.Check(Counted, completion))
    question.onTokens?.(Math.min(completion.usage.total_tokens, MAX_COUNTED_TOKENS))
  if (!Value.Check(Completion, completion)) throw unusable('no choice')
  const answer = parse(completion.choices[0]!.message.content)
  if (!Value.Check(question.answer, answer)) throw unusable('content that does not match the schema')
  return answer
}

/** Asks in simpler dialects until the server takes one. Each step gives up something, so there are few. */
async function post(
  options: ChatOptions,
  question: Question<TSchema>,
  signal: AbortSignal,
  { maxTokens, maxBytes = MAX_ANSWER_BYTES }: AnswerLimits,
): Promise<string> {
  const key = `${options.url}\n${options.model}`
  const timeoutMs = options.timeout ?? TIMEOUT
  for (let dialect = dialects.get(key) ?? DIALECT; ; ) {
    const body = bodyOf(dialect, options.model, question, maxTokens)
    try {
      const request = { path: 'chat/completions', body, timeoutMs, maxBytes, words: WORDS }
      const text = await postToOpenAi(options, request, signal)
      remember(key, dialect)
      return text
    } catch (error) {
      if (!(error instanceof OpenAiError)) throw error
      // A refusal comes at once. Whoever takes longer has taken the dialect.
      if (error.kind === 'unreachable') remember(key, dialect)
      const simpler = error.refusal === null ? null : simplerDialect(dialect, error.refusal)
      if (simpler === null) throw analyzerErrorOf(error)
      dialect = simpler
    }
  }
}

function remember(key: string, dialect: Dialect): void {
  if (dialects.get(key) === dialect || (dialect === DIALECT && !dialects.has(key))) return
  if (dialects.size >= MAX_KNOWN) dialects.clear()
  dialects.set(key, dialect)
}

/** A refusal of the request itself is permanent. An operator can correct a refused key or an unknown model. */
function analyzerErrorOf(error: OpenAiError): AnalyzerError {
  const message = `The analysis server ${error.message}`
  return new AnalyzerError(message, isRetryable(error), { cause: error }, error.refusal?.isTooLong)
}

function requestErrorOf(error: unknown): OpenAiError | null {
  const failure = error instanceof AnalyzerError ? error.cause : error
  return failure instanceof OpenAiError ? failure : null
}

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
