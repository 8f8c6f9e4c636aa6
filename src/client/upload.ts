/**
 * One file, from the disk to media that plays.
 *
 * The rule: whatever was cut goes on. The note of a file is written before each step whose answer could be lost, and every step
 * may be done again: so a second run sends what is missing, into the recording of the first.
 */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Api, RecordingAsset, UploadStatus } from './api.ts'
import { ClientError } from './failures.ts'
import type { Memory, Note } from './memory.ts'
import type { Persistence } from './persist.ts'
import type { SourceFile } from './source-file.ts'
import { sendFile } from './tus.ts'

const FIRST_LOOK_MS = 250
const LONGEST_LOOK_MS = 2_000
/** Of one file, in one run. */
const MAX_UPLOADS = 3

export interface Wish {
  /** null: the name of the file. */
  readonly displayName: string | null
  readonly folderIds: readonly string[]
  /** null: one is made up. */
  readonly externalId: string | null
  /** Whether a recording of that external id that already has media may get this file in its place. */
  readonly replaces: boolean
}

export interface UploadDeps {
  readonly api: Api
  readonly memory: Memory
  /** Of the service; notes of another one are of other recordings. */
  readonly url: string
  readonly persistence: Omit<Persistence, 'patienceMs'>
}

export interface Sent {
  readonly recordingId: string
  readonly uploadId: string
}

/** By which a run finds the note of the one before: the same version of the same file, to be the same recording. */
export function noteKey(url: string, file: SourceFile, wish: Wish): string {
  const parts = [url, file.path, file.size, file.modified, wish.displayName, wish.folderIds, wish.externalId]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 40)
}

/**
 * Resolves when the service has every byte. The note stays until somebody drops it.
 * @param onSent bytes that have left
 * @throws ClientError; the reason of the signal
 */
export async function sendUpload(
  deps: UploadDeps,
  file: SourceFile,
  wish: Wish,
  onSent: (bytes: number) => void,
): Promise<Sent> {
  const key = noteKey(deps.url, file, wish)
  for (let attempt = 1; ; attempt++) {
    const note = await deps.memory.load(key)
    try {
      return await claimAndSend(deps, file, wish, { key, note }, onSent)
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      // The note speaks of something that is gone, or the upload has run out of time: from the start.
      const isStale = note !== null && error.status === 404
      if (attempt >= MAX_UPLOADS || !(isStale || error.code === 'upload_expired')) throw error
      if (isStale) await deps.memory.drop(key)
    }
  }
}

interface Remembered {
  readonly key: string
  readonly note: Note | null
}

async function claimAndSend(
  deps: UploadDeps,
  file: SourceFile,
  wish: Wish,
  { key, note }: Remembered,
  onSent: (bytes: number) => void,
): Promise<Sent> {
  const { api, memory } = deps
  const known = note ?? {
    externalId: wish.externalId ?? `upload-${crypto.randomUUID()}`,
    recordingId: null,
    uploadId: null,
  }
  if (known.recordingId !== null && known.uploadId !== null) {
    const { phase } = await api.getUpload(known.recordingId, known.uploadId)
    if (phase === 'processing' || phase === 'encoding' || phase === 'ready') {
      onSent(file.size)
      return { recordingId: known.recordingId, uploadId: known.uploadId }
    }
  }
  await memory.save(key, known)
  const recordingId = known.recordingId ?? (await createRecording(api, file, wish, known.externalId))
  await memory.save(key, { ...known, recordingId })
  const upload = await createUpload(api, recordingId, file, wish)
  await memory.save(key, { ...known, recordingId, uploadId: upload.uploadId })
  try {
    // The deadline of the upload slides while bytes arrive; so does patience.
    const patienceMs = () => upload.timeoutSeconds * 1000
    await sendFile(upload.uploadUrl, file, { ...deps.persistence, patienceMs, onSent })
  } catch (error) {
    if (error instanceof ClientError && error.code === 'file_changed') {
      await memory.drop(key)
      await api.cancelUpload(recordingId, upload.uploadId).catch(() => {})
    }
    // Takes no more bytes: out of time, or somebody does not want it, which is not to be undone.
    const isOver = error instanceof ClientError && error.code === 'upload_expired'
    if (isOver && (await api.getUpload(recordingId, upload.uploadId)).phase === 'cancelled') throw cancelled()
    throw error
  }
  return { recordingId, uploadId: upload.uploadId }
}

const createRecording = (api: Api, file: SourceFile, wish: Wish, externalId: string) =>
  api.createRecording({
    displayName: wish.displayName ?? file.name,
    folderIds: wish.folderIds,
    externalId,
  })

/** @throws ClientError that says what the recording has instead */
async function createUpload(api: Api, recordingId: string, file: SourceFile, { replaces }: Wish) {
  if (!replaces && (await api.getAsset(recordingId))?.status === 'completed')
    throw new ClientError('media_exists', `recording ${recordingId} has media already; --replace replaces it`)
  try {
    return await api.createUpload(recordingId, { fileName: file.name, fileSize: file.size })
  } catch (error) {
    if (!(error instanceof ClientError && error.code === 'media_ingestion_active')) throw error
    const message = `another upload is bringing the media of recording ${recordingId}`
    throw new ClientError(error.code, message, error.status)
  }
}

/**
 * Asks until the media plays. @param onStatus told every answer
 * @throws ClientError with the error code of the upload where it failed
 */
export async function awaitReady(
  { api, persistence: { signal } }: Pick<UploadDeps, 'api' | 'persistence'>,
  { recordingId, uploadId }: Sent,
  onStatus: (status: UploadStatus) => void,
): Promise<RecordingAsset> {
  for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(LONGEST_LOOK_MS, waitMs * 1.5)) {
    const status = await api.getUpload(recordingId, uploadId)
    onStatus(status)
    if (status.phase === 'failed' || status.phase === 'cancelled')
      throw await failedUpload(api, recordingId, status)
    const asset = status.phase === 'ready' ? await api.getAsset(recordingId) : null
    if (asset !== null) return asset
    await sleep(waitMs, undefined, { signal })
  }
}

/** What the asset says may be more exact. */
async function failedUpload(
  api: Api,
  recordingId: string,
  { phase, errorCode }: UploadStatus,
): Promise<ClientError> {
  if (phase === 'cancelled') return cancelled()
  const code = (await api.getAsset(recordingId))?.errorCode ?? errorCode ?? 'upload_failed'
  return new ClientError(code, `the service could not use the media (${code})`)
}

const cancelled = () => new ClientError('cancelled', 'the upload was cancelled')
