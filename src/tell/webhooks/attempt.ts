/** One attempt: a signed POST of an event to the URL of a subscription. */
import type { Clock } from '../../platform/clock.ts'
import type { OutboundAnswer, SendOutbound } from '../../platform/net/outbound-request.ts'
import { PublicFetchError } from '../../platform/net/public-error.ts'
import { retryAfterSeconds } from '../../platform/net/retry-after.rules.ts'
import type { Seal } from '../../platform/secrets/seal.ts'
import { bodyOf } from './delivery.rules.ts'
import { KEPT_ANSWER_BYTES } from './model.ts'
import type { Receiver, Sendable } from './sending.store.ts'
import { signedHeaders } from './signing.ts'

/** Longest text of a header that the log keeps, and how many headers. */
const [MAX_HEADER, MAX_HEADERS] = [1_024, 64]

export interface Attempted {
  readonly startedAt: string
  readonly durationMs: number
  readonly status: number | null
  readonly retryAfterSeconds: number | null
  readonly error: string | null
  readonly headers: Readonly<Record<string, string>> | null
  readonly body: string | null
}

export interface AttemptDeps {
  readonly clock: Clock
  readonly seal: Seal
  readonly sendOutbound: SendOutbound
  /** For everything, from the resolution of the name to the last byte of the answer. */
  readonly timeoutMs: number
}

const UNREADABLE =
  'secret_unreadable: the secret cannot be opened, because SECRET_KEY or DATA_DIR/keys has changed. Make a new secret.'

/** What an answer says is in its head. So much longer is waited for the body, which is only logged. */
const BODY_MS = 2_000

/**
 * The secrets that sign. null: the key of the service is another one than when the secret was sealed, so nothing can be signed until the
 * webhook gets a new secret.
 */
export async function openSecrets(
  seal: Seal,
  { id, secret, previousSecret }: Pick<Receiver, 'id' | 'secret' | 'previousSecret'>,
): Promise<readonly string[] | null> {
  const opened = await seal.open(secret, id)
  if (opened === null) return null
  const previous = previousSecret === null ? null : await seal.open(previousSecret, id)
  return previous === null ? [opened] : [opened, previous]
}

/**
 * An attempt without secrets fails, without a request.
 * @throws the reason of the signal if it is aborted
 */
export async function attemptDelivery(
  { clock, sendOutbound, timeoutMs }: AttemptDeps,
  url: string,
  secrets: readonly string[] | null,
  { eventId, type, timestamp, data }: Sendable,
  signal: AbortSignal,
): Promise<Attempted> {
  const body = bodyOf(type, timestamp, data)
  const now = clock.now()
  const begun = performance.now()
  const end = (rest: Omit<Attempted, 'startedAt' | 'durationMs'>): Attempted => ({
    startedAt: now.toISOString(),
    durationMs: Math.round(performance.now() - begun),
    ...rest,
  })
  const nothing = { status: null, retryAfterSeconds: null, headers: null, body: null }
  if (secrets === null) return end({ ...nothing, error: UNREADABLE })
  try {
    const answer = await sendOutbound(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Earshot-Webhooks/1',
        ...signedHeaders(secrets, eventId, now, body),
      },
      body,
      signal,
      deadlineMs: timeoutMs,
      maxAnswerBytes: KEPT_ANSWER_BYTES,
      bodyMs: BODY_MS,
    })
    return end(kept(answer, clock.now()))
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof PublicFetchError)) throw error
    return end({ ...nothing, error: `${error.code}: ${error.message}` })
  }
}

function kept({ status, headers, body }: OutboundAnswer, now: Date) {
  const shown = [...headers].slice(0, MAX_HEADERS).map(([name, value]) => [name, storable(value, MAX_HEADER)])
  return {
    status,
    retryAfterSeconds: retryAfterSeconds(headers.get('retry-after'), now),
    error: null,
    headers: Object.fromEntries(shown) as Record<string, string>,
    body: storable(new TextDecoder().decode(body), KEPT_ANSWER_BYTES),
  }
}

/** PostgreSQL stores no U+0000, and no half of a surrogate pair. */
function storable(text: string, maxLength: number): string {
  return text.replaceAll('\0', '\u{FFFD}').slice(0, maxLength).toWellFormed()
}
