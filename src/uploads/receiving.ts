/**
 * Receiving the bytes of an upload, whatever they travel in: the one sink below the dialects of HTTP.
 *
 * The rule: the newest request wins. It takes the next writer number of the upload's row, and nothing is recorded under an
 * older one; what was acknowledged is durable, and any process can go on from it.
 */
import type { Deps } from '../container.ts'
import { transaction } from '../platform/db/transaction.ts'
import type { Pace } from './body.ts'
import type { Checksum } from './checksum.ts'
import { discardNow } from './garbage.ts'
import { receiveAlone } from './receive.ts'
import { UnknownUpload, UploadNotCancellable } from './state.ts'
import * as store from './store.ts'
import { hashOfToken } from './token.ts'
import { createWriters, type Writers } from './writers.ts'
import { fence } from './writing.store.ts'

export { CHECKSUM_ALGORITHMS, type Checksum, type ChecksumAlgorithm } from './checksum.ts'
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

export interface ReceiveRequest {
  /** Where the bytes go on, after `skip`; null: the whole file from its beginning, whatever was stored before. */
  readonly offset: number | null
  /** Bytes at the beginning of the body that are stored already. */
  readonly skip: number
  /** Of the body with what is skipped, where the client says; then too many are refused before any is taken. */
  readonly length?: number
  /** null: empty. */
  readonly body: ReadableStream<Uint8Array> | null
  /** Of the connection: aborted when the client has gone. */
  readonly signal: AbortSignal
  /** Told before the client is waited for, and when it is not any more. */
  readonly onWait?: (isForClient: boolean) => void
  /** Over the body without what is skipped. Nothing of a body that does not match, or breaks off, is kept. */
  readonly checksum?: Checksum
}

export interface Receiving {
  /** Of one upload, that the object store can hold. */
  readonly maxBytes: number
  /** Where the upload stands; disturbs nobody. null: there is none. */
  find(token: string): Promise<store.UploadRow | null>
  /** Ends whichever request is sending bytes, and then says where the upload stands. null: it is not there any more. */
  settle(found: store.UploadRow): Promise<store.UploadRow | null>
  /**
   * Takes the bytes of a request, after ending an older one. Resolves when they are durable; with fewer than the body would
   * have had where the connection broke or this process stops. An upload that is whole takes no bytes and resolves.
   * @throws UnknownUpload, OffsetMismatch, UploadTooLarge, UploadClosed, Superseded, TooSlow, ChecksumMismatch
   * @throws AppError `unavailable` where this process is about to stop
   */
  receive(upload: store.UploadRef, request: ReceiveRequest): Promise<store.UploadRow>
  /** The same state again where it is cancelled. @throws UnknownUpload, UploadNotCancellable */
  cancel(upload: store.UploadRef): Promise<store.UploadRow>
  /** Stores what has come, ends every request, and takes no new one: the process is about to end. */
  stop(): Promise<void>
}

export type ReceivingDeps = Pick<Deps, 'sql' | 'doorbell' | 'storage' | 'newId' | 'log'>

export interface ReceivingLimits {
  /** Of a client. Who sends less is ended, and may go on: a connection is not held by a byte a minute. */
  readonly pace: Pace
  /** When a request must end, so long the object store may take to keep what has come of it, or to let go of it. */
  readonly graceMs: number
}

/** The pace is a tenth of what the slowest mobile network carries. */
export const RECEIVING_LIMITS: ReceivingLimits = {
  pace: { bytes: 32 * 1024, ms: 120_000 },
  graceMs: 5_000,
}

export function createReceiving(deps: ReceivingDeps, limits = RECEIVING_LIMITS): Receiving {
  const { sql } = deps
  const writers = createWriters()
  const context = { ...deps, limits, process: deps.newId() }
  return {
    maxBytes: deps.storage.maxBytes,
    async find(token) {
      const hash = hashOfToken(token)
      return hash === null ? null : ((await store.findByToken(sql, hash)) ?? null)
    },
    async settle(found) {
      // Nobody sends any more, and nothing leads back to where somebody would.
      if (found.phase !== 'waiting') return found
      const fenced = await writers.run(found.id, () => fence(sql, found))
      const { organizationId, recordingId, id } = found
      return fenced ?? (await store.findUpload(sql, organizationId, recordingId, id)) ?? null
    },
    receive: (upload, request) =>
      writers.run(upload.id, (cut) => receiveAlone(context, upload, request, cut)),
    cancel: (upload) => cancel(context, writers, upload),
    stop: () => writers.stop(),
  }
}

/** One statement decides between this and the last byte; requests that still send are ended after it. */
async function cancel(
  { limits, ...deps }: ReceivingDeps & { readonly limits: ReceivingLimits },
  writers: Writers,
  upload: store.UploadRef,
): Promise<store.UploadRow> {
  const { organizationId, recordingId, id } = upload
  const { isNew, state } = await transaction(deps.sql, async (tx) => {
    await store.lockRecordingOf(tx, id)
    const isNew = await store.endWaiting(tx, upload, 'cancel')
    return { isNew, state: await store.findUpload(tx, organizationId, recordingId, id) }
  })
  if (state === undefined) throw new UnknownUpload('there is no such upload')
  if (state.phase !== 'cancelled') throw new UploadNotCancellable(state)
  if (isNew) {
    deps.log.info({ organizationId, recordingId, uploadId: id }, 'upload cancelled')
    await writers.close(id)
    await discardNow(deps, upload, limits.graceMs)
  }
  return state
}
