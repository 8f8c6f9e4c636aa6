/**
 * The token in an `uploadUrl`. Its holder may send the file and nothing else.
 *
 * The token is derived from the upload's id and a key of the service. An identical request therefore gets the same URL,
 * although the database stores only the token's hash.
 */
import { join } from 'node:path'
import type { Config } from '../../kernel/config.ts'
import { derivedKey } from '../../platform/secrets/derived-key.ts'
import { ensureSecretFile } from '../../platform/secrets/secret-file.ts'

/** Path of an `uploadUrl` before the token. */
export const UPLOAD_PATH = '/uploads/'

const KEY_BYTES = 32
/** 256 bits in base64url. */
const TOKEN = /^[\w-]{43}$/

export interface UploadTokens {
  /** 43 characters of base64url. */
  of(uploadId: string): Promise<string>
}

/**
 * Processes that serve the same uploads share the key. It is derived from `SECRET_KEY` if that is set, and otherwise
 * created on first use in `DATA_DIR/keys`.
 */
export function createUploadTokens({
  dataDir,
  secretKey,
}: Pick<Config, 'dataDir' | 'secretKey'>): UploadTokens {
  let key = secretKey === null ? null : Promise.resolve(derivedKey(secretKey, 'upload URLs'))
  const readKey = () => {
    key ??= ensureSecretFile(join(dataDir, 'keys', 'uploads.key'), newKey).then((text) =>
      Buffer.from(text, 'base64url'),
    )
    key.catch(() => {
      key = null
    })
    return key
  }
  return {
    of: async (uploadId) =>
      new Bun.CryptoHasher('sha256', await readKey()).update(uploadId).digest('base64url'),
  }
}

/** The hash that the database stores; null if the text cannot be a token. */
export function hashOfToken(token: string): Buffer | null {
  return TOKEN.test(token) ? new Bun.CryptoHasher('sha256').update(token).digest() : null
}

function newKey(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(KEY_BYTES))).toString('base64url')
}
