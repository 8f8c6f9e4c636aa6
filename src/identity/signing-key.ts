/**
 * The Ed25519 key that signs this service's own user tokens, as a private JWK (RFC 8037) in `DATA_DIR/keys`.
 *
 * The rule: the file is complete or absent, readable by its owner only, and never replaced, so that processes that start
 * at once agree on one key and tokens outlive a restart.
 */
import { link, mkdir, open, readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { JWK } from 'jose'

function keyPath(dataDir: string): string {
  return join(dataDir, 'keys', 'user-tokens.jwk.json')
}

/** The key, or null where none was made yet. */
export async function readSigningKey(dataDir: string): Promise<JWK | null> {
  try {
    return JSON.parse(await readFile(keyPath(dataDir), 'utf8'))
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw error
  }
}

/** The key; makes it where there is none. */
export async function ensureSigningKey(dataDir: string): Promise<JWK> {
  const existing = await readSigningKey(dataDir)
  if (existing !== null) return existing
  const { calculateJwkThumbprint, exportJWK, generateKeyPair } = await import('jose')
  const { privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
  const key = await exportJWK(privateKey)
  await publish(dataDir, { ...key, alg: 'EdDSA', use: 'sig', kid: await calculateJwkThumbprint(key) })
  const published = await readSigningKey(dataDir)
  if (published === null) throw new Error(`${keyPath(dataDir)} disappeared while it was being made`)
  return published
}

/** `link` fails where the name exists, so the first of several processes wins and the others read its key. */
async function publish(dataDir: string, key: JWK): Promise<void> {
  await mkdir(join(dataDir, 'keys'), { recursive: true, mode: 0o700 })
  const temporary = `${keyPath(dataDir)}.${crypto.randomUUID()}`
  const file = await open(temporary, 'wx', 0o600)
  try {
    await file.writeFile(JSON.stringify(key))
    await file.sync()
    await link(temporary, keyPath(dataDir))
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  } finally {
    await file.close()
    await unlink(temporary)
  }
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
