/**
 * Errors between a client and the service: permanent and transient ones.
 *
 * No message contains a credential or an upload URL.
 */

/** A permanent error. The code is that of the service if it stated one. */
export class ClientError extends Error {
  override readonly name = 'ClientError'

  constructor(
    readonly code: string,
    message: string,
    /** HTTP status; null: the error did not come from an answer. */
    readonly status: number | null = null,
    /** Further members of the error body. */
    readonly body: Readonly<Record<string, unknown>> = {},
  ) {
    super(message)
  }
}

/** A cut connection, a restarting server, or a limit. */
export class TransientError extends Error {
  override readonly name = 'TransientError'

  constructor(
    message: string,
    /** Delay that the service asked for; null: none. */
    readonly retryAfterMs: number | null = null,
    /** An HTTP server answered. */
    readonly answered = false,
  ) {
    super(message)
  }
}

const TRANSIENT_STATUSES = new Set([408, 423, 425, 429, 500, 502, 503, 504])

/** Reads the answer's body. The status decides whether the error is transient. */
export async function failureOf(response: Response, now: Date): Promise<ClientError | TransientError> {
  const { status } = response
  const body = await readJson(response)
  const message = typeof body.message === 'string' ? body.message : (response.statusText ?? '')
  const text = message === '' ? `the server answered ${status}` : `the server answered ${status}: ${message}`
  // A full disk may have room again; a quota does not grow by itself.
  if (TRANSIENT_STATUSES.has(status) || body.code === 'storage_full')
    return new TransientError(text, retryAfterMs(response.headers.get('retry-after'), now), true)
  if (status >= 300 && status < 400)
    return new ClientError('redirected', `the server redirects to another address (${targetOf(response)})`)
  return new ClientError(typeof body.code === 'string' ? body.code : `http_${status}`, text, status, body)
}

/** Classifies an error thrown by `fetch`. */
export function asFailure(error: unknown): Error {
  if (error instanceof ClientError || error instanceof TransientError) return error
  if (!(error instanceof Error)) return new TransientError(String(error))
  // An invalid certificate does not become valid on retry.
  if (/CERT|TLS|SSL/.test(codeOf(error))) return new ClientError('certificate', firstSentence(error.message))
  return new TransientError(firstSentence(error.message))
}

/** RFC 9110, section 10.2.3: seconds, or a date. @returns null if the value is neither */
export function retryAfterMs(value: string | null, now: Date): number | null {
  const text = value?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  const moment = /[A-Za-z]/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(moment) ? null : Math.max(0, moment - now.getTime())
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** Removes the leading error code and any advice after the first sentence. */
function firstSentence(message: string): string {
  return message.replace(/^E[A-Z]+: /, '').replace(/[.?] .*|\.$/s, '')
}

/** Scheme and host only, because the rest may contain a secret. */
function targetOf(response: Response): string {
  const location = response.headers.get('location') ?? ''
  return URL.canParse(location, response.url || undefined)
    ? new URL(location, response.url || undefined).origin
    : 'unknown'
}

async function readJson(response: Response): Promise<Readonly<Record<string, unknown>>> {
  try {
    const value: unknown = await response.json()
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
