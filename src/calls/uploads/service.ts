/**
 * Use cases of uploads: create, read, cancel.
 *
 * A recording has one active media ingestion. An upload for a recording that has media replaces that media. `create`
 * locks the recording's row first. Of two concurrent requests, the second therefore finds the upload of the first: it
 * returns that upload if the requests are identical, and 409 otherwise.
 */

import { lockOrganization } from '../../access/identity/organizations.ts'
import { assertMediaQuota } from '../../access/quotas/service.ts'
import type { Deps } from '../../kernel/deps.ts'
import type { Viewer } from '../../kernel/principal.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { AppError } from '../../platform/errors.ts'
import { nameOf } from '../../platform/validation/names.ts'
import { lockVisibleAsset } from '../assets/service.ts'
import type { Folders } from '../folders/service.ts'
import type { CreateUpload } from './model.ts'
import { objectKeyOf } from './receive-request.ts'
import { isOrigin, isSameUpload, mayUpload, type UploadIdentity } from './rules.ts'
import * as store from './store.ts'
import { createUploadTokens, hashOfToken, type UploadTokens } from './token.ts'
import { UnknownUpload, UploadNotCancellable, type UploadReceiver } from './upload-receiver.ts'

export type Uploads = ReturnType<typeof createUploads>

/** `Retry-After` of `too_many_uploads`. */
const ROOM_SECONDS = '60'

export type UploadsDeps = Pick<Deps, 'sql' | 'newId' | 'log' | 'config' | 'metrics'> & {
  readonly folders: Folders
  readonly uploadReceiver: UploadReceiver
  /** Adds the recording to folders, in the transaction that has locked it and has resolved the folders. */
  readonly addToFolders: (
    tx: Tx,
    organizationId: string,
    recordingId: string,
    folderIds: readonly string[],
  ) => Promise<void>
}

/** What the client asks for, as far as the request itself tells. */
interface Draft {
  readonly identity: UploadIdentity
  readonly origin: string | null
}

export function createUploads(deps: UploadsDeps) {
  const { sql, folders, uploadReceiver } = deps
  const tokens = createUploadTokens(deps.config)
  return {
    /**
     * An identical request gets the upload that already waits, unchanged. `readBody` is called once the recording is
     * known to exist.
     * @throws AppError 404; 400 `origin_required`, `batch_requires_user`; 413 `upload_too_large`; 409
     * `media_ingestion_active`; 429 `too_many_uploads`; 507 `quota_exceeded`
     */
    async create(
      viewer: Viewer,
      recordingId: string,
      origin: string | null,
      readBody: () => Promise<CreateUpload>,
    ): Promise<{ readonly upload: store.UploadRow; readonly token: string }> {
      await folders.assertVisible(sql, viewer, recordingId)
      assertOrigin(viewer, origin)
      const draft = { identity: identityOf(viewer, await readBody()), origin }
      assertFits(draft.identity.fileSize, uploadReceiver.maxBytes)
      await assertBatch(folders, viewer, draft.identity.batchId)
      return createOrFind(deps, tokens, viewer, recordingId, draft)
    },

    /** @throws AppError 404 */
    async get(viewer: Viewer, recordingId: string, uploadId: string): Promise<store.UploadRow> {
      await folders.assertVisible(sql, viewer, recordingId)
      return (await store.findUpload(sql, viewer.organizationId, recordingId, uploadId)) ?? throwNoUpload()
    },

    /** Cancelling again returns the same state. @throws AppError 404; 409 `upload_not_cancellable` */
    async cancel(viewer: Viewer, recordingId: string, uploadId: string): Promise<store.UploadRow> {
      await folders.assertVisible(sql, viewer, recordingId)
      const found = await store.findUpload(sql, viewer.organizationId, recordingId, uploadId)
      if (found === undefined) return throwNoUpload()
      try {
        return await uploadReceiver.cancel(found)
      } catch (error) {
        if (error instanceof UnknownUpload) throwNoUpload()
        throw error instanceof UploadNotCancellable ? notCancellable(error) : error
      }
    },
  }
}

function assertOrigin(viewer: Viewer, origin: string | null): void {
  if (origin === null ? viewer.kind !== 'user' : isOrigin(origin)) return
  const message =
    'A user must send the Origin header: scheme, host and port of the page that sends the file, as browsers do.'
  throw new AppError('origin_required', message)
}

/** @throws AppError 400 */
function identityOf(viewer: Viewer, body: CreateUpload): UploadIdentity {
  if (body.batchId !== undefined && viewer.kind !== 'user')
    throw new AppError('batch_requires_user', 'A batch belongs to a user. An API key cannot attach one.')
  return {
    fileName: nameOf('fileName', body.fileName),
    fileSize: body.fileSize,
    source: body.source ?? (viewer.kind === 'user' ? 'web' : 'api'),
    folderId: body.folderId?.toLowerCase() ?? null,
    batchId: body.batchId?.toLowerCase() ?? null,
  }
}

/** Refuses a file that is too large before the client sends any of it. @throws AppError 413 */
export function assertFits(fileSize: number, limitBytes: number): void {
  if (fileSize <= limitBytes) return
  const message = `The file has ${fileSize} bytes; this service stores files of at most ${limitBytes}.`
  throw new AppError('upload_too_large', message, { extra: { limitBytes } })
}

/** For an upload of `fileSize` bytes. @throws AppError 429; 507 */
export async function assertRoom(
  tx: Tx,
  deps: Pick<Deps, 'config' | 'metrics'>,
  organizationId: string,
  fileSize: number,
): Promise<void> {
  await assertMediaQuota(tx, deps, organizationId, fileSize)
  const limit = deps.config.maxWaitingUploads
  if (limit === 0) return
  await lockOrganization(tx, organizationId)
  if ((await store.countWaiting(tx, organizationId, limit)) < limit) return
  const message = `${limit} uploads of the organization already wait for bytes. Finish or cancel some, or wait until they expire.`
  throw new AppError('too_many_uploads', message, { headers: { 'retry-after': ROOM_SECONDS } })
}

async function assertBatch(folders: Folders, viewer: Viewer, batchId: string | null): Promise<void> {
  if (batchId !== null && viewer.kind === 'user') await folders.getBatch(viewer, batchId)
}

async function createOrFind(
  deps: UploadsDeps,
  tokens: UploadTokens,
  viewer: Viewer,
  recordingId: string,
  draft: Draft,
) {
  const id = deps.newId()
  // The token is computed before the transaction, because a transaction waits for SQL only.
  const token = await tokens.of(id)
  const upload = await transaction(deps.sql, (tx) =>
    write(deps, tx, viewer, recordingId, { ...draft, id, token }),
  )
  const { organizationId } = viewer
  if (upload.id === id) {
    deps.log.info({ organizationId, recordingId, uploadId: id }, 'upload created')
    return { upload, token }
  }
  return { upload, token: await tokenOf(deps, tokens, upload) }
}

/** The token stays the same unless the service has lost its key; then the new token replaces the old one. */
async function tokenOf(deps: UploadsDeps, tokens: UploadTokens, upload: store.UploadRow): Promise<string> {
  const token = await tokens.of(upload.id)
  await store.replaceToken(deps.sql, upload, hashOf(token))
  return token
}

async function write(
  { folders, addToFolders, newId, config, metrics }: UploadsDeps,
  tx: Tx,
  viewer: Viewer,
  recordingId: string,
  { id, token, identity, origin }: Draft & { readonly id: string; readonly token: string },
): Promise<store.UploadRow> {
  const { organizationId } = viewer
  const asset = await lockVisibleAsset(tx, recordingId, folders.visibleRecording(tx, viewer))
  if (asset === undefined) throw new AppError('recording_not_found', 'There is no such recording.')
  const folderIds = identity.folderId === null ? [] : [identity.folderId]
  await folders.resolve(tx, viewer, folderIds)
  const active = await store.findActive(tx, organizationId, recordingId)
  if (active?.phase === 'waiting' && isSameUpload(active, identity)) return active
  const isFree =
    active === undefined ? mayUpload(asset.assetStatus) : await store.endWaiting(tx, active, 'expire')
  if (!isFree || asset.isReplacing) throw ingestionActive()
  await assertRoom(tx, { config, metrics }, organizationId, identity.fileSize)
  await addToFolders(tx, organizationId, recordingId, folderIds)
  return store.insertUpload(tx, {
    ...identity,
    id,
    organizationId,
    recordingId,
    userId: viewer.kind === 'user' ? viewer.userId : null,
    origin,
    tokenHash: hashOf(token),
    objectKey: objectKeyOf('recordings', recordingId, newId()),
  })
}

export function hashOf(token: string): Uint8Array {
  const hash = hashOfToken(token)
  if (hash === null) throw new Error('the service created a malformed upload token')
  return hash
}

function ingestionActive(): AppError {
  const message =
    'Other media of this recording is being ingested. Cancel that upload, or wait until it is ready or has failed.'
  return new AppError('media_ingestion_active', message)
}

export function notCancellable({ state }: UploadNotCancellable): AppError {
  const message = `Only an upload that waits for bytes can be cancelled; this one is ${state.phase}.`
  return new AppError('upload_not_cancellable', message)
}

function throwNoUpload(): never {
  throw new AppError('upload_not_found', 'This recording has no such upload.')
}
