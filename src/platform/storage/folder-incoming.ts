/**
 * Objects of the folder store whose bytes arrive over many requests.
 *
 * A file has one writer at a time. If another process may still write to the last file, the next writer starts a new one.
 * An object is therefore a list of files, of which only the recorded bytes count. `publish` renames the file, or joins
 * several. All files of an object are in one folder of `.incoming`, named after the key, so that leftovers of a crash are
 * removed with it.
 */
import { createHash } from 'node:crypto'
import { constants, createReadStream } from 'node:fs'
import { copyFile, type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Json } from '../db/pool.ts'
import { BufferedFile } from './buffered-file.ts'
import { INCOMING, isErrno, locate, sync, syncFolders, targetOf } from './folder-files.ts'
import { FolderWriter } from './folder-writer.ts'
import type { AppendOptions, IncomingProgress, IncomingRecord, IncomingStore } from './incoming.ts'
import { assertKey } from './keys.ts'

const COPY_BYTES = 1024 * 1024

/** In order. Only the first `bytes` of each file belong to the object. */
type Files = readonly { readonly name: string; readonly bytes: number }[]

/** `folder` is the root of the store. Nothing is created before the first `append`. */
export function createFolderIncoming(folder: string): IncomingStore {
  return {
    append: (key, progress, options) => append(folder, key, progress, options),
    publish: (key, whole, contentType) => publish(folder, key, whole, contentType),
    async discard(key) {
      await rm(stagingOf(folder, key), { recursive: true, force: true })
    },
  }
}

/**
 * Removes leftovers of crashes: files of puts that changed last before `before`, and folders of incoming objects of that age
 * that are not awaited. @returns the number of removed entries
 */
export async function sweepFolder(
  folder: string,
  before: Date,
  awaited: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  const kept = new Set(awaited.map((key) => stagingOf(folder, key)))
  const paths = (await namesIn(join(folder, INCOMING))).map((name) => join(folder, INCOMING, name))
  let removed = 0
  for (const path of paths) {
    if (signal.aborted) break
    if (kept.has(path) || (await changedAt(path)) >= before.getTime()) continue
    await rm(path, { recursive: true, force: true })
    removed++
  }
  return removed
}

async function namesIn(path: string): Promise<readonly string[]> {
  try {
    return await readdir(path)
  } catch (error) {
    if (isErrno(error, ['ENOENT', 'ENOTDIR'])) return []
    throw error
  }
}

/** Time of the latest change of the entry and its files, in milliseconds. The entry counts because a hard link has the age of its content. */
async function changedAt(path: string): Promise<number> {
  const inside = (await namesIn(path)).map((name) => join(path, name))
  const times = await Promise.all(
    [path, ...inside].map((entry) =>
      stat(entry).then(
        ({ ctimeMs }) => ctimeMs,
        () => 0,
      ),
    ),
  )
  return Math.max(...times)
}

/** The folder of a key. No put uses such a name. @throws InvalidKey */
function stagingOf(folder: string, key: string): string {
  assertKey(key)
  return join(folder, INCOMING, `object-${createHash('sha256').update(key).digest('hex')}`)
}

async function append(
  folder: string,
  key: string,
  { offset, resumeState }: IncomingProgress,
  options: AppendOptions,
) {
  const staging = stagingOf(folder, key)
  const files = filesOf(resumeState, offset)
  const last = files.at(-1)
  if (last !== undefined && options.alone) {
    const file = await reopen(join(staging, last.name), last.bytes)
    const resumeStateAt = resumeStateOf(files.slice(0, -1), last.name)
    return new FolderWriter(file, last.bytes, { ...options, offset, resumeStateAt, unknown: null })
  }
  const name = crypto.randomUUID()
  const file = await create(folder, staging, name)
  const recorded = files.filter(({ bytes }) => bytes > 0)
  const resumeStateAt = resumeStateOf(recorded, name)
  if (options.alone)
    return new FolderWriter(file, 0, { ...options, offset, resumeStateAt, unknown: join(staging, name) })
  try {
    // Recorded at once, not with the first bytes: the next writer may be `alone` and must not share the file with an older one.
    await options.record({ offset, resumeState: resumeStateAt(offset), parts: [] })
  } catch (error) {
    await file.close()
    throw error
  }
  return new FolderWriter(file, 0, { ...options, offset, resumeStateAt, unknown: null })
}

/** The state to record when the object has `offset` bytes. */
function resumeStateOf(before: Files, name: string): (offset: number) => Json {
  const start = total(before)
  return (offset) => ({ files: [...before, { name, bytes: offset - start }] })
}

/** @throws Error if this store did not record the state for this offset */
function filesOf(resumeState: Json, offset: number): Files {
  const files = resumeState === null ? [] : (resumeState as { readonly files?: Files }).files
  if (!Array.isArray(files) || total(files) !== offset)
    throw new Error('the resume state of an incoming object does not match its recorded offset')
  return files
}

function total(files: Files): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0)
}

async function create(folder: string, staging: string, name: string): Promise<FileHandle> {
  await mkdir(staging, { recursive: true, mode: 0o700 })
  const file = await open(join(staging, name), 'wx+', 0o600)
  try {
    await syncFolders(staging, folder)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Cuts off unrecorded bytes. @throws Error if recorded bytes are missing */
async function reopen(path: string, bytes: number): Promise<FileHandle> {
  const file = await open(path, 'r+')
  try {
    const { size } = await file.stat()
    if (size < bytes) throw lostBytes(bytes - size)
    if (size > bytes) await file.truncate(bytes)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

async function publish(
  folder: string,
  key: string,
  { offset, resumeState }: IncomingRecord,
  contentType: string,
): Promise<void> {
  const staging = stagingOf(folder, key)
  const target = targetOf(folder, key, contentType)
  if (!(await isPublished(folder, key, offset))) {
    try {
      const whole = await wholeFile(staging, filesOf(resumeState, offset))
      await mkdir(dirname(target), { recursive: true, mode: 0o700 })
      await rename(whole, target)
    } catch (error) {
      // Another turn published it first.
      if (!isErrno(error, ['ENOENT']) || !(await isPublished(folder, key, offset))) throw error
    }
  }
  // Also after success, because the process that published it may have ended before this step.
  await syncFolders(dirname(target), folder)
  await rm(staging, { recursive: true, force: true })
}

async function isPublished(folder: string, key: string, size: number): Promise<boolean> {
  const located = await locate(folder, key)
  if (located !== null && located.size !== size) throw new Error('there is another object of this key')
  return located !== null
}

/** Path of a durable file with every byte of the object. */
async function wholeFile(staging: string, files: Files): Promise<string> {
  const parts = files.filter(({ bytes }) => bytes > 0)
  const [first] = parts
  if (first !== undefined && parts.length === 1) {
    const path = join(staging, first.name)
    await (await reopen(path, first.bytes)).close()
    await sync(path)
    return path
  }
  return join(staging, await joined(staging, parts))
}

/** Name of a new file. Clones the first part if the disk can, which takes neither time nor space. */
async function joined(staging: string, [first, ...others]: Files): Promise<string> {
  const name = crypto.randomUUID()
  const path = join(staging, name)
  await mkdir(staging, { recursive: true, mode: 0o700 })
  try {
    if (first !== undefined) await copyFile(join(staging, first.name), path, constants.COPYFILE_FICLONE)
    const file = await open(path, first === undefined ? 'wx' : 'r+', 0o600)
    try {
      await extend(file, first?.bytes ?? 0, staging, others)
      await file.datasync()
    } finally {
      await file.close()
    }
    return name
  } catch (error) {
    await rm(path, { force: true })
    throw error
  }
}

/** Truncates the file to `bytes` and appends the others. @throws Error if one of them is too short */
async function extend(file: FileHandle, bytes: number, staging: string, others: Files): Promise<void> {
  const { size } = await file.stat()
  if (size < bytes) throw lostBytes(bytes - size)
  await file.truncate(bytes)
  const target = new BufferedFile(file, bytes)
  for (const other of others) {
    const stream = createReadStream(join(staging, other.name), {
      end: other.bytes - 1,
      highWaterMark: COPY_BYTES,
    })
    const before = target.end
    for await (const chunk of stream) await target.write(chunk)
    if (target.end - before < other.bytes) throw lostBytes(other.bytes - target.end + before)
  }
  await target.drain()
}

function lostBytes(count: number): Error {
  return new Error(`an incoming object has lost ${count} of the bytes that were recorded`)
}
