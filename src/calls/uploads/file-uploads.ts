/**
 * Uploads of files that are no media of a recording. They come by the same receiver as media. The feature that uses the
 * file gets a message when the last byte is stored (`receive-request.ts`), and ends the upload.
 */

import { lockOrganization } from '../../access/identity/organizations.ts'
import type { Deps } from '../../kernel/deps.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import { transaction } from '../../platform/db/transaction.ts'
import type { IncomingRecord } from '../../platform/storage/incoming.ts'
import { invalid } from '../../platform/validation/json.ts'
import { discardUpload } from './garbage.store.ts'
import * as store from './processing.store.ts'
import { objectKeyOf, type UploadFolder } from './receive-request.ts'
import type { UploadErrorCode } from './rules.ts'
import { assertFits, assertRoom, hashOf, notCancellable } from './service.ts'
import { findById, insertUpload, type UploadRef, type UploadRow } from './store.ts'
import { createUploadTokens } from './token.ts'
import { UnknownUpload, UploadNotCancellable, type UploadReceiver } from './upload-receiver.ts'

export { UPLOAD_PATH } from './token.ts'
export type FileUpload = UploadRow

export interface NewFile {
  /** The id, if the same request must find the same upload. */
  readonly id: string | null
  readonly folder: Exclude<UploadFolder, 'recordings'>
  readonly organizationId: string
  readonly userId: string | null
  readonly fileName: string
  /** Bytes. */
  readonly fileSize: number
  readonly source: string
  readonly origin: string | null
}

export type FileUploadsDeps = Pick<Deps, 'sql' | 'newId' | 'config' | 'log' | 'metrics'> & {
  readonly uploadReceiver: UploadReceiver
}

/**
 * Creates an upload, or finds the one with this id. `also` runs in the transaction that creates it, under the lock of the organization.
 * @throws AppError 400 for an upload of another file; 413 `upload_too_large`; 429 `too_many_uploads`; 507 `quota_exceeded`
 */
export async function createFileUpload(
  { sql, newId, config, log, metrics, uploadReceiver }: FileUploadsDeps,
  file: NewFile,
  also: (tx: Tx, uploadId: string) => Promise<void>,
): Promise<{ readonly upload: FileUpload; readonly token: string }> {
  assertFits(file.fileSize, uploadReceiver.maxBytes)
  const id = file.id ?? newId()
  const token = await createUploadTokens(config).of(id)
  const row = { ...file, id, recordingId: null, folderId: null, batchId: null, tokenHash: hashOf(token) }
  const objectKey = objectKeyOf(file.folder, id, newId())
  const upload = await transaction(sql, async (tx) => {
    await lockOrganization(tx, file.organizationId)
    const known = file.id === null ? undefined : await findById(tx, row)
    if (known !== undefined) return assertSame(known, file)
    await assertRoom(tx, { config, metrics }, file.organizationId, file.fileSize)
    const inserted = await insertUpload(tx, { ...row, objectKey })
    await also(tx, id)
    return inserted
  })
  log.info({ organizationId: file.organizationId, uploadId: id }, 'upload created')
  return { upload, token }
}

function assertSame(known: FileUpload, { fileName, fileSize }: NewFile): FileUpload {
  if (known.fileName === fileName && known.fileSize === fileSize) return known
  const message = 'belongs to an upload of another file'
  throw invalid([{ path: 'uploadKey', code: 'contradiction', message }])
}

type Ref = Pick<UploadRef, 'id' | 'organizationId'>

/** The caller has checked that the viewer may see it. */
export function findFileUpload(query: Query, ref: Ref): Promise<FileUpload | undefined> {
  return findById(query, ref)
}

/** Cancelling again returns the same state; undefined: the upload was deleted. @throws AppError 409 `upload_not_cancellable` */
export async function cancelFileUpload(
  { uploadReceiver }: Pick<FileUploadsDeps, 'uploadReceiver'>,
  upload: FileUpload,
): Promise<FileUpload | undefined> {
  try {
    return await uploadReceiver.cancel(upload)
  } catch (error) {
    if (error instanceof UnknownUpload) return undefined
    throw error instanceof UploadNotCancellable ? notCancellable(error) : error
  }
}

export interface CompleteFile extends Ref {
  readonly objectKey: string
  /** Bytes. */
  readonly fileSize: number
  /** When the upload was created. */
  readonly createdAt: Date
  /** Argument of `IncomingStore.publish`. */
  readonly whole: IncomingRecord
}

/** Begins an attempt to use the file, whatever an earlier one left. @returns null if the upload was deleted or has ended */
export async function beginFile(tx: Tx, uploadId: string): Promise<CompleteFile | null> {
  const begun = await store.setProcessing(tx, uploadId)
  if (begun === null) return null
  const { id, organizationId, objectKey, fileSize, createdAt, resumeState } = begun
  const parts = await store.partsOf(tx, begun)
  return {
    id,
    organizationId,
    objectKey,
    fileSize,
    createdAt,
    whole: { offset: fileSize, resumeState, parts: [...parts] },
  }
}

/** Ends the upload and has its bytes deleted. `errorCode`: null if the file was used. */
export async function endFile(tx: Tx, ref: Ref, errorCode: UploadErrorCode | null): Promise<void> {
  if (await store.changePhase(tx, ref, errorCode === null ? 'ready' : 'fail', errorCode))
    await discardUpload(tx, ref)
}

/** Whether a file of the folder, with an upload that was created until `until`, waits to be used or is being used. */
export function isFileAwaited(
  query: Query,
  organizationId: string,
  folder: NewFile['folder'],
  until: Date,
): Promise<boolean> {
  return store.isFileAwaited(query, organizationId, `${folder}/`, until)
}
