/**
 * A folder for one attempt, under `DATA_DIR/tmp`.
 *
 * The rule: it goes when the attempt ends, well or not; what a killed process has left goes with the next attempt on the same
 * recording, or when it is older than any turn can be.
 */
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

export interface Scratch {
  /** Absolute; made where it is not there. */
  readonly parent: string
  readonly recordingId: string
  /** Names the attempt. */
  readonly id: string
  /** Milliseconds since 1970. */
  readonly now: number
}

const PREFIX = 'transcribe-'
/** Longer than a turn may take. */
const MAX_AGE_MS = 3 * 60 * 60 * 1_000

export async function withScratchFolder<T>(
  { parent, recordingId, id, now }: Scratch,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = join(parent, `${PREFIX}${recordingId}-${id}`)
  await mkdir(parent, { recursive: true, mode: 0o700 })
  await removeOld(parent, `${PREFIX}${recordingId}-`, now)
  await mkdir(folder, { mode: 0o700 })
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function removeOld(parent: string, ofRecording: string, now: number): Promise<void> {
  for (const name of await readdir(parent)) {
    if (!name.startsWith(PREFIX)) continue
    const path = join(parent, name)
    const modified = (await stat(path).catch(() => null))?.mtimeMs ?? now
    if (name.startsWith(ofRecording) || now - modified > MAX_AGE_MS)
      await rm(path, { recursive: true, force: true })
  }
}
