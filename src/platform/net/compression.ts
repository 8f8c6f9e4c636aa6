/**
 * Text responses, compressed as the client asks.
 *
 * Levels are modest: they take 10 to 70 ms of CPU for 2.4 MB (measured) and leave a quarter of the size. Large responses are
 * compressed on other threads, so that other requests do not wait.
 *
 * Media is never compressed, because it already is. Neither are responses with status 201: they contain secrets beside text
 * that the caller chose, and the compressed length would leak both (the BREACH attack).
 */
import { promisify } from 'node:util'
import { brotliCompress, brotliCompressSync, constants, gzip } from 'node:zlib'
import { type Coding, chooseCoding } from './content-coding.rules.ts'

/** Shorter responses fit into one packet anyway. */
const MIN_BYTES = 1024

/** Compressing up to this size takes less than half a millisecond, about as long as a handover to another thread. */
const MAX_SYNC_BYTES = 16 * 1024

const CREATED = 201

const LEVELS = {
  zstd: { level: 1 },
  br: { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } },
  gzip: { level: 4 },
} as const

const brotliAsync = promisify(brotliCompress)
const gzipAsync = promisify(gzip)

type Bytes = Uint8Array<ArrayBuffer>

/** Compresses on another thread. */
export async function compress(content: string | Uint8Array, coding: Coding): Promise<Bytes> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  if (coding === 'zstd') return (await Bun.zstdCompress(bytes as Bytes, LEVELS.zstd)) as Bytes
  const compressed = coding === 'br' ? brotliAsync(bytes, LEVELS.br) : gzipAsync(bytes, LEVELS.gzip)
  return (await compressed) as Bytes
}

function compressNow(text: string, coding: Coding): Bytes {
  if (coding === 'zstd') return Bun.zstdCompressSync(text, LEVELS.zstd) as Bytes
  if (coding === 'br') return brotliCompressSync(text, LEVELS.br) as Bytes
  return Bun.gzipSync(text, LEVELS.gzip)
}

export interface TextInit {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
}

/** The response to `request` with this text. `init.headers` contains the media type. */
export function textResponse(request: Request, text: string, init: TextInit): Response | Promise<Response> {
  if (text.length <= MIN_BYTES || init.status === CREATED) return new Response(text, init)
  const headers = { ...init.headers, vary: varyOf(init.headers) }
  const coding = chooseCoding(request.headers.get('accept-encoding'))
  if (coding === null) return new Response(text, { ...init, headers })
  const coded = { ...init, headers: { ...headers, 'content-encoding': coding } }
  if (text.length <= MAX_SYNC_BYTES) return new Response(compressNow(text, coding), coded)
  return compress(text, coding).then((bytes) => new Response(bytes, coded))
}

/** Adds `Accept-Encoding` to `Vary` (RFC 9110, section 12.5.5). */
function varyOf({ vary }: TextInit['headers']): string {
  return vary === undefined ? 'Accept-Encoding' : `${vary}, Accept-Encoding`
}
