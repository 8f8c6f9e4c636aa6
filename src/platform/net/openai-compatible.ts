/**
 * Requests to OpenAI-compatible servers.
 *
 * Neither the request nor the answer appears in an error, because both may contain what customers said.
 */
import { trimEndOf } from '../validation/trim.ts'
import { type Refusal, refusalOf } from './openai-refusal.rules.ts'
import { retryAfterMs } from './retry-after.rules.ts'

export interface OpenAiServer {
  /** With or without the trailing `/v1`. */
  readonly url: string
  readonly apiKey: string | null
}

export interface OpenAiRequest {
  /** Below `/v1`, such as `chat/completions`. */
  readonly path: string
  /** A form, or a value to send as JSON. */
  readonly body: FormData | object
  readonly timeoutMs: number
  /** Size limit of the answer. */
  readonly maxBytes: number
  /** Words that the caller looks for in a refusal, such as names of parameters. */
  readonly words?: readonly string[]
}

/** A failed request. The message continues "The server …". */
export class OpenAiError extends Error {
  override readonly name = 'OpenAiError'

  constructor(
    message: string,
    readonly kind: 'refused' | 'unreachable' | 'too_large',
    /** HTTP status of a refusal, otherwise null. */
    readonly status: number | null = null,
    /** From `Retry-After`; null if the server named none. */
    readonly retryAfterMs: number | null = null,
    options?: ErrorOptions,
    /** Why the server refused the request, if the status may mean that it did; otherwise null. */
    readonly refusal: Refusal | null = null,
  ) {
    super(message, options)
  }
}

/** @returns the text of the answer @throws OpenAiError; the reason of the signal */
export async function postToOpenAi(
  { url, apiKey }: OpenAiServer,
  { path, body, timeoutMs, maxBytes, words = [] }: OpenAiRequest,
  signal: AbortSignal,
): Promise<string> {
  const isForm = body instanceof FormData
  try {
    const response = await fetch(`${baseOf(url)}/v1/${path}`, {
      method: 'POST',
      headers: {
        ...(isForm ? {} : { 'content-type': 'application/json' }),
        ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      body: isForm ? body : JSON.stringify(body),
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      // A redirect would send the body and the key to a host that is not configured.
      redirect: 'error',
    })
    if (response.ok) return await readText(response, maxBytes)
    const { status, headers } = response
    const refusal = REFUSALS.has(status) ? refusalOf(status, await beginningOf(response), words) : null
    await response.body?.cancel().catch(() => {})
    const pauseMs = retryAfterMs(headers.get('retry-after'), new Date())
    throw new OpenAiError(`answered ${status}`, 'refused', status, pauseMs, {}, refusal)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof OpenAiError) throw error
    throw unreachable(error)
  }
}

/**
 * Asks for the list of models, which costs nothing. A server without such a list is there as well.
 * @throws OpenAiError if the server cannot be reached, is overloaded, or refuses the key
 */
export async function reachOpenAi({ url, apiKey }: OpenAiServer, timeoutMs: number): Promise<void> {
  const path = `${baseOf(url)}/v1/models`
  const headers = new Headers(apiKey === null ? [] : [['authorization', `Bearer ${apiKey}`]])
  let response: Response
  try {
    response = await fetch(path, { headers, signal: AbortSignal.timeout(timeoutMs), redirect: 'error' })
  } catch (error) {
    throw unreachable(error)
  }
  await response.body?.cancel().catch(() => {})
  const { status } = response
  if (status >= 500 || REFUSED.has(status)) throw new OpenAiError(`answered ${status}`, 'refused', status)
}

/** What an operator does about an error of `reachOpenAi`. `settings`: what the names of the variables begin with. */
export function openAiRemedy(error: unknown, settings: string): string {
  const status = error instanceof OpenAiError ? error.status : null
  if (status === 401) return `Correct ${settings}_API_KEY`
  if (status === 402 || status === 429) return 'Raise its quota, or wait'
  return `Start it, or correct ${settings}_URL`
}

/** A wrong key, a spent quota, too many requests. A key that may not list models (403) may transcribe all the same. */
const REFUSED: ReadonlySet<number> = new Set([401, 402, 429])

const baseOf = (url: string): string => trimEndOf(url, '/').replace(/\/v1$/, '')

const unreachable = (cause: unknown): OpenAiError =>
  new OpenAiError('could not be reached or did not answer in time', 'unreachable', null, null, { cause })

/** The request itself is refused. Servers that fail while they validate a request answer 500 (llama-cpp-python). */
const REFUSALS: ReadonlySet<number> = new Set([400, 413, 422, 500, 501])
const MAX_REFUSAL_BYTES = 8 * 1024

/** What a refusal says first. A server may repeat the request in it. */
async function beginningOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk)
    bytes += chunk.byteLength
    if (bytes >= MAX_REFUSAL_BYTES) break
  }
  return Buffer.concat(chunks).subarray(0, MAX_REFUSAL_BYTES).toString()
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > maxBytes) throw new OpenAiError(`answered with more than ${maxBytes} bytes`, 'too_large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
