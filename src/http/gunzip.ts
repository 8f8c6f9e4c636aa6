/**
 * Decompresses a request body on another thread, step by step.
 *
 * A few kilobytes of gzip may become gigabytes. The body is therefore decompressed only when all of it has arrived and it is its caller's
 * turn, each step is reserved before it is made, and a body ends at its limit or at the ratio that no text has.
 */
import { createGunzip } from 'node:zlib'
import { AppError } from '../platform/errors.ts'

export interface GunzipOptions {
  /** Called before each step with its most bytes. @throws what the caller of `gunzip` gets */
  readonly reserve: (bytes: number) => void
  /** Called after each step with the bytes so far. @throws what the caller of `gunzip` gets */
  readonly onSize: (bytes: number) => void
}

/** Bytes of one step. */
const [SMALLEST_STEP, LARGEST_STEP] = [1024, 128 * 1024]
/** The last four bytes of a member are the length of its content modulo 2^32 (RFC 1952, section 2.3.1). They may lie. */
const LENGTH_BYTES = 4

/**
 * Texts and spans shrink to a tenth, in odd cases to a fiftieth. A bomb shrinks to a thousandth.
 */
export const MAX_RATIO = 100
/** Smaller bodies may have any ratio. */
export const ANY_RATIO_BYTES = 256 * 1024

/** @throws AppError 400 `malformed_encoding`, `payload_too_large` at the highest ratio; what the options throw */
export async function gunzip(
  compressed: Uint8Array,
  { reserve, onSize }: GunzipOptions,
): Promise<Uint8Array[]> {
  if (compressed.byteLength === 0) return []
  const step = stepOf(compressed)
  const decoder = createGunzip({ chunkSize: step })
  const parts: Uint8Array[] = []
  let size = 0
  try {
    reserve(step)
    decoder.end(compressed)
    for await (const part of decoder as AsyncIterable<Uint8Array>) {
      size += part.byteLength
      onSize(size)
      if (size > ANY_RATIO_BYTES && size > compressed.byteLength * MAX_RATIO) throw tooDense(compressed)
      parts.push(part)
      reserve(step)
    }
    return parts
  } catch (error) {
    throw isZlibError(error) ? malformed() : error
  } finally {
    decoder.destroy()
  }
}

/** One step for a small body that tells the truth about its length. */
function stepOf(compressed: Uint8Array): number {
  if (compressed.byteLength < LENGTH_BYTES) return SMALLEST_STEP
  const { buffer, byteOffset, byteLength } = compressed
  const told = new DataView(buffer, byteOffset, byteLength).getUint32(byteLength - LENGTH_BYTES, true)
  return Math.min(LARGEST_STEP, Math.max(SMALLEST_STEP, told))
}

function isZlibError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')
}

function malformed(): AppError {
  return new AppError('malformed_encoding', 'The request body is not valid gzip.')
}

function tooDense({ byteLength }: Uint8Array): AppError {
  const limitBytes = Math.max(ANY_RATIO_BYTES, byteLength * MAX_RATIO)
  return new AppError(
    'payload_too_large',
    `The request body has more than ${MAX_RATIO} times as many bytes when decompressed. Send it in smaller requests, or plain.`,
    { extra: { limitBytes, actualBytes: limitBytes + 1 } },
  )
}
