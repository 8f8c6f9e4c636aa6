/** Secrets of subscriptions, and the signatures made with them (Standard Webhooks 1.0, "Signature scheme"). */
import { Webhook } from 'standardwebhooks'
import type { Config } from '../../kernel/config.ts'
import { createSeal, type Seal } from '../../platform/secrets/seal.ts'

const SECRET_BYTES = 32

/** `whsec_` and 32 random bytes in base64. */
export function newSecret(): string {
  return `whsec_${Buffer.from(crypto.getRandomValues(new Uint8Array(SECRET_BYTES))).toString('base64')}`
}

/** Seals secrets for the database. The context is the subscription's id. */
export function createSecretSeal(config: Pick<Config, 'dataDir' | 'secretKey'>): Seal {
  return createSeal(config, 'webhooks', 'webhook secrets')
}

/** The headers of one attempt. Each secret signs; the receiver accepts any of the signatures. */
export function signedHeaders(
  secrets: readonly string[],
  id: string,
  at: Date,
  body: string,
): Readonly<Record<string, string>> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(' '),
  }
}
