/**
 * Uploads a session file of a coding agent and waits until the service has read it.
 *
 * An interrupted upload resumes: the client writes the key of the upload to a resume record before it creates the upload,
 * and the same key returns the same upload. Sending a file again does no harm, because known events are not stored twice.
 */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ClientError } from './failures.ts'
import type { ResumeStore } from './resume-records.ts'
import type { RetryOptions } from './retry.ts'
import type { NewSessionFile, SessionApi, SessionCounts, SessionUploadStatus } from './session-api.ts'
import type { SourceFile } from './source-file.ts'
import { sendFile } from './tus.ts'

const FIRST_POLL_MS = 250
const LONGEST_POLL_MS = 2_000
/** Attempts for one file in one run. */
const MAX_UPLOADS = 3

export type SessionLabels = Omit<NewSessionFile, 'fileName' | 'fileSize' | 'uploadKey'>

export interface SessionUploadDeps {
  readonly api: SessionApi
  readonly resumeStore: ResumeStore
  /** Address of the service. Resume records of another service are not used. */
  readonly url: string
  readonly retry: Omit<RetryOptions, 'giveUpAfterMs'>
}

/** Key of the resume record: the same version of the same file. */
export function sessionResumeKey(url: string, file: SourceFile, labels: SessionLabels): string {
  const parts = ['agent-session', url, file.path, file.size, file.modified, labels]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 40)
}

/**
 * Resolves with the id of the upload once the service has every byte.
 * @param onSent bytes sent so far
 * @throws ClientError; the reason of the signal
 */
export async function sendSessionFile(
  deps: SessionUploadDeps,
  file: SourceFile,
  labels: SessionLabels,
  onSent: (bytes: number) => void,
): Promise<string> {
  const key = sessionResumeKey(deps.url, file, labels)
  for (let attempt = 1; ; attempt++) {
    try {
      return await claimAndSend(deps, file, labels, key, onSent)
    } catch (error) {
      const isOver = error instanceof ClientError && OVER.has(error.code)
      if (isOver) await deps.resumeStore.drop(key)
      if (!isOver || error.code === 'file_changed' || attempt >= MAX_UPLOADS) throw error
    }
  }
}

/** The recorded upload is of no use any more. */
const OVER: ReadonlySet<string> = new Set(['upload_expired', 'upload_gone', 'file_changed'])

async function claimAndSend(
  { api, resumeStore, retry }: SessionUploadDeps,
  file: SourceFile,
  labels: SessionLabels,
  key: string,
  onSent: (bytes: number) => void,
): Promise<string> {
  const known = await resumeStore.load(key)
  const uploadKey = known?.externalId ?? crypto.randomUUID()
  await resumeStore.save(key, { externalId: uploadKey, recordingId: null, uploadId: null })
  const upload = await api.createUpload({ ...labels, uploadKey, fileName: file.name, fileSize: file.size })
  const { uploadId, phase } = upload
  if (phase === 'failed' || phase === 'cancelled')
    throw new ClientError('upload_expired', 'the earlier upload has ended')
  if (phase !== 'waiting') {
    onSent(file.size)
    return uploadId
  }
  try {
    // Arriving bytes extend the deadline of the upload, and so does progress here.
    const giveUpAfterMs = () => upload.timeoutSeconds * 1000
    await sendFile(upload.uploadUrl, file, { ...retry, giveUpAfterMs, onSent })
  } catch (error) {
    if (error instanceof ClientError && error.code === 'file_changed')
      await api.cancelUpload(uploadId).catch(() => {})
    throw error
  }
  return uploadId
}

/**
 * Polls until the session is stored. @param onStatus called with every answer that is not the last
 * @throws ClientError with the error code of a failed upload
 */
export async function waitForSession(
  { api, retry: { signal } }: Pick<SessionUploadDeps, 'api' | 'retry'>,
  uploadId: string,
  onStatus: (status: SessionUploadStatus) => void,
): Promise<SessionCounts> {
  for (let waitMs = FIRST_POLL_MS; ; waitMs = Math.min(LONGEST_POLL_MS, waitMs * 1.5)) {
    const status = await api.getUpload(uploadId)
    const { phase, session } = status
    if (phase === 'ready' && session !== null) return session
    if (phase === 'ready') throw new ClientError('coding_session_not_found', 'the session was deleted')
    if (phase === 'cancelled') throw new ClientError('cancelled', 'the upload was cancelled')
    if (phase === 'failed') {
      const code = status.errorCode ?? 'upload_failed'
      throw new ClientError(code, `the service could not use the file (${code})`)
    }
    onStatus(status)
    await sleep(waitMs, undefined, { signal })
  }
}
