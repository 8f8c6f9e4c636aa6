/** The Ed25519 key that signs this service's own user tokens, as a private JWK (RFC 8037) in `DATA_DIR/keys`. */
import { join } from 'node:path'
import type { JWK } from 'jose'
import { ensureSecretFile, readSecretFile } from '../platform/secret-file.ts'

function keyPath(dataDir: string): string {
  return join(dataDir, 'keys', 'user-tokens.jwk.json')
}

/** The key, or null where none was made yet. */
export async function readSigningKey(dataDir: string): Promise<JWK | null> {
  const text = await readSecretFile(keyPath(dataDir))
  return text === null ? null : JSON.parse(text)
}

/** The key; makes it where there is none. */
export async function ensureSigningKey(dataDir: string): Promise<JWK> {
  return JSON.parse(await ensureSecretFile(keyPath(dataDir), newKey))
}

async function newKey(): Promise<string> {
  const { calculateJwkThumbprint, exportJWK, generateKeyPair } = await import('jose')
  const { privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
  const key = await exportJWK(privateKey)
  return JSON.stringify({ ...key, alg: 'EdDSA', use: 'sig', kid: await calculateJwkThumbprint(key) })
}
