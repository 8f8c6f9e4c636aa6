/**
 * Resume records on disk: which recording and upload a file belongs to, for the next run.
 *
 * A record holds no secret; the next run asks for the upload URL again. A record that cannot be read or written is
 * ignored.
 */
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

/** Older records are ignored. */
const MAX_AGE_MS = 7 * 24 * 3600 * 1000

export interface ResumeRecord {
  /** Identifies the recording if the answer to its creation was lost. */
  readonly externalId: string
  readonly recordingId: string | null
  readonly uploadId: string | null
}

export interface ResumeStore {
  load(key: string): Promise<ResumeRecord | null>
  save(key: string, record: ResumeRecord): Promise<void>
  drop(key: string): Promise<void>
}

/** `$XDG_STATE_HOME/earshot/uploads`, otherwise under `~/.local/state` (XDG Base Directory Specification). */
export function resumeFolder(env: Readonly<Record<string, string | undefined>>): string {
  const { XDG_STATE_HOME: state = '' } = env
  return join(
    isAbsolute(state) ? state : join(env.HOME ?? homedir(), '.local', 'state'),
    'earshot',
    'uploads',
  )
}

export function createResumeStore(folder: string): ResumeStore {
  const pathOf = (key: string) => join(folder, `${key}.json`)
  return {
    async load(key) {
      try {
        const { mtimeMs } = await stat(pathOf(key))
        if (Date.now() - mtimeMs > MAX_AGE_MS) return null
        return parseRecord(JSON.parse(await readFile(pathOf(key), 'utf8')))
      } catch {
        return null
      }
    },
    async save(key, record) {
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 })
        const temporary = `${pathOf(key)}.${process.pid}`
        await writeFile(temporary, `${JSON.stringify(record)}\n`, { mode: 0o600 })
        await rename(temporary, pathOf(key))
      } catch {
        // Without a record, an interrupted run starts a new upload. Failing here would lose this one, too.
      }
    },
    drop: (key) => rm(pathOf(key), { force: true }).catch(() => {}),
  }
}

function parseRecord(value: unknown): ResumeRecord | null {
  if (typeof value !== 'object' || value === null) return null
  const {
    externalId,
    recordingId = null,
    uploadId = null,
  } = value as Partial<Record<keyof ResumeRecord, unknown>>
  const isId = (id: unknown): id is string | null => id === null || typeof id === 'string'
  return typeof externalId === 'string' && isId(recordingId) && isId(uploadId)
    ? { externalId, recordingId, uploadId }
    : null
}
