/**
 * Folders under `DATA_DIR/tmp` that live as long as a turn.
 *
 * The folder is deleted when its work ends, even after an error. While the work runs, the folder is touched once a
 * minute. A folder that a killed process left is deleted by the next work on the same recording, or by any work 15
 * minutes later. A process that was suspended that long has lost its turn as well.
 */
import { mkdir, readdir, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'

const PREFIX = 'ingest-'
const TOUCH_MS = 60_000
const MAX_AGE_MS = 15 * TOUCH_MS

/** The folder is new and empty. */
export async function withTemporaryFolder<T>(
  { folder, recordingId, attempt, touchMs = TOUCH_MS }: TemporaryFolder,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await removeOld(folder, `${PREFIX}${recordingId}-`)
  const path = join(folder, `${PREFIX}${recordingId}-${attempt}`)
  await mkdir(path, { mode: 0o700 })
  const touching = setInterval(() => void touch(path), touchMs)
  try {
    return await work(path)
  } finally {
    clearInterval(touching)
    await rm(path, { recursive: true, force: true })
  }
}

export interface TemporaryFolder {
  /** Parent of the folder. */
  readonly folder: string
  readonly recordingId: string
  readonly attempt: string
  /** Interval of the touches that mark the folder as used. */
  readonly touchMs?: number
}

async function touch(path: string): Promise<void> {
  const now = new Date()
  await utimes(path, now, now).catch(() => {}) // The folder may already be deleted.
}

async function removeOld(folder: string, ofRecording: string): Promise<void> {
  // The clock of this machine, by which its files say when they were changed.
  const now = Date.now()
  for (const name of await readdir(folder)) {
    if (!name.startsWith(PREFIX)) continue
    const path = join(folder, name)
    const modified = (await stat(path).catch(() => null))?.mtimeMs ?? now
    if (name.startsWith(ofRecording) || now - modified > MAX_AGE_MS)
      await rm(path, { recursive: true, force: true })
  }
}
