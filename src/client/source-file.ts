/**
 * The file to send.
 *
 * The client sends one version of the file, the version it first examined. Before the last bytes leave, it examines the
 * file again. If the file has changed, it withholds those bytes, and the upload never completes. A file is open only
 * while it is read, however many files wait.
 */
import { type FileHandle, open, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { ClientError } from './failures.ts'

const SMALLEST_CHUNK = 64 * 1024
const LARGEST_CHUNK = 1024 * 1024
/** Chunks double if they leave faster than this, and halve if they take ten times as long. */
const FAST_MS = 50

export interface SourceFile {
  /** Absolute. */
  readonly path: string
  readonly name: string
  /** Bytes. */
  readonly size: number
  /** Milliseconds since 1970, with a fraction. */
  readonly modified: number
  /**
   * The bytes from `start` to `end`, read on demand. `onChunk` gets the end offset of a chunk once the chunk has left.
   * Opens the file if it is closed.
   * @throws ClientError `file_changed`, `file_unreadable`, from the stream
   */
  read(start: number, end: number, onChunk: (offset: number) => void): ReadableStream<Uint8Array>
  /** Call it when nothing more is to be read for now. */
  close(): Promise<void>
}

/** Examines the file and checks that it is readable. @throws ClientError `file_unreadable`, `file_empty` */
export async function findSourceFile(name: string): Promise<SourceFile> {
  const path = resolve(name)
  const version = await versionOf(name, path)
  let opened: Promise<FileHandle> | null = null
  const handle = () => {
    opened ??= openVersion(path, version)
    return opened
  }
  return {
    path,
    name: basename(path),
    size: version.size,
    modified: version.mtimeMs,
    read: (start, end, onChunk) => streamOf(handle, { path, version, start, end, onChunk }),
    async close() {
      const closing = opened
      opened = null
      await (await closing?.catch(() => null))?.close()
    },
  }
}

async function versionOf(name: string, path: string): Promise<Version> {
  const handle = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? 'no such file' : `cannot be read (${error.code})`
    throw new ClientError('file_unreadable', `${name}: ${reason}`)
  })
  try {
    const about = await handle.stat()
    if (!about.isFile()) throw new ClientError('file_unreadable', `${name}: not a regular file`)
    const { size, mtimeMs, ino } = about
    if (size === 0) throw new ClientError('file_empty', `${name}: the file is empty`)
    return { size, mtimeMs, ino }
  } finally {
    await handle.close()
  }
}

/** @throws ClientError `file_changed` if the file has changed since */
async function openVersion(path: string, version: Version): Promise<FileHandle> {
  const handle = await open(path, 'r').catch((error) => {
    throw unreadable(path, error)
  })
  const isSame = await handle.stat().then((now) => isVersion(now, version))
  if (isSame) return handle
  await handle.close()
  throw changed(path)
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

function streamOf(handle: () => Promise<FileHandle>, reading: Reading): ReadableStream<Uint8Array> {
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
        const bytesRead = await readInto(await handle(), chunk, offset, path)
        const isLast = offset + bytesRead >= version.size
        if (bytesRead === 0 || (isLast && !(await isStill(path, version)))) throw changed(path)
        offset += bytesRead
        controller.enqueue(chunk.subarray(0, bytesRead))
      },
    },
    { highWaterMark: 0 },
  )
}

/** Large chunks on a fast connection, small ones on a slow connection, so that the progress bar moves. */
function nextLength(length: number, elapsedMs: number): number {
  if (elapsedMs < FAST_MS) return Math.min(LARGEST_CHUNK, length * 2)
  return elapsedMs > FAST_MS * 10 ? Math.max(SMALLEST_CHUNK, length / 2) : length
}

/** @returns the number of bytes; 0 at the end of the file */
async function readInto(
  handle: FileHandle,
  chunk: Uint8Array,
  offset: number,
  path: string,
): Promise<number> {
  try {
    return (await handle.read(chunk, 0, chunk.byteLength, offset)).bytesRead
  } catch (error) {
    throw unreadable(path, error)
  }
}

async function isStill(path: string, version: Version): Promise<boolean> {
  const now = await stat(path).catch(() => null)
  return now !== null && isVersion(now, version)
}

function isVersion(now: Version, version: Version): boolean {
  return now.size === version.size && now.mtimeMs === version.mtimeMs && now.ino === version.ino
}

const unreadable = (path: string, error: unknown) =>
  new ClientError('file_unreadable', `${basename(path)} cannot be read: ${String(error)}`)

const changed = (path: string) =>
  new ClientError('file_changed', `${basename(path)} changed while it was being sent`)
