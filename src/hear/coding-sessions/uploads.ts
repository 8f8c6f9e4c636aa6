/**
 * Use cases of uploaded session files: create an upload, read its state, cancel it, and use its session.
 *
 * An upload is visible to the user who created it, or to keys if a key created it. Anything else answers 404.
 */

import {
  cancelFileUpload,
  createFileUpload,
  type FileUpload,
  type FileUploadsDeps,
  findFileUpload,
} from '../../calls/uploads/file-uploads.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { AppError } from '../../platform/errors.ts'
import { invalid } from '../../platform/validation/json.ts'
import { nameOf } from '../../platform/validation/names.ts'
import { eventIdOf } from './event-id.rules.ts'
import type { CodingSessionResult, CreateSessionUpload, UploadCodingSession } from './model.ts'
import { readUnits } from './read.ts'
import { type CodingSessionsDeps, labelsOf, resultOf, rulesOf } from './service.ts'
import { findSession, labelSession, ownerOf, type Viewer } from './store.ts'
import * as store from './uploads.store.ts'

export type SessionUploads = ReturnType<typeof createSessionUploads>

export type SessionUploadsDeps = Omit<CodingSessionsDeps, 'bindUpload'> & FileUploadsDeps

/** An upload and what became of it. */
export interface SessionUpload {
  readonly upload: FileUpload
  /** Bytes of the file that were read. */
  readonly processedBytes: number
  /** Why the file could not be used; null if that is not so. */
  readonly fileError: string | null
  /** null until the file is used, and after the session was deleted. */
  readonly session: CodingSessionResult | null
}

export function createSessionUploads(deps: SessionUploadsDeps) {
  return {
    /** @throws AppError 400; 413 `upload_too_large`; 429 `too_many_uploads` */
    async create(viewer: Viewer, body: CreateSessionUpload, origin: string | null) {
      const { organizationId } = viewer
      const userId = ownerOf(viewer)
      const source = viewer.kind === 'user' ? 'web' : 'api'
      const folder = 'coding-sessions' as const
      const file = { folder, organizationId, userId, source, origin, fileSize: body.fileSize }
      const stated = {
        ...labelsOf(body),
        format: body.format ?? null,
        agent: body.agent ?? null,
        externalSessionId: body.externalSessionId ?? null,
      }
      const owner = userId ?? organizationId
      const id = body.uploadKey === undefined ? null : eventIdOf(`upload ${owner}`, body.uploadKey)
      const created = await createFileUpload(
        deps,
        { ...file, id, fileName: nameOf('fileName', body.fileName) },
        (tx, uploadId) => store.insertFile(tx, { uploadId, organizationId, userId }, stated),
      )
      return { token: created.token, state: await read(deps, viewer, created.upload.id) }
    },

    /** @throws AppError 404 */
    get: (viewer: Viewer, id: string): Promise<SessionUpload> => read(deps, viewer, id),

    /** Cancelling again returns the same state. @throws AppError 404; 409 `upload_not_cancellable` */
    async cancel(viewer: Viewer, id: string): Promise<SessionUpload> {
      const found = await read(deps, viewer, id)
      return { ...found, upload: (await cancelFileUpload(deps, found.upload)) ?? noUpload() }
    },

    /**
     * The session of an upload, with what the caller states about it.
     * @throws AppError 404; 400 for another format; 409 `coding_session_upload_not_ready`, `coding_session_upload_failed`
     */
    async bind(viewer: Viewer, id: string, input: UploadCodingSession): Promise<CodingSessionResult> {
      const found = await read(deps, viewer, id)
      assertReady(found)
      const { session } = found
      if (session === null) throw new AppError('coding_session_not_found', 'The session was deleted.')
      await label(deps, viewer, session.sessionId, input)
      return session
    },
  }
}

async function read({ sql }: SessionUploadsDeps, viewer: Viewer, id: string): Promise<SessionUpload> {
  const { organizationId } = viewer
  // The upload comes first. One transaction writes its end and the result, so if the upload has ended, the row has the result.
  const upload = await findFileUpload(sql, { organizationId, id })
  const row = upload === undefined ? undefined : await store.findFile(sql, viewer, id)
  if (row === undefined || upload === undefined) return noUpload()
  const isUsed = upload.phase === 'ready' && row.sessionId !== null
  const session = isUsed ? await findSession(sql, viewer, row.sessionId as string) : undefined
  return {
    upload,
    processedBytes: upload.phase === 'ready' ? upload.fileSize : row.bytesDone,
    fileError: row.fileError,
    session: session === undefined ? null : resultOf(session, row.eventCount - row.freshCount),
  }
}

function assertReady({ upload, fileError }: SessionUpload): void {
  const { phase, errorCode } = upload
  if (phase === 'ready') return
  if (phase === 'failed' || phase === 'cancelled')
    throw new AppError(
      'coding_session_upload_failed',
      `The upload is ${phase}${phase === 'failed' ? ` (${fileError ?? errorCode})` : ''}: create another one.`,
    )
  const message =
    phase === 'waiting'
      ? 'Bytes of the file are missing.'
      : 'The file is being read: repeat the request soon.'
  throw new AppError('coding_session_upload_not_ready', message, { headers: { 'retry-after': '2' } })
}

async function label(
  deps: SessionUploadsDeps,
  viewer: Viewer,
  sessionId: string,
  input: UploadCodingSession,
): Promise<void> {
  if (input.events !== undefined || input.jsonl !== undefined)
    throw invalid([
      { path: 'uploadId', code: 'contradiction', message: 'must not be given with events or jsonl' },
    ])
  const { organizationId } = viewer
  const rules = await rulesOf(deps, organizationId)
  const load = { caller: organizationId, bytes: 2_000, units: readUnits(2_000, rules) }
  const labels = await deps.requestWork.run(deps.readWork.labels, { labels: labelsOf(input), rules }, load)
  await transaction(deps.sql, (tx) => labelSession(tx, { organizationId, sessionId }, labels))
}

function noUpload(): never {
  throw new AppError('coding_session_upload_not_found', 'There is no such upload of a session file.')
}
