/**
 * Sends audio to an OpenAI-compatible server, and retries failures that are likely to be brief. Otherwise a brief failure
 * of the last piece would send an hour of audio again.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { OpenAiError, type OpenAiServer, postToOpenAi } from '../../platform/net/openai-compatible.ts'
import { ATTEMPTS, TranscriberError } from './transcriber.ts'

export interface PostOptions extends OpenAiServer {
  readonly retry?: RetryPolicy
}

interface RetryPolicy {
  /** Of one request: 20 minutes of audio on a machine that needs as long as the audio plays. */
  readonly timeoutMs: number
  /** Pause before each retry, unless the server states one. */
  readonly pausesMs: readonly number[]
}

const RETRY: RetryPolicy = { timeoutMs: 25 * 60_000, pausesMs: [1_000, 5_000, 20_000] }
const MAX_PAUSE_MS = 60_000
const MAX_ANSWER_BYTES = 32 * 1024 * 1024

/**
 * `form` creates the body of each request. @returns the body of the answer
 * @throws TranscriberError; the reason of the signal
 */
export async function postAudio(
  server: PostOptions,
  form: () => FormData,
  signal: AbortSignal,
): Promise<string> {
  const { pausesMs, timeoutMs } = server.retry ?? RETRY
  const request = { path: 'audio/transcriptions', timeoutMs, maxBytes: MAX_ANSWER_BYTES }
  for (let retries = 0; ; retries++) {
    try {
      return await postToOpenAi(server, { ...request, body: form() }, signal)
    } catch (error) {
      if (!(error instanceof OpenAiError)) throw error
      const pauseMs = pausesMs[retries]
      if (!isBrief(error) || pauseMs === undefined) throw transcriberErrorOf(error)
      await sleep(Math.min(error.retryAfterMs ?? pauseMs, MAX_PAUSE_MS), undefined, { signal }).catch(() =>
        signal.throwIfAborted(),
      )
    }
  }
}

function isBrief({ kind, status }: OpenAiError): boolean {
  if (kind !== 'refused') return kind === 'unreachable'
  return status === 408 || status === 429 || (status ?? 0) >= 500
}

/** A refusal of the audio itself is permanent. An operator can correct a refused key or an unknown model. */
function transcriberErrorOf(error: OpenAiError): TranscriberError {
  const message = `the transcription server ${error.message}`
  const isPermanent = [400, 413, 415, 422].includes(error.status ?? 0)
  if (isPermanent)
    return new TranscriberError(message, ATTEMPTS.terminal, { cause: error }, 'transcriber_refused')
  const others = error.kind === 'too_large' ? ATTEMPTS.program : ATTEMPTS.elsewhere
  return new TranscriberError(message, others, { cause: error })
}
