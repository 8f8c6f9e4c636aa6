/**
 * A model server: asks an OpenAI-compatible `POST /v1/chat/completions` one question. The answer is a value of a schema.
 *
 * Answers are validated like any input. Error messages and logs contain nothing of questions or answers. Servers speak different dialects of
 * the protocol (`dialect.rules.ts`): if one refuses a parameter, it is asked without it, and so is every later question. What is known of the
 * server, its dialect and whether it is away, belongs to the `ChatServer` that the container of each thread has.
 */

import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { OpenAiError, type OpenAiServer, postToOpenAi } from '../../platform/net/openai-compatible.ts'
import { AnalyzerError } from './analyzer-error.ts'
import { type AwayTimes, createPresence } from './away.ts'
import { bodyOf, DIALECT, simplerDialect, WORDS } from './dialect.rules.ts'

export interface ChatOptions extends OpenAiServer {
  readonly model: string
  /** Milliseconds for one request. */
  readonly timeout?: number
  /** Absent: pauses up to some minutes. */
  readonly away?: AwayTimes
}

interface Question<S extends TSchema> {
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
interface AnswerLimits {
  /** Milliseconds for one request. Default: that of the options. */
  readonly timeoutMs?: number | undefined
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
const Completion = Type.Object({
  choices: Type.Array(Type.Object({ message: Type.Object({ content: Type.String() }) }), { minItems: 1 }),
})

/** More than any model reads and writes for one question. A server that claims more may not stop the count for good. */
const MAX_COUNTED_TOKENS = 100_000_000

const Counted = Type.Object({ usage: Type.Object({ total_tokens: Type.Integer({ minimum: 0 }) }) })

export interface ChatServer {
  readonly model: string
  /**
   * @param signal ends the request when aborted; the promise then rejects with its reason
   * @throws AnalyzerError if the server gives no usable answer; with `putOffMs` if it is away
   */
  ask<S extends TSchema>(
    question: Question<S>,
    signal: AbortSignal,
    limits?: AnswerLimits,
  ): Promise<Static<S>>
}

export function createChatServer(options: ChatOptions): ChatServer {
  const presence = createPresence(options, requestErrorOf, options.away)
  /** What the server has accepted. */
  let accepted = DIALECT

  /** Asks in simpler dialects until the server takes one. Each step gives up something, so there are few. */
  async function post(
    question: Question<TSchema>,
    signal: AbortSignal,
    limits: AnswerLimits,
  ): Promise<string> {
    const { maxTokens, maxBytes = MAX_ANSWER_BYTES, timeoutMs = options.timeout ?? TIMEOUT } = limits
    for (let dialect = accepted; ; ) {
      const body = bodyOf(dialect, options.model, question, maxTokens)
      try {
        const request = { path: 'chat/completions', body, timeoutMs, maxBytes, words: WORDS }
        const text = await postToOpenAi(options, request, signal)
        accepted = dialect
        return text
      } catch (error) {
        if (!(error instanceof OpenAiError)) throw error
        // A refusal comes at once. Whoever takes longer has taken the dialect.
        if (error.kind === 'unreachable') accepted = dialect
        const simpler = error.refusal === null ? null : simplerDialect(dialect, error.refusal)
        if (simpler === null) throw analyzerErrorOf(error)
        dialect = simpler
      }
    }
  }

  return {
    model: options.model,
    async ask(question, signal, limits = {}) {
      const completion = parse(await presence.run(() => post(question, signal, limits), signal))
      if (Value.Check(Counted, completion))
        question.onTokens?.(Math.min(completion.usage.total_tokens, MAX_COUNTED_TOKENS))
      if (!Value.Check(Completion, completion)) throw unusable('no choice')
      const answer = parse(completion.choices[0]!.message.content)
      if (!Value.Check(question.answer, answer)) throw unusable('content that does not match the schema')
      return answer
    },
  }
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
