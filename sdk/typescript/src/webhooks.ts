/** Verifies webhooks of the service (Standard Webhooks 1.0, "Verifying webhook authenticity"). Web Crypto only, so it runs everywhere. */

/** The request is not one of the service, or too old. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError'
}

/** The clock that the time of the request is compared with. */
export interface VerifyOptions {
  /** Seconds that the clocks may differ, and that a request may be old. */
  readonly toleranceSeconds?: number
  readonly now?: Date
}

type Headers = { get(name: string): string | null } | Readonly<Record<string, string | undefined>>

/**
 * The JSON value of a webhook's body, if one of its signatures was made with `secret`.
 * @param body the bytes as they arrived, as text; not parsed and written again
 * @param headers those of the request
 * @param secret of the webhook, with or without `whsec_`
 * @throws WebhookVerificationError
 */
export async function verifyWebhook(
  body: string,
  headers: Headers,
  secret: string,
  { toleranceSeconds = 300, now = new Date() }: VerifyOptions = {},
): Promise<unknown> {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    headerOf(headers, name),
  )
  if (!id || !timestamp || !signatures)
    throw new WebhookVerificationError('a header of the signature is missing')
  const seconds = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : Number.NaN
  if (!(Math.abs(now.getTime() / 1_000 - seconds) <= toleranceSeconds))
    throw new WebhookVerificationError('the timestamp is too old or too new')
  const key = await keyOf(secret)
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`)
  for (const signature of signatures.split(' ')) {
    const [version, value = ''] = signature.split(',')
    const bytes = version === 'v1' ? bytesOf(value) : null
    if (bytes !== null && (await crypto.subtle.verify('HMAC', key, bytes, signed))) return parsed(body)
  }
  throw new WebhookVerificationError('no signature was made with this secret')
}

function headerOf(headers: Headers, name: string): string | null | undefined {
  if (typeof headers.get === 'function') return (headers as { get(name: string): string | null }).get(name)
  const entries = Object.entries(headers as Readonly<Record<string, string | undefined>>)
  return entries.find(([key]) => key.toLowerCase() === name)?.[1]
}

async function keyOf(secret: string): Promise<CryptoKey> {
  const bytes = bytesOf(secret.replace(/^whsec_/, ''))
  if (bytes === null || bytes.length === 0) throw new WebhookVerificationError('the secret is not base64')
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return null
  }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    throw new WebhookVerificationError('the body is not JSON')
  }
}
