/**
 * The file that is sent.
 *
 * The rule: what is sent is one version of it, the one that was looked at first. Before the last of its bytes goes out it is looked
 * at again, and where it is another one by then, the last bytes are kept back: an upload that is not whole is never published. It
 * is open only while it is read, however many wait for their turn.
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
   * has left. Opens the file where it is not open.
   * @throws ClientError `file_changed`, `file_unreadable`, out of the stream
   */
  read(start: number, end: number, onChunk: (offset: number) => void): ReadableStream<Uint8Array>
  /** To be called when nothing more is to be read for now. */
  close(): Promise<void>
}

/** Looks at the file, which can be read then. @throws ClientError `file_unreadable`, `file_empty` */
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
    const reason = error.code === 'ENOENT' ? 'there is no such file' : `it cannot be read (${error.code})`
    throw new ClientError('file_unreadable', `${name}: ${reason}`)
  })
  try {
    const about = await handle.stat()
    if (!about.isFile()) throw new ClientError('file_unreadable', `${name}: it is not a file`)
    const { size, mtimeMs, ino } = about
    if (size === 0) throw new ClientError('file_empty', `${name}: the file is empty`)
    return { size, mtimeMs, ino }
  } finally {
    await handle.close()
  }
}

/** @throws ClientError `file_changed` where it is another one by now */
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
  new ClientError('file_changed', `${basename(path)} has changed while it was being sent`)
