/**
 * Decompresses the body of an answer while it arrives, where its first bytes are gzip (RFC 1952).
 *
 * zlib works on threads of its own, in steps that wait until the consumer has taken the one before. So neither a long body nor a few
 * kilobytes that become gigabytes fill the memory.
 */
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { PublicFetchError, tooLarge } from './public-error.ts'

type Body = AsyncIterable<Uint8Array>

/** ID1, ID2, and CM = deflate (RFC 1952, section 2.3.1). No media file begins with them. */
const MAGIC = [0x1f, 0x8b, 8] as const

interface Unpacking {
  /** How often the body may be compressed. What is not gzip passes through unchanged. */
  readonly layers: number
  readonly maxBytes: number
  /** Ends `body`, also while a chunk of it is awaited. */
  readonly abandon: () => void
}

/**
 * @throws PublicFetchError what `body` throws; `media_too_large`; `url_unreachable`, to be tried again, for an early end;
 * `unsupported_media_type` for broken gzip
 */
export function gunzipped(body: Body, { layers, ...rest }: Unpacking): Body {
  return layers === 0 ? body : gunzipped(withoutLayer(body, rest), { layers: layers - 1, ...rest })
}

async function* withoutLayer(
  body: Body,
  { maxBytes, abandon }: Omit<Unpacking, 'layers'>,
): AsyncGenerator<Uint8Array, void> {
  const chunks = body[Symbol.asyncIterator]()
  try {
    const start: Uint8Array[] = []
    for (let size = 0; size < MAGIC.length; ) {
      const { done, value } = await chunks.next()
      if (done) break
      start.push(value)
      size += value.byteLength
    }
    const first = Buffer.concat(start)
    const all = joined(first, chunks)
    yield* MAGIC.every((byte, index) => first[index] === byte) ? unpacked(all, maxBytes) : all
  } finally {
    abandon()
    await chunks.return?.()
  }
}

async function* joined(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  if (first.byteLength > 0) yield first
  for (;;) {
    const { done, value } = await rest.next()
    if (done) return
    yield value
  }
}

async function* unpacked(body: Body, maxBytes: number): AsyncGenerator<Uint8Array, void> {
  const source = Readable.from(body, { highWaterMark: 1 })
  const decoder = createGunzip()
  // `pipe` does not hand over errors.
  source.on('error', (error) => decoder.destroy(error))
  source.pipe(decoder)
  let size = 0
  try {
    for await (const part of decoder as AsyncIterable<Uint8Array>) {
      size += part.byteLength
      if (size > maxBytes) throw tooLarge(maxBytes)
      yield part
    }
  } catch (error) {
    throw asFetchError(error)
  } finally {
    source.destroy()
    decoder.destroy()
  }
}

function asFetchError(error: unknown): unknown {
  const code = String((error as { readonly code?: unknown } | null)?.code)
  if (error instanceof PublicFetchError || !code.startsWith('Z_')) return error
  return code === 'Z_BUF_ERROR'
    ? new PublicFetchError('url_unreachable', true, 'the compressed content ended early')
    : new PublicFetchError(
        'unsupported_media_type',
        false,
        'the content is not the gzip that it claims to be',
      )
}
