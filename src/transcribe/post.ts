/**
 * One request with sound to an OpenAI-compatible server.
 *
 * The rule: a request is repeated here where the trouble is likely to pass soon, so that an hour of sound is not sent anew for a
 * moment's trouble with its last part.
 */
import { trimEndOf } from '../platform/validation/trim.ts'
import { ATTEMPTS, TranscriberError } from './transcriber.ts'

export interface PostOptions {
  /** With or without the trailing `/v1`. */
  readonly url: string
  readonly apiKey: string | null
  readonly patience?: Patience
}

export interface Patience {
  /** For one request: 20 minutes of sound on a machine that is no faster than speech. */
  readonly timeoutMs: number
  /** Before a request is repeated, unless the server says when. */
  readonly pausesMs: readonly number[]
}

const PATIENCE: Patience = { timeoutMs: 25 * 60_000, pausesMs: [1_000, 5_000, 20_000] }
const MAX_PAUSE_MS = 60_000
const MAX_ANSWER_BYTES = 32 * 1024 * 1024

/**
 * `form` makes the body, once for each request. @returns the body of the answer
 * @throws TranscriberError; the reason of the signal where it is aborted
 */
export async function postSound(
  options: PostOptions,
  form: () => FormData,
  signal: AbortSignal,
): Promise<string> {
  const { pausesMs } = options.patience ?? PATIENCE
  for (let tries = 0; ; tries++) {
    try {
      return await postOnce(options, form(), signal)
    } catch (error) {
      const pauseMs = pausesMs[tries]
      if (!(error instanceof Trouble) || pauseMs === undefined) throw error
      await pause(Math.min(error.retryAfterMs ?? pauseMs, MAX_PAUSE_MS), signal)
    }
  }
}

/** Likely to pass soon. */
class Trouble extends TranscriberError {
  constructor(
    message: string,
    readonly retryAfterMs: number | null,
    options?: ErrorOptions,
  ) {
    super(message, ATTEMPTS.elsewhere, options)
  }
}

async function postOnce(
  { url, apiKey, patience = PATIENCE }: PostOptions,
  body: FormData,
  signal: AbortSignal,
): Promise<string> {
  const endpoint = `${trimEndOf(url, '/').replace(/\/v1$/, '')}/v1/audio/transcriptions`
  try {
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: apiKey === null ? {} : { authorization: `Bearer ${apiKey}` },
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(patience.timeoutMs)]),
      // A redirect would carry sound and key to a host that nobody configured.
      redirect: 'error',
    })
    if (response.ok) return await readText(response)
    await response.body?.cancel()
    throw refusal(response)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof TranscriberError) throw error
    throw new Trouble('the transcription server could not be reached or did not answer in time', null, {
      cause: error,
    })
  }
}

/** A verdict on the sound itself is final; a refused key or an unknown model is for an operator to put right. */
function refusal({ status, headers }: Response): TranscriberError {
  const message = `the transcription server answered ${status}`
  if (status === 408 || status === 429 || status >= 500) return new Trouble(message, retryAfterOf(headers))
  const isFinal = [400, 413, 415, 422].includes(status)
  return new TranscriberError(message, isFinal ? ATTEMPTS.terminal : ATTEMPTS.elsewhere)
}

/** In seconds; that of a date is not looked at. */
function retryAfterOf(headers: Headers): number | null {
  const value = headers.get('retry-after') ?? ''
  return /^\d{1,5}$/.test(value) ? Number(value) * 1_000 : null
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > MAX_ANSWER_BYTES)
      throw new TranscriberError('the transcription server answered with too much', ATTEMPTS.program)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, milliseconds)
  signal.addEventListener('abort', () => resolve(), { once: true })
  await promise
  clearTimeout(timer)
  signal.throwIfAborted()
}
