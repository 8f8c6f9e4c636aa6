/**
 * The file that is sent.
 *
 * The rule: what is sent is one version of it. Before the last of its bytes goes out it is looked at again, and where it is
 * another one by then, the last bytes are kept back: an upload that is not whole is never published.
 */
import { type FileHandle, open, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { ClientError } from './failures.ts'

const SMALLEST_CHUNK = 64 * 1024
const LARGEST_CHUNK = 1024 * 1024
/** Chunks grow where they leave sooner than this, and shrink where they need ten times as long. */
const BRISK_MS = 50

export interface SourceFile {
  /** Absolute. */
  readonly path: string
  readonly name: string
  /** Bytes. */
  readonly size: number
  /** Milliseconds since 1970, with a fraction. */
  readonly modified: number
  /**
   * The bytes from `start` to `end`, read as they are taken. `onChunk` is told the offset behind each chunk when the one before it
   * has left.
   * @throws ClientError `file_changed`, out of the stream
   */
  read(start: number, end: number, onChunk: (offset: number) => void): ReadableStream<Uint8Array>
  close(): Promise<void>
}

/** @throws ClientError `file_unreadable`, `file_empty` */
export async function openSourceFile(name: string): Promise<SourceFile> {
  const path = resolve(name)
  const handle = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? 'there is no such file' : `it cannot be read (${error.code})`
    throw new ClientError('file_unreadable', `${name}: ${reason}`)
  })
  try {
    const about = await handle.stat()
    if (!about.isFile()) throw new ClientError('file_unreadable', `${name}: it is not a file`)
    const { size, mtimeMs, ino } = about
    if (size === 0) throw new ClientError('file_empty', `${name}: the file is empty`)
    const version = { size, mtimeMs, ino }
    return {
      path,
      name: basename(path),
      size,
      modified: mtimeMs,
      read: (start, end, onChunk) => streamOf(handle, { path, version, start, end, onChunk }),
      close: () => handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

interface Version {
  readonly size: number
  readonly mtimeMs: number
  readonly ino: number
}

interface Reading {
  readonly path: string
  readonly version: Version
  readonly start: number
  readonly end: number
  readonly onChunk: (offset: number) => void
}

function streamOf(handle: FileHandle, reading: Reading): ReadableStream<Uint8Array> {
  const { path, version, end, onChunk } = reading
  let offset = reading.start
  let length = SMALLEST_CHUNK
  let pulled = performance.now()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        onChunk(offset)
        if (offset >= end) return controller.close()
        length = nextLength(length, performance.now() - pulled)
        pulled = performance.now()
        const chunk = new Uint8Array(Math.min(length, end - offset))
        const bytesRead = await readInto(handle, chunk, offset, path)
        const isLast = offset + bytesRead >= version.size
        if (bytesRead === 0 || (isLast && !(await isStill(path, version)))) throw changed(path)
        offset += bytesRead
        controller.enqueue(chunk.subarray(0, bytesRead))
      },
    },
    { highWaterMark: 0 },
  )
}

/** Large where the line is fast, small where it is slow, so that a bar on the screen moves. */
function nextLength(length: number, elapsedMs: number): number {
  if (elapsedMs < BRISK_MS) return Math.min(LARGEST_CHUNK, length * 2)
  return elapsedMs > BRISK_MS * 10 ? Math.max(SMALLEST_CHUNK, length / 2) : length
}

/** @returns the number of bytes; 0 behind the end of the file */
async function readInto(
  handle: FileHandle,
  chunk: Uint8Array,
  offset: number,
  path: string,
): Promise<number> {
  try {
    return (await handle.read(chunk, 0, chunk.byteLength, offset)).bytesRead
  } catch (error) {
    throw new ClientError('file_unreadable', `${basename(path)} cannot be read: ${String(error)}`)
  }
}

async function isStill(path: string, version: Version): Promise<boolean> {
  const now = await stat(path).catch(() => null)
  return now?.size === version.size && now.mtimeMs === version.mtimeMs && now.ino === version.ino
}

const changed = (path: string) =>
  new ClientError('file_changed', `${basename(path)} has changed while it was being sent`)
