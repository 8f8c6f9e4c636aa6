/**
 * Seals texts that the database stores but must not reveal, such as passwords that are handed on later.
 *
 * AES-256-GCM with a key of the service. A sealed text opens only in its context (such as the id of its row), so that a copy in
 * another row is useless.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { derivedKey } from './derived-key.ts'
import { ensureSecretFile } from './secret-file.ts'

export interface Seal {
  seal(text: string, context: string): Promise<Uint8Array>
  /** @returns null if the key or the context is another one, or the bytes were changed */
  open(sealed: Uint8Array, context: string): Promise<string | null>
}

export interface SealOptions {
  readonly dataDir: string
  /** Processes share the key that is derived from it. null: the key is created on first use in `dataDir/keys/<name>.key`. */
  readonly secretKey: string | null
}

const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16

/** `name`: of the key file; `purpose`: what is sealed, for the derived key. */
export function createSeal({ dataDir, secretKey }: SealOptions, name: string, purpose: string): Seal {
  let key = secretKey === null ? null : Promise.resolve(derivedKey(secretKey, purpose))
  const readKey = () => {
    key ??= ensureSecretFile(join(dataDir, 'keys', `${name}.key`), newKey).then((text) =>
      Buffer.from(text, 'base64url'),
    )
    key.catch(() => {
      key = null
    })
    return key
  }
  return {
    async seal(text, context) {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv(ALGORITHM, await readKey(), iv).setAAD(Buffer.from(context))
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), sealed])
    },
    async open(sealed, context) {
      const bytes = Buffer.from(sealed)
      if (bytes.length < IV_BYTES + TAG_BYTES) return null
      const decipher = createDecipheriv(ALGORITHM, await readKey(), bytes.subarray(0, IV_BYTES))
      decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
      try {
        return (
          decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
        )
      } catch {
        return null
      }
    },
  }
}

function newKey(): string {
  return randomBytes(KEY_BYTES).toString('base64url')
}
