/**
 * Folders that live as long as a turn, under `DATA_DIR/tmp`.
 *
 * The rule: the folder goes when its work ends, well or not; what a killed process has left goes with the next work on the
 * same recording, or when it is older than any turn can be.
 */
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { MAX_TURN_MS } from './rules.ts'

const PREFIX = 'ingest-'
/** Longer than a turn may take. */
const MAX_AGE_MS = MAX_TURN_MS + 60 * 60_000

/** The folder is new and empty. `now` in milliseconds since 1970. */
export async function withTemporaryFolder<T>(
  { folder, recordingId, attempt, now }: TemporaryFolder,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await removeOld(folder, `${PREFIX}${recordingId}-`, now)
  const path = join(folder, `${PREFIX}${recordingId}-${attempt}`)
  await mkdir(path, { mode: 0o700 })
  try {
    return await work(path)
  } finally {
    await rm(path, { recursive: true, force: true })
  }
}

export interface TemporaryFolder {
  /** In which the folder is made. */
  readonly folder: string
  readonly recordingId: string
  readonly attempt: string
  readonly now: number
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
