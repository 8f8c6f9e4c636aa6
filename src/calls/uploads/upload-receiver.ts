/**
 * Receives the bytes of an upload. The three HTTP dialects (tus, `PUT` with `Content-Range`, plain `PUT`) share it.
 *
 * The newest request wins: it takes the next writer number of the upload's row, and nothing is recorded under an older
 * number. Acknowledged bytes are durable, and any process can continue from them.
 */
import { transaction } from '../../platform/db/transaction.ts'
import { type ActiveRequests, createActiveRequests } from './active-requests.ts'
import { discardNow } from './garbage.ts'
import { fence } from './progress.store.ts'
import {
  type ReceiveRequest,
  receiveAlone,
  type UploadReceiverDeps,
  type UploadReceiverLimits,
} from './receive-request.ts'
import { UnknownUpload, UploadNotCancellable } from './state.ts'
import * as store from './store.ts'
import { hashOfToken } from './token.ts'

export { CHECKSUM_ALGORITHMS, type Checksum, type ChecksumAlgorithm } from './checksum.ts'
export type { ReceiveRequest } from './receive-request.ts'
export {
  ChecksumMismatch,
  OffsetMismatch,
  Superseded,
  TooSlow,
  UnknownUpload,
  UploadClosed,
  UploadNotCancellable,
  type UploadState,
  UploadTooLarge,
} from './state.ts'

export interface UploadReceiver {
  /** Size of the largest upload that the object store can hold, in bytes. */
  readonly maxBytes: number
  /** Reads the state of the upload without interrupting a request that sends bytes. null: unknown token. */
  find(token: string): Promise<store.UploadRow | null>
  /** Ends a request that is sending bytes, then reads the state of the upload. null: the upload no longer exists. */
  interrupt(found: store.UploadRow): Promise<store.UploadRow | null>
  /**
   * Ends an older request, then stores the bytes of this one. Resolves once they are durable. Resolves with fewer bytes
   * than the body has if the connection broke or this process stops. A complete upload takes no bytes and resolves.
   * @throws UnknownUpload, OffsetMismatch, UploadTooLarge, UploadClosed, Superseded, TooSlow, ChecksumMismatch
   * @throws AppError `unavailable` if this process is stopping
   */
  receive(upload: store.UploadRef, request: ReceiveRequest): Promise<store.UploadRow>
  /** Cancelling again returns the same state. @throws UnknownUpload, UploadNotCancellable */
  cancel(upload: store.UploadRef): Promise<store.UploadRow>
  /** Stores the bytes received so far, ends every request and refuses new ones. Called when the process stops. */
  stop(): Promise<void>
}

/** The pace is a tenth of what the slowest mobile network carries. */
const UPLOAD_RECEIVER_LIMITS: UploadReceiverLimits = {
  pace: { bytes: 32 * 1024, ms: 120_000 },
  graceMs: 5_000,
}

export function createUploadReceiver(
  deps: UploadReceiverDeps,
  limits = UPLOAD_RECEIVER_LIMITS,
): UploadReceiver {
  const { sql } = deps
  const activeRequests = createActiveRequests()
  const context = { ...deps, limits, process: deps.newId() }
  return {
    maxBytes: deps.storage.maxBytes,
    async find(token) {
      const hash = hashOfToken(token)
      return hash === null ? null : ((await store.findByToken(sql, hash)) ?? null)
    },
    async interrupt(found) {
      // An upload in another phase takes no bytes and never waits for bytes again.
      if (found.phase !== 'waiting') return found
      const fenced = await activeRequests.run(found.id, () => fence(sql, found))
      return fenced ?? (await store.findById(sql, found)) ?? null
    },
    receive: (upload, request) =>
      activeRequests.run(upload.id, (cut) => receiveAlone(context, upload, request, cut)),
    cancel: (upload) => cancel(context, activeRequests, upload),
    stop: () => activeRequests.stop(),
  }
}

/**
 * One statement decides whether the cancellation or the last byte came first. Requests that still send are ended
 * afterwards.
 */
async function cancel(
  { limits, ...deps }: UploadReceiverDeps & { readonly limits: UploadReceiverLimits },
  activeRequests: ActiveRequests,
  upload: store.UploadRef,
): Promise<store.UploadRow> {
  const { organizationId, recordingId, id } = upload
  const { isNew, state } = await transaction(deps.sql, async (tx) => {
    await store.lockRecordingOf(tx, id)
    const isNew = await store.endWaiting(tx, upload, 'cancel')
    return { isNew, state: await store.findById(tx, upload) }
  })
  if (state === undefined) throw new UnknownUpload('the upload does not exist')
  if (state.phase !== 'cancelled') throw new UploadNotCancellable(state)
  if (isNew) {
    deps.log.info({ organizationId, recordingId, uploadId: id }, 'upload cancelled')
    await activeRequests.close(id)
    await discardNow(deps, upload, limits.graceMs)
  }
  return state
}
