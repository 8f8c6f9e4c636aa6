/**
 * Tells a model server that is away from a question that it cannot answer, so that nothing is given up because the server was away.
 *
 * While the server is away, questions fail at once, and one tiny question at a time looks whether it is back, after pauses that grow. No
 * question of a customer does that: one that takes long or that the server fails at would keep the others waiting.
 */
import { type OpenAiError, type OpenAiServer, postToOpenAi } from '../../platform/net/openai-compatible.ts'
import { AnalyzerError } from './analyzer-error.ts'

export interface AwayTimes {
  /** Milliseconds until the server is asked again. They double each time, up to the cap. */
  readonly pauseMs: number
  readonly capMs: number
  /** Milliseconds that the tiny question may take. */
  readonly answerMs: number
}

const TIMES: AwayTimes = { pauseMs: 1_000, capMs: 2 * 60_000, answerMs: 20_000 }
/** Bytes of the answer to a tiny question. */
const MAX_ANSWER_BYTES = 64 * 1024

/** What a failure says about the server: it did not take the question; it took it and then failed; or it answers. */
type Verdict = 'away' | 'doubtful' | 'there'

/** These refuse the question itself. The others, such as a wrong key, an unknown model or a spent quota, concern every question. */
const ABOUT_QUESTION: ReadonlySet<number> = new Set([400, 406, 409, 413, 415, 422])
/** Servers also answer so where one question lets them fail. */
const DOUBTFUL: ReadonlySet<number> = new Set([500, 501])

/** What a failed request says about the server. */
function verdictOf({ kind, status, refusal, cause }: OpenAiError): Verdict {
  if (kind === 'too_large') return 'there'
  if (status === null) return isTaken(cause) ? 'doubtful' : 'away'
  if (ABOUT_QUESTION.has(status) || refusal?.isTooLong === true) return 'there'
  return DOUBTFUL.has(status) ? 'doubtful' : 'away'
}

/** The time ended, or the connection. A server that cannot be reached gets no question. */
function isTaken(cause: unknown): boolean {
  return cause instanceof Error && (cause.name === 'TimeoutError' || isCut(cause))
}

const isCut = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && cause.code === 'ECONNRESET'

interface Presence {
  /** Settles as `work` does. @throws AnalyzerError with `putOffMs` while the server is away */
  run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>
}

/** @param errorOf the failure of a request, or null if `error` is none */
export function createPresence(
  server: OpenAiServer & { readonly model: string },
  errorOf: (error: unknown) => OpenAiError | null,
  { pauseMs, capMs, answerMs }: AwayTimes = TIMES,
): Presence {
  /** Null: the server is there. */
  let away: { pauseMs: number; until: number } | null = null
  let isAsking = false

  function leave(wantedMs: number | null): void {
    const grown = away === null ? pauseMs : Math.min(capMs, away.pauseMs * 2)
    const next = Math.min(capMs, Math.max(grown, wantedMs ?? 0))
    away = { pauseMs: next, until: performance.now() + next }
  }

  /** The pauses of what waits are spread, and grow with those between the tiny questions. */
  function putOff(cause?: unknown): AnalyzerError {
    const { pauseMs: pause, until } = away ?? { pauseMs, until: 0 }
    const putOffMs = Math.round(Math.max(0, until - performance.now()) + (Math.random() * pause) / 2 + 1)
    const options = cause === undefined ? {} : { cause }
    return new AnalyzerError('The analysis server is away', true, options, false, putOffMs)
  }

  /** Asks something tiny. The answer does not matter, but that there is one. Whoever comes meanwhile does not wait for it. */
  async function isThere(signal: AbortSignal): Promise<boolean> {
    if (isAsking) return false
    isAsking = true
    try {
      const body = { model: server.model, messages: [{ role: 'user', content: 'Say yes.' }], max_tokens: 1 }
      const request = { path: 'chat/completions', body, timeoutMs: answerMs, maxBytes: MAX_ANSWER_BYTES }
      await postToOpenAi(server, request, signal)
    } catch (error) {
      const failure = errorOf(error)
      if (failure === null) throw error
      if (verdictOf(failure) !== 'there') {
        leave(failure.retryAfterMs)
        return false
      }
    } finally {
      isAsking = false
    }
    away = null
    return true
  }

  return {
    async run(work, signal) {
      if (away !== null && (performance.now() < away.until || !(await isThere(signal)))) throw putOff()
      try {
        const result = await work()
        away = null
        return result
      } catch (error) {
        const failure = errorOf(error)
        if (failure === null) throw error
        const verdict = verdictOf(failure)
        if (verdict === 'away') {
          // Others may have found out meanwhile.
          if (away === null) leave(failure.retryAfterMs)
          throw putOff(error)
        }
        const isTheQuestion = verdict === 'there' || (await isThere(signal))
        if (verdict === 'there') away = null
        // A question with which the connection ended counts as tried: it may be what ends the server.
        if (isTheQuestion || isCut(failure.cause)) throw error
        throw putOff(error)
      }
    },
  }
}
