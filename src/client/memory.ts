/**
 * What a run leaves to the next one: which recording and which upload a file is on its way to.
 *
 * The rule: no secret. The URL of an upload is asked for again. What cannot be read or written is done without.
 */
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

/** What is older than this is of nobody's interest any more. */
const MAX_AGE_MS = 7 * 24 * 3600 * 1000

export interface Note {
  /** By which the recording is found again where the answer to its creation was lost. */
  readonly externalId: string
  readonly recordingId: string | null
  readonly uploadId: string | null
}

export interface Memory {
  load(key: string): Promise<Note | null>
  save(key: string, note: Note): Promise<void>
  drop(key: string): Promise<void>
}

/** `$XDG_STATE_HOME/earshot/uploads`, else below `~/.local/state` (XDG Base Directory Specification). */
export function memoryFolder(env: Readonly<Record<string, string | undefined>>): string {
  const { XDG_STATE_HOME: state = '' } = env
  return join(
    isAbsolute(state) ? state : join(env.HOME ?? homedir(), '.local', 'state'),
    'earshot',
    'uploads',
  )
}

export function createMemory(folder: string): Memory {
  const pathOf = (key: string) => join(folder, `${key}.json`)
  return {
    async load(key) {
      try {
        const { mtimeMs } = await stat(pathOf(key))
        if (Date.now() - mtimeMs > MAX_AGE_MS) return null
        return asNote(JSON.parse(await readFile(pathOf(key), 'utf8')))
      } catch {
        return null
      }
    },
    async save(key, note) {
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 })
        const temporary = `${pathOf(key)}.${process.pid}`
        await writeFile(temporary, `${JSON.stringify(note)}\n`, { mode: 0o600 })
        await rename(temporary, pathOf(key))
      } catch {
        // Without it a cut of this process costs a new upload; refusing to send would cost this one.
      }
    },
    drop: (key) => rm(pathOf(key), { force: true }).catch(() => {}),
  }
}

function asNote(value: unknown): Note | null {
  if (typeof value !== 'object' || value === null) return null
  const { externalId, recordingId = null, uploadId = null } = value as Partial<Record<keyof Note, unknown>>
  const isId = (id: unknown): id is string | null => id === null || typeof id === 'string'
  return typeof externalId === 'string' && isId(recordingId) && isId(uploadId)
    ? { externalId, recordingId, uploadId }
    : null
}
