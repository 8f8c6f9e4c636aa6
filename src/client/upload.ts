/**
 * Uploads one file and waits until its media plays.
 *
 * An interrupted upload resumes. The client writes a resume record before each step whose answer could be lost, and
 * every step may be repeated. A second run therefore sends only what is missing, into the recording of the first.
 */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Api, RecordingAsset, UploadStatus } from './api.ts'
import { ClientError } from './failures.ts'
import type { ResumeRecord, ResumeStore } from './resume-records.ts'
import type { RetryOptions } from './retry.ts'
import type { SourceFile } from './source-file.ts'
import { sendFile } from './tus.ts'

const FIRST_POLL_MS = 250
const LONGEST_POLL_MS = 2_000
/** Attempts for one file in one run. */
const MAX_UPLOADS = 3

export interface UploadRequest {
  /** null: the name of the file. */
  readonly displayName: string | null
  readonly folderIds: readonly string[]
  /** null: the client generates one. */
  readonly externalId: string | null
  /** Whether this file may replace the media of a recording with that external id. */
  readonly replaces: boolean
}

export interface UploadDeps {
  readonly api: Api
  readonly resumeStore: ResumeStore
  /** Address of the service. Resume records of another service are not used. */
  readonly url: string
  readonly retry: Omit<RetryOptions, 'giveUpAfterMs'>
}

export interface Sent {
  readonly recordingId: string
  readonly uploadId: string
}

/** Key of the resume record: the same version of the same file for the same recording. */
export function resumeKey(url: string, file: SourceFile, request: UploadRequest): string {
  const parts = [
    url,
    file.path,
    file.size,
    file.modified,
    request.displayName,
    request.folderIds,
    request.externalId,
  ]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 40)
}

/**
 * Resolves once the service has every byte. The resume record stays until the caller deletes it.
 * @param onSent bytes sent so far
 * @throws ClientError; the reason of the signal
 */
export async function sendUpload(
  deps: UploadDeps,
  file: SourceFile,
  request: UploadRequest,
  onSent: (bytes: number) => void,
): Promise<Sent> {
  const key = resumeKey(deps.url, file, request)
  for (let attempt = 1; ; attempt++) {
    const record = await deps.resumeStore.load(key)
    try {
      return await claimAndSend(deps, file, request, { key, record }, onSent)
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      // The recorded recording or upload is gone, or the upload has expired: start over.
      const isStale = record !== null && error.status === 404
      if (attempt >= MAX_UPLOADS || !(isStale || error.code === 'upload_expired')) throw error
      if (isStale) await deps.resumeStore.drop(key)
    }
  }
}

interface Resumable {
  readonly key: string
  readonly record: ResumeRecord | null
}

async function claimAndSend(
  deps: UploadDeps,
  file: SourceFile,
  request: UploadRequest,
  { key, record }: Resumable,
  onSent: (bytes: number) => void,
): Promise<Sent> {
  const { api, resumeStore } = deps
  const known = record ?? {
    externalId: request.externalId ?? `upload-${crypto.randomUUID()}`,
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
  await resumeStore.save(key, known)
  const recordingId = known.recordingId ?? (await createRecording(api, file, request, known.externalId))
  await resumeStore.save(key, { ...known, recordingId })
  const upload = await createUpload(api, recordingId, file, request)
  await resumeStore.save(key, { ...known, recordingId, uploadId: upload.uploadId })
  try {
    // Arriving bytes extend the deadline of the upload, and so does progress here.
    const giveUpAfterMs = () => upload.timeoutSeconds * 1000
    await sendFile(upload.uploadUrl, file, { ...deps.retry, giveUpAfterMs, onSent })
  } catch (error) {
    if (error instanceof ClientError && error.code === 'file_changed') {
      await resumeStore.drop(key)
      await api.cancelUpload(recordingId, upload.uploadId).catch(() => {})
    }
    // The upload has expired or was cancelled. A cancelled upload is not started again.
    const isOver = error instanceof ClientError && error.code === 'upload_expired'
    if (isOver && (await api.getUpload(recordingId, upload.uploadId)).phase === 'cancelled') throw cancelled()
    throw error
  }
  return { recordingId, uploadId: upload.uploadId }
}

const createRecording = (api: Api, file: SourceFile, request: UploadRequest, externalId: string) =>
  api.createRecording({
    displayName: request.displayName ?? file.name,
    folderIds: request.folderIds,
    externalId,
  })

/** @throws ClientError that names the existing media or upload */
async function createUpload(api: Api, recordingId: string, file: SourceFile, { replaces }: UploadRequest) {
  if (!replaces && (await api.getAsset(recordingId))?.status === 'completed')
    throw new ClientError(
      'media_exists',
      `recording ${recordingId} already has media; use --replace to replace it`,
    )
  try {
    return await api.createUpload(recordingId, { fileName: file.name, fileSize: file.size })
  } catch (error) {
    if (!(error instanceof ClientError && error.code === 'media_ingestion_active')) throw error
    const message = `another upload is bringing the media of recording ${recordingId}`
    throw new ClientError(error.code, message, error.status)
  }
}

/**
 * Polls until the media plays. @param onStatus called with every answer that is not the last
 * @throws ClientError with the error code of a failed upload
 */
export async function waitUntilReady(
  { api, retry: { signal } }: Pick<UploadDeps, 'api' | 'retry'>,
  { recordingId, uploadId }: Sent,
  onStatus: (status: UploadStatus) => void,
): Promise<RecordingAsset> {
  for (let waitMs = FIRST_POLL_MS; ; waitMs = Math.min(LONGEST_POLL_MS, waitMs * 1.5)) {
    const status = await api.getUpload(recordingId, uploadId)
    if (status.phase === 'failed' || status.phase === 'cancelled')
      throw await failedUpload(api, recordingId, status)
    const asset = status.phase === 'ready' ? await api.getAsset(recordingId) : null
    if (asset !== null) return asset
    if (status.phase !== 'ready') onStatus(status)
    await sleep(waitMs, undefined, { signal })
  }
}

/** The asset may have a more specific error code. */
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
