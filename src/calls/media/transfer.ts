/**
 * Downloads a URL into a file.
 *
 * Bytes received before a connection broke are kept only if the origin sent a strong entity tag. The transfer then
 * continues under that tag (RFC 9110, section 13.1.5), so two versions are never mixed.
 */
import { type FileHandle, open } from 'node:fs/promises'
import type { FetchPublic, PublicResponse } from '../../platform/net/fetch-public.ts'
import { PublicFetchError } from '../../platform/net/public-error.ts'
import { releaseChunk } from '../../platform/storage/release-chunk.ts'
import { MediaError, SNIFFED_BYTES, sniff } from './rules.ts'
import type { MediaSource } from './source.ts'

const ACCEPTED = 202

/** Consecutive continuations that bring no new byte. */
const MAX_FRUITLESS = 3

export interface TransferOptions {
  readonly signal: AbortSignal
  readonly maxBytes: number
  readonly onFirstByte: () => Promise<void>
}

interface Progress {
  written: number
  /** Strong entity tag of the written bytes; null: none, so the transfer cannot continue. */
  tag: string | null
  /** The first bytes were written and are those of media. */
  isMedia: boolean
  begun: boolean
}

/** Creates the file. @returns its size. @throws PublicFetchError, MediaError */
export async function transfer(
  fetchPublic: FetchPublic,
  source: Pick<MediaSource, 'url' | 'headers'>,
  path: string,
  options: TransferOptions,
): Promise<number> {
  const file = await open(path, 'w+', 0o600)
  const progress: Progress = { written: 0, tag: null, isMedia: false, begun: false }
  let fruitless = 0
  try {
    for (;;) {
      const before = progress.written
      try {
        await receive(fetchPublic, source, file, progress, options)
        break
      } catch (error) {
        fruitless = progress.written > before ? 0 : fruitless + 1
        if (!mayContinue(error, progress) || fruitless >= MAX_FRUITLESS) throw error
      }
    }
  } finally {
    await file.close()
  }
  if (progress.written === 0) throw new MediaError('media_empty', true, 'the response was empty')
  return progress.written
}

function mayContinue(error: unknown, { tag, written }: Progress): boolean {
  return error instanceof PublicFetchError && error.retryable && tag !== null && written > 0
}

async function receive(
  fetchPublic: FetchPublic,
  { url, headers: given }: Pick<MediaSource, 'url' | 'headers'>,
  file: FileHandle,
  progress: Progress,
  { signal, maxBytes, onFirstByte }: TransferOptions,
): Promise<void> {
  const { written, tag } = progress
  const range: Record<string, string> = tag === null ? {} : { range: `bytes=${written}-`, 'if-range': tag }
  const headers = { ...given, ...range }
  const response = await fetchPublic(url, { signal, maxBytes, headers })
  if (response.status === 206) await assertContinues(response, written)
  else {
    await file.truncate(0)
    progress.written = 0
    progress.isMedia = false
  }
  progress.tag = response.isDecoded ? null : strongTagOf(response.headers)
  for await (const chunk of response.body) {
    if (progress.written + chunk.byteLength > maxBytes)
      throw new MediaError('media_too_large', false, `more than ${maxBytes} bytes`)
    if (!progress.begun) await onFirstByte()
    progress.begun = true
    await writeAll(file, chunk, progress.written)
    progress.written += chunk.byteLength
    releaseChunk(chunk)
    if (!progress.isMedia && progress.written >= SNIFFED_BYTES) await assertMedia(file, progress, response)
  }
  if (!progress.isMedia && progress.written > 0) await assertMedia(file, progress, response)
}

/** Refuses a page or an archive by its first bytes, instead of fetching gigabytes of it. */
async function assertMedia(file: FileHandle, progress: Progress, { status }: PublicResponse): Promise<void> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(SNIFFED_BYTES), 0, SNIFFED_BYTES, 0)
  // "Accepted" announces the media for later (RFC 9110, section 15.3.3).
  if (sniff(buffer.subarray(0, bytesRead)) === null)
    throw new MediaError('unsupported_media_type', status === ACCEPTED, 'the file type is not accepted')
  progress.isMedia = true
}

async function assertContinues({ headers, close }: PublicResponse, written: number): Promise<void> {
  if (headers.get('content-range')?.startsWith(`bytes ${written}-`)) return
  await close()
  throw new MediaError('url_unreachable', true, 'the origin continued at another offset')
}

function strongTagOf(headers: Headers): string | null {
  const tag = headers.get('etag')
  return tag !== null && /^"[^"]*"$/.test(tag) ? tag : null
}

async function writeAll(file: FileHandle, chunk: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < chunk.byteLength; ) {
    const { bytesWritten } = await file.write(chunk, done, chunk.byteLength - done, position + done)
    done += bytesWritten
  }
}
