/** Checksums over bytes that arrive piece by piece, as the extension "checksum" of tus 1.0 names them. */
import { timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'

export const CHECKSUM_ALGORITHMS = ['sha1', 'sha256', 'md5', 'crc32'] as const
export type ChecksumAlgorithm = (typeof CHECKSUM_ALGORITHMS)[number]

export interface Checksum {
  readonly algorithm: ChecksumAlgorithm
  /** Of crc32: four bytes, the most significant first. */
  readonly digest: Uint8Array
}

export interface Summing {
  add(chunk: Uint8Array): void
  /** Ends it. */
  matches(): boolean
}

export function sumUp({ algorithm, digest }: Checksum): Summing {
  const sum = algorithm === 'crc32' ? crc32Sum() : new Bun.CryptoHasher(algorithm)
  return {
    add: (chunk) => void sum.update(chunk),
    matches() {
      const actual = sum.digest()
      return actual.byteLength === digest.byteLength && timingSafeEqual(actual, digest)
    },
  }
}

function crc32Sum() {
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
