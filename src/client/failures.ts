/**
 * What can go wrong between a client and the service, in two kinds: what may pass by itself, and what will not.
 *
 * The rule: neither says a credential or the URL of an upload.
 */

/** It will not pass by itself. The code is that of the service where it gave one. */
export class ClientError extends Error {
  override readonly name = 'ClientError'

  constructor(
    readonly code: string,
    message: string,
    /** Of the answer; null: it was not an answer that told. */
    readonly status: number | null = null,
    /** Further members of the error body. */
    readonly body: Readonly<Record<string, unknown>> = {},
  ) {
    super(message)
  }
}

/** A cut connection, a server that starts again, a limit that was reached. */
export class Transient extends Error {
  override readonly name = 'Transient'

  constructor(
    message: string,
    /** The service said when to come back; null: it did not. */
    readonly retryAfterMs: number | null = null,
    /** An HTTP server answered. */
    readonly answered = false,
  ) {
    super(message)
  }
}

const PASSING = new Set([408, 423, 425, 429, 500, 502, 503, 504])

/** Reads the answer's body, and tells the kind by the status. */
export async function failureOf(response: Response, now: Date): Promise<ClientError | Transient> {
  const { status } = response
  const body = await readJson(response)
  const message = typeof body.message === 'string' ? body.message : (response.statusText ?? '')
  const said = message === '' ? `the server answered ${status}` : `the server answered ${status}: ${message}`
  if (PASSING.has(status))
    return new Transient(said, retryAfterMs(response.headers.get('retry-after'), now), true)
  if (status >= 300 && status < 400)
    return new ClientError('redirected', `the server answers from somewhere else (${targetOf(response)})`)
  return new ClientError(typeof body.code === 'string' ? body.code : `http_${status}`, said, status, body)
}

/** The kind of what `fetch` threw. */
export function asFailure(error: unknown): Error {
  if (error instanceof ClientError || error instanceof Transient) return error
  if (!(error instanceof Error)) return new Transient(String(error))
  // The certificate of the server will not get better by itself.
  if (/CERT|TLS|SSL/.test(codeOf(error))) return new ClientError('certificate', firstSentence(error.message))
  return new Transient(firstSentence(error.message))
}

/** RFC 9110, section 10.2.3: seconds, or a date. @returns null where there is nothing that reads as either */
export function retryAfterMs(value: string | null, now: Date): number | null {
  const text = value?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  const moment = /[A-Za-z]/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(moment) ? null : Math.max(0, moment - now.getTime())
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** Without the code before it, and the advice to programmers behind. */
function firstSentence(message: string): string {
  return message.replace(/^E[A-Z]+: /, '').replace(/[.?] .*|\.$/s, '')
}

/** Only scheme and host: what is behind them may be a secret. */
function targetOf(response: Response): string {
  const location = response.headers.get('location') ?? ''
  return URL.canParse(location, response.url || undefined)
    ? new URL(location, response.url || undefined).origin
    : 'it does not say where'
}

async function readJson(response: Response): Promise<Readonly<Record<string, unknown>>> {
  try {
    const value: unknown = await response.json()
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
