/**
 * Reads the bytes of a JSON request body with a size limit, the process's budget for bodies, and a deadline. The limit holds for the body as
 * it arrives, and again for the decompressed one.
 */
import { join } from '../platform/concurrency/parts.ts'
import { AppError } from '../platform/errors.ts'
import { codingOfBody } from '../platform/net/content-coding.rules.ts'
import type { BodyLease } from './body-budget.ts'
import { ClientGone } from './client-gone.ts'
import { gunzip } from './gunzip.ts'

/**
 * Bodies up to this size are read in one call, which costs half as much. Their parts are not visible before the last
 * one.
 */
const SMALL_BYTES = 16 * 1024
/** The parts of a larger body are joined by the thread that parses it. */
const MAX_JOINED_BYTES = 512 * 1024
/** To transfer more parts takes the HTTP thread longer than to join them. A client chooses how small they are. */
const MAX_PARTS = 256

/** Reads a body as `readParts` does, and joins its parts: for small bodies. */
export async function readBytes(request: Request, limit: number, lease: BodyLease): Promise<Uint8Array> {
  return join(await readParts(request, limit, lease))
}

/**
 * Reads a body of at most `limit` bytes, and stops reading a larger one.
 * @returns one part, or those of a large body as they arrived, so that a work thread can join them
 * @throws AppError 400 `payload_too_large`, `malformed_encoding`; 415 for a coding other than gzip; 408
 * `body_too_slow`; 503 if the process already holds too much
 * @throws ClientGone
 */
export async function readParts(request: Request, limit: number, lease: BodyLease): Promise<Uint8Array[]> {
  try {
    return await readAll(request, limit, lease)
  } catch (error) {
    if (error instanceof AppError || !request.signal.aborted) throw error
    throw new ClientGone('the client disconnected before its body had arrived', { cause: error })
  }
}

async function readAll(request: Request, limit: number, lease: BodyLease): Promise<Uint8Array[]> {
  const declared = Number(request.headers.get('content-length') ?? 0)
  const isCompressed = isGzip(request)
  if (declared > limit) throw tooLarge(limit, declared)
  if (!isCompressed && declared > 0 && declared <= SMALL_BYTES) {
    // The HTTP parser enforces a declared length: the body cannot be longer.
    return [new Uint8Array(await lease.arrived(request.arrayBuffer(), declared))]
  }
  if (request.body === null) return []
  lease.check(declared)
  const parts = await readStream(request.body.getReader(), limit, lease)
  return isCompressed ? decompressed(request, join(parts), limit, lease) : parts
}

/** The compressed body counts against the budget until it is decompressed, and the other from then on. */
async function decompressed(
  { signal }: Request,
  compressed: Uint8Array,
  limit: number,
  lease: BodyLease,
): Promise<Uint8Array[]> {
  let reserved = 0
  let size = 0
  const parts = await lease.inTurn(async () => {
    signal.throwIfAborted()
    return gunzip(compressed, {
      reserve(bytes) {
        const missing = size + bytes - reserved
        lease.take(missing)
        reserved += missing
      },
      onSize(bytes) {
        size = bytes
        assertSize(limit, size)
      },
    })
  })
  lease.give(compressed.byteLength + reserved - size)
  return few(parts, size)
}

/** @throws AppError 415 for another coding */
function isGzip({ headers }: Request): boolean {
  const coding = codingOfBody(headers.get('content-encoding'))
  if (coding !== 'unknown') return coding === 'gzip'
  throw new AppError(
    'unsupported_media_type',
    'The request body may be sent as Content-Encoding: gzip, or plain.',
    {
      headers: { 'accept-encoding': 'gzip' },
    },
  )
}

async function readStream(
  reader: Pick<ReadableStreamDefaultReader<Uint8Array>, 'read' | 'cancel'>,
  limit: number,
  lease: BodyLease,
): Promise<Uint8Array[]> {
  const parts: Uint8Array[] = []
  let size = 0
  try {
    for (;;) {
      const { done, value } = await lease.arrived(reader.read())
      if (done) break
      size += value.byteLength
      assertSize(limit, size)
      lease.take(value.byteLength)
      parts.push(value)
    }
  } catch (error) {
    // The rest is not needed, so errors of the runtime about it are ignored.
    reader.cancel().catch(() => {})
    throw error
  }
  return few(parts, size)
}

function few(parts: Uint8Array[], size: number): Uint8Array[] {
  return size > MAX_JOINED_BYTES && parts.length <= MAX_PARTS ? parts : [join(parts)]
}

function assertSize(limit: number, size: number): void {
  if (size > limit) throw tooLarge(limit, size)
}

function tooLarge(limit: number, actual: number): AppError {
  return new AppError('payload_too_large', `The request body has more than ${limit} bytes.`, {
    extra: { limitBytes: limit, actualBytes: actual },
  })
}
