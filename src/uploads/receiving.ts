/**
 * Receiving the bytes of an upload, whatever they travel in: the one sink below the dialects of HTTP.
 *
 * The rule: the newest request wins. It takes the next writer number of the upload's row, and nothing is recorded under an
 * older one; what was acknowledged is durable, and any process can go on from it.
 */
import type { UploadState } from './state.ts'

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

export const CHECKSUM_ALGORITHMS = ['sha1', 'sha256', 'md5', 'crc32'] as const
export type ChecksumAlgorithm = (typeof CHECKSUM_ALGORITHMS)[number]

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
  /** Over the body without what is skipped. Nothing of a body that does not match is kept. */
  readonly checksum?: { readonly algorithm: ChecksumAlgorithm; readonly digest: Uint8Array }
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
   */
  receive(token: string, request: ReceiveRequest): Promise<UploadState>
  /** The same state again where it is cancelled. @throws UnknownUpload, UploadNotCancellable */
  cancel(token: string): Promise<UploadState>
  /** Stores what has come, ends every request, and takes no new one: the process is about to end. */
  stop(): Promise<void>
}
