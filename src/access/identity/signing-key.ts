/**
 * The Ed25519 keys that sign the service's own tokens, as a private JWK (RFC 8037). It is derived from `SECRET_KEY` if
 * that is set. Otherwise it is created once and kept in `DATA_DIR/keys`.
 */
import { createPrivateKey } from 'node:crypto'
import { join } from 'node:path'
import type { JWK } from 'jose'
import type { Config } from '../../kernel/config.ts'
import { derivedKey } from '../../platform/secrets/derived-key.ts'
import { ensureSecretFile, readSecretFile } from '../../platform/secrets/secret-file.ts'

export type SigningKeySource = Pick<Config, 'dataDir' | 'secretKey'>

/** PKCS #8 header of a raw 32-byte Ed25519 private key (RFC 8410, section 7). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')

type KeyPurpose = 'user tokens' | 'id tokens'

function keyPath(dataDir: string, purpose: KeyPurpose): string {
  return join(dataDir, 'keys', `${purpose.replace(' ', '-')}.jwk.json`)
}

/** The key, or null if none was created yet. */
export async function readSigningKey({ dataDir, secretKey }: SigningKeySource): Promise<JWK | null> {
  if (secretKey !== null) return keyOf(secretKey, 'user tokens')
  const text = await readSecretFile(keyPath(dataDir, 'user tokens'))
  return text === null ? null : JSON.parse(text)
}

/** The key. Creates it if there is none. Each purpose has a key of its own. */
export async function ensureSigningKey(
  { dataDir, secretKey }: SigningKeySource,
  purpose: KeyPurpose = 'user tokens',
): Promise<JWK> {
  if (secretKey !== null) return keyOf(secretKey, purpose)
  return JSON.parse(await ensureSecretFile(keyPath(dataDir, purpose), newKey))
}

function keyOf(secretKey: string, purpose: KeyPurpose): Promise<JWK> {
  const der = Buffer.concat([PKCS8_PREFIX, derivedKey(secretKey, purpose)])
  return described(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).export({ format: 'jwk' }))
}

async function newKey(): Promise<string> {
  const { exportJWK, generateKeyPair } = await import('jose')
  const { privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
  return JSON.stringify(await described(await exportJWK(privateKey)))
}

async function described(key: JWK): Promise<JWK> {
  const { calculateJwkThumbprint } = await import('jose')
  return { ...key, alg: 'EdDSA', use: 'sig', kid: await calculateJwkThumbprint(key) }
}
