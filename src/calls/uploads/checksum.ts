/** Checksums over bytes that arrive in chunks, with the algorithm names of the tus 1.0 extension "checksum". */
import { timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'

export const CHECKSUM_ALGORITHMS = ['sha1', 'sha256', 'md5', 'crc32'] as const
export type ChecksumAlgorithm = (typeof CHECKSUM_ALGORITHMS)[number]

export interface Checksum {
  readonly algorithm: ChecksumAlgorithm
  /** The digest. For crc32: four bytes, big-endian. */
  readonly digest: Uint8Array
}

export interface ChecksumVerifier {
  add(chunk: Uint8Array): void
  /** Call it once, after the last chunk. */
  matches(): boolean
}

export function createVerifier({ algorithm, digest }: Checksum): ChecksumVerifier {
  const hash = algorithm === 'crc32' ? crc32Hash() : new Bun.CryptoHasher(algorithm)
  return {
    add: (chunk) => void hash.update(chunk),
    matches() {
      const actual = hash.digest()
      return actual.byteLength === digest.byteLength && timingSafeEqual(actual, digest)
    },
  }
}

function crc32Hash() {
  let value = 0
  return {
    update(chunk: Uint8Array) {
      value = crc32(chunk, value)
    },
    digest() {
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32BE(value)
      return bytes
    },
  }
}
