/**
 * Receiving the bytes of an upload, whatever they travel in: the one sink below the dialects of HTTP.
 *
 * The rule: the newest request wins. It takes the next writer number of the upload's row, and nothing is recorded under an
 * older one; what was acknowledged is durable, and any process can go on from it.
 */
import type { Deps } from '../container.ts'
import { transaction } from '../platform/db/transaction.ts'
import type { Checksum } from './checksum.ts'
import { discardNow } from './garbage.ts'
import { receiveAlone } from './receive.ts'
import { UnknownUpload, UploadNotCancellable, type UploadState } from './state.ts'
import * as store from './store.ts'
import { hashOfToken } from './token.ts'
import { createWriters, type Writers } from './writers.ts'
import { fence } from './writing.store.ts'

export { CHECKSUM_ALGORITHMS, type Checksum, type ChecksumAlgorithm } from './checksum.ts'
export {
  ChecksumMismatch,
  OffsetMismatch,
  Superseded,
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
  /** Where the upload stands; disturbs nobody. null: there is none. */
  find(token: string): Promise<UploadState | null>
  /** Ends whichever request is sending bytes, and then says where the upload stands. null: there is none. */
  settle(token: string): Promise<UploadState | null>
  /**
   * Takes the bytes of a request, after ending an older one. Resolves when they are durable; with fewer than the body would
   * have had where the connection broke or this process stops. An upload that is whole takes no bytes and resolves.
   * @throws UnknownUpload, OffsetMismatch, UploadTooLarge, UploadClosed, Superseded, ChecksumMismatch
   * @throws AppError `unavailable` where this process is about to stop
   */
  receive(token: string, request: ReceiveRequest): Promise<UploadState>
  /** The same state again where it is cancelled. @throws UnknownUpload, UploadNotCancellable */
  cancel(token: string): Promise<UploadState>
  /** As `cancel`, for who knows it by its id. */
  cancelUpload(upload: store.UploadRef): Promise<store.UploadRow>
  /** Stores what has come, ends every request, and takes no new one: the process is about to end. */
  stop(): Promise<void>
}

export type ReceivingDeps = Pick<Deps, 'sql' | 'doorbell' | 'storage' | 'newId' | 'log'>

export function createReceiving(deps: ReceivingDeps): Receiving {
  const { sql } = deps
  const writers = createWriters()
  const context = { ...deps, process: deps.newId() }
  const find = async (token: string) => {
    const hash = hashOfToken(token)
    return hash === null ? undefined : store.findByToken(sql, hash)
  }
  const known = async (token: string) => {
    const upload = await find(token)
    if (upload === undefined) throw new UnknownUpload('there is no such upload')
    return upload
  }
  return {
    find: async (token) => (await find(token)) ?? null,
    async settle(token) {
      const upload = await find(token)
      if (upload === undefined) return null
      await writers.run(upload.id, () => fence(sql, upload))
      return (await find(token)) ?? null
    },
    async receive(token, request) {
      const upload = await known(token)
      return writers.run(upload.id, (cut) => receiveAlone(context, upload, request, cut))
    },
    cancel: async (token) => cancel(deps, writers, await known(token)),
    cancelUpload: (upload) => cancel(deps, writers, upload),
    stop: () => writers.stop(),
  }
}

/** One statement decides between this and the last byte; requests that still send are ended after it. */
async function cancel(
  deps: ReceivingDeps,
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
    await discardNow(deps, upload)
  }
  return state
}
