/** Decompresses a request body while it arrives, on another thread, and only as far as it is read. */
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { AppError } from '../platform/errors.ts'

export type BodyReader = Pick<ReadableStreamDefaultReader<Uint8Array>, 'read' | 'cancel'>

/** Bytes decompressed at a time. */
const CHUNK_BYTES = 64 * 1024

/**
 * The decompressed bytes of `compressed`. `onSize` gets the number of compressed bytes so far, because these may be
 * endless and decompress to nothing. A read rejects with an error of `onSize`, AppError 400 `malformed_encoding`, or an
 * error of the body.
 */
export function gunzip(compressed: BodyReader, onSize: (bytes: number) => void): BodyReader {
  const decoder = createGunzip({ chunkSize: CHUNK_BYTES })
  // The reader gets the errors of both.
  pipeline(parts(compressed, onSize), decoder, () => {})
  const decoded: AsyncIterator<Uint8Array> = decoder[Symbol.asyncIterator]()
  return {
    async read() {
      try {
        const { done, value } = await decoded.next()
        return done ? { done: true, value: undefined } : { done: false, value }
      } catch (error) {
        throw isZlibError(error) ? malformed() : error
      }
    },
    async cancel() {
      decoder.destroy()
      await compressed.cancel()
    },
  }
}

async function* parts(reader: BodyReader, onSize: (bytes: number) => void) {
  for (let size = 0; ; ) {
    const { done, value } = await reader.read()
    if (done) return
    size += value.byteLength
    onSize(size)
    yield value
  }
}

function isZlibError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')
}

function malformed(): AppError {
  return new AppError('malformed_encoding', 'The request body is not valid gzip.')
}
