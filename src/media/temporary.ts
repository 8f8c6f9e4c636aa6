/**
 * Folders that live as long as a turn, under `DATA_DIR/tmp`.
 *
 * The rule: the folder goes when its work ends, well or not. While the work lasts, the folder is touched once a minute. What a killed
 * process has left is touched no more, and goes with the next work on the same recording, or with any work a quarter of an hour
 * later. A process that was paused for so long has lost its turn, too.
 */
import { mkdir, readdir, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'

const PREFIX = 'ingest-'
const TOUCH_MS = 60_000
const MAX_AGE_MS = 15 * TOUCH_MS

/** The folder is new and empty. `now` in milliseconds since 1970. */
export async function withTemporaryFolder<T>(
  { folder, recordingId, attempt, now, touchMs = TOUCH_MS }: TemporaryFolder,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await removeOld(folder, `${PREFIX}${recordingId}-`, now)
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
  /** In which the folder is made. */
  readonly folder: string
  readonly recordingId: string
  readonly attempt: string
  readonly now: number
  /** How often the folder says that it is in use. */
  readonly touchMs?: number
}

async function touch(path: string): Promise<void> {
  const now = new Date()
  await utimes(path, now, now).catch(() => {}) // gone with its work
}

async function removeOld(folder: string, ofRecording: string, now: number): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(PREFIX)) continue
    const path = join(folder, name)
    const modified = (await stat(path).catch(() => null))?.mtimeMs ?? now
    if (name.startsWith(ofRecording) || now - modified > MAX_AGE_MS)
      await rm(path, { recursive: true, force: true })
  }
}
