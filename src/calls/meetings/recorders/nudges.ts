/**
 * Webhooks of recorders: is it signed, and which bot is it about? A true webhook only causes a question to the recorder, so a replayed one
 * does no harm. Signatures are compared in constant time.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import type { Nudge, Recorder } from '../recorder.ts'
import { JOIN_ID } from './attendee.rules.ts'
import { canonicalJson } from './canonical-json.rules.ts'

type Verify = Recorder['verifyNudge']

/** Webhooks have a few kilobytes. Larger ones are not even read. */
const MAX_BYTES = 256 * 1024
/** Attendee's text is parsed and written anew before anything is known about its sender: 4 ms for this size (measured). */
const MAX_CANONICAL_BYTES = 16 * 1024
const TOLERANCE_SECONDS = 300

/**
 * `X-Webhook-Signature`: base64 of HMAC-SHA256 over the canonical JSON. It has no timestamp.
 * @throws Error at the start of the service, without the secret
 */
export function attendeeNudge(secret: string | null): Verify {
  if (secret === null) return () => null
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(secret))
    throw new Error('RECORDER_WEBHOOK_SECRET must be base64, as Attendee shows it')
  const key = Buffer.from(secret, 'base64')
  return guarded(MAX_CANONICAL_BYTES, (headers, text) => {
    const expected = createHmac('sha256', key).update(canonicalJson(text)).digest('base64')
    if (!equal(headers.get('x-webhook-signature'), expected)) return null
    const { bot_id, bot_metadata } = members(JSON.parse(text))
    return nudge(bot_id, members(bot_metadata)[JOIN_ID])
  })
}

/** `X-Webhook-Signature`: `sha256=` and hex of HMAC-SHA256 over `<X-Webhook-Timestamp>.<body>`. */
export function vexaNudge(secret: string | null, now: () => Date): Verify {
  if (secret === null) return () => null
  return guarded(MAX_BYTES, (headers, text) => {
    const timestamp = headers.get('x-webhook-timestamp') ?? ''
    const expected = createHmac('sha256', secret).update(`${timestamp}.${text}`).digest('hex')
    if (!equal(headers.get('x-webhook-signature'), `sha256=${expected}`)) return null
    if (!/^\d{1,12}$/.test(timestamp)) return null
    if (Math.abs(now().getTime() / 1_000 - Number(timestamp)) > TOLERANCE_SECONDS) return null
    const { id } = members(members(members(JSON.parse(text)).data).meeting)
    return nudge(Number.isSafeInteger(id) ? String(id) : undefined, undefined)
  })
}

/** Svix, with the headers `svix-…` of older workspaces or `webhook-…` of newer ones. */
export function recallNudge(secret: string | null): Verify {
  if (secret === null) return () => null
  const webhook = webhookOf(secret)
  return guarded(MAX_BYTES, (headers, text) => {
    const prefix = headers.has('webhook-id') ? 'webhook' : 'svix'
    const given = ['id', 'timestamp', 'signature'].map((name) => [
      `webhook-${name}`,
      headers.get(`${prefix}-${name}`) ?? '',
    ])
    const body = webhook.verify(text, Object.fromEntries(given))
    const { id, metadata } = members(members(members(body).data).bot)
    return nudge(id, members(metadata)[JOIN_ID])
  })
}

/** @throws Error at the start of the service, without the secret */
function webhookOf(secret: string): Webhook {
  try {
    return new Webhook(secret)
  } catch {
    throw new Error('RECORDER_WEBHOOK_SECRET must be whsec_ and base64, as Recall shows it')
  }
}

/** Whatever fails is a refusal: the sender of a webhook is not trusted. */
function guarded(maxBytes: number, verify: (headers: Headers, text: string) => Nudge | null): Verify {
  return (headers, rawBody) => {
    if (rawBody.byteLength > maxBytes) return null
    try {
      return verify(headers, new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(rawBody))
    } catch {
      return null
    }
  }
}

function equal(given: string | null, expected: string): boolean {
  const [left, right] = [Buffer.from(given ?? ''), Buffer.from(expected)]
  return left.byteLength === right.byteLength && timingSafeEqual(left, right)
}

function members(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/** Null if the webhook names no bot. */
function nudge(botId: unknown, joinId: unknown): Nudge | null {
  const named = (value: unknown) => typeof value === 'string' && value !== '' && value.length <= 100
  if (!named(botId) && !named(joinId)) return null
  return {
    ...(named(botId) ? { botId: botId as string } : {}),
    ...(named(joinId) ? { joinId: joinId as string } : {}),
  }
}
