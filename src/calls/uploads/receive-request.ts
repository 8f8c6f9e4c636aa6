/**
 * One request that sends bytes, from takeover to its last record.
 *
 * The request works under the writer number it took. When a newer request takes over or the upload ends, the next
 * record fails, and the request ends.
 */

import { transactionWithOutbox } from '../../actors/mailbox.ts'
import type { NewMessage } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import { codingSessionMessages } from '../../kernel/messages/coding-session.ts'
import { feedbackImportMessages } from '../../kernel/messages/feedback-import.ts'
import { recordingMessages } from '../../kernel/messages/recording.ts'
import { transaction } from '../../platform/db/transaction.ts'
import type { IncomingRecord, IncomingWriter } from '../../platform/storage/incoming.ts'
import type { AbortReason } from './active-requests.ts'
import { type Pace, readBody } from './body.ts'
import { type Checksum, createVerifier } from './checksum.ts'
import * as store from './progress.store.ts'
import {
  ChecksumMismatch,
  OffsetMismatch,
  Superseded,
  TooSlow,
  UnknownUpload,
  UploadClosed,
  UploadTooLarge,
} from './state.ts'
import { findById, type UploadRef, type UploadRow } from './store.ts'

/** The object is created before its content type is known. */
const CONTENT_TYPE = 'application/octet-stream'

/** While bytes arrive that cannot be recorded yet, the deadline is extended this often. */
const ARRIVING_MS = 60_000

export interface ReceiveRequest {
  /**
   * Offset in the file of the first byte after `skip`. null: the body is the whole file, and stored bytes are
   * discarded.
   */
  readonly offset: number | null
  /** Number of bytes at the start of the body that are already stored. */
  readonly skip: number
  /**
   * Bytes of the body including `skip`, if the client states them. A body that is too long is then refused before it is
   * read.
   */
  readonly length?: number
  /** null: no body. */
  readonly body: ReadableStream<Uint8Array> | null
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  /** Called with true before the receiver waits for the client, and with false afterwards. */
  readonly onWait?: (isForClient: boolean) => void
  /** Covers the body without `skip`. If the body does not match or breaks off, none of it is kept. */
  readonly checksum?: Checksum
}

export type UploadReceiverDeps = Pick<Deps, 'sql' | 'notifier' | 'storage' | 'newId' | 'log'>

export interface UploadReceiverLimits {
  /** A slower client is disconnected and may resume. Otherwise one byte a minute would keep a connection open. */
  readonly pace: Pace
  /** Time that the object store has to store received bytes, or to discard them, after a request was told to end. */
  readonly graceMs: number
}

export interface ReceiveContext extends UploadReceiverDeps {
  readonly limits: UploadReceiverLimits
  /** Identifies this process among those that may write to an upload. */
  readonly process: string
}

/**
 * Implements `UploadReceiver.receive`. The caller ensures that no other request of this process works on the upload.
 */
export async function receiveAlone(
  context: ReceiveContext,
  upload: UploadRef,
  request: ReceiveRequest,
  cut: AbortSignal,
): Promise<UploadRow> {
  const claim = await store.takeOver(context.sql, upload, context.process)
  if (claim === null) return answerWithoutBytes(await stateOf(context, upload), request)
  try {
    await receiveClaimed(context, claim, request, cut)
  } finally {
    // If the database is unavailable, the next request assumes that this process still writes. That is slower but safe.
    await store.release(context.sql, upload, context.process).catch((error) => {
      context.log.warn({ uploadId: upload.id, err: error }, 'could not release the upload')
    })
  }
  return stateOf(context, upload)
}

/** The result for an upload that takes no more bytes. */
function answerWithoutBytes(state: UploadRow, { offset }: ReceiveRequest): UploadRow {
  if (state.offset < state.fileSize) throw new UploadClosed(state)
  if (offset !== null && offset !== state.offset) throw new OffsetMismatch(state)
  return state
}

async function receiveClaimed(
  context: ReceiveContext,
  claim: store.WriteClaim,
  request: ReceiveRequest,
  cut: AbortSignal,
): Promise<void> {
  const { offset, skip, length = 0 } = request
  if (offset !== null && offset !== claim.offset) throw new OffsetMismatch(await stateOf(context, claim))
  const missing = claim.fileSize - (offset ?? 0)
  if (length - skip > missing) throw new UploadTooLarge(await stateOf(context, claim))
  using grace = graceAfter(cut, context.limits.graceMs)
  const sink = new Sink(context, claim, request, grace.signal)
  try {
    const bounds = { missing, pace: context.limits.pace, cut }
    const ending = await readBody(request, bounds, (chunk) => sink.take(chunk))
    const isKept =
      ending === 'whole'
        ? sink.checksumMatches()
        : !sink.isHeld && cut.reason !== ('closed' satisfies AbortReason)
    if (isKept) await sink.flush()
    if (ending === 'tooLong') throw new UploadTooLarge(await stateOf(context, claim))
    if (ending === 'whole' && !isKept) throw new ChecksumMismatch(await stateOf(context, claim))
    if (ending === 'slow' && (await stateOf(context, claim)).phase === 'waiting')
      throw new TooSlow('the client sends too slowly')
  } catch (error) {
    // The object store did not finish in time. The client sends the unrecorded bytes again.
    if (!grace.signal.aborted) throw error
  } finally {
    await sink.abandon()
  }
  if (cut.aborted && cut.reason !== ('stopping' satisfies AbortReason)) throw await refusal(context, claim)
}

/** A signal that is aborted `graceMs` after `cut`. */
function graceAfter(cut: AbortSignal, graceMs: number) {
  const controller = new AbortController()
  let timer: Timer | undefined
  const begin = () => {
    timer = setTimeout(() => controller.abort(new Error('the object store took too long')), graceMs)
  }
  if (cut.aborted) begin()
  else cut.addEventListener('abort', begin, { once: true })
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      cut.removeEventListener('abort', begin)
      clearTimeout(timer)
    },
  }
}

/** Writes to the object store. Opens the writer on the first byte, and extends the deadline while bytes arrive. */
class Sink {
  readonly isHeld: boolean
  readonly #context: ReceiveContext
  readonly #startsOver: boolean
  readonly #end: AbortSignal
  readonly #verifier
  #claim: store.WriteClaim
  #writer: IncomingWriter | null = null
  #arrivingSince = Number.NEGATIVE_INFINITY

  /** `end`: once aborted, nothing more is stored. */
  constructor(
    context: ReceiveContext,
    claim: store.WriteClaim,
    { offset, checksum }: ReceiveRequest,
    end: AbortSignal,
  ) {
    this.#context = context
    this.#end = end
    this.#claim = claim
    this.#startsOver = offset === null && claim.resumeState !== null
    this.#verifier = checksum === undefined ? null : createVerifier(checksum)
    this.isHeld = this.#verifier !== null
  }

  async take(chunk: Uint8Array): Promise<void> {
    if (performance.now() - this.#arrivingSince > ARRIVING_MS) await this.#sayArriving()
    this.#writer ??= await this.#open()
    this.#verifier?.add(chunk)
    await this.#writer.write(chunk)
  }

  /** True if the bytes match the checksum, or there is none. */
  checksumMatches(): boolean {
    return this.#verifier?.matches() ?? true
  }

  async flush(): Promise<void> {
    const writer = this.#writer
    this.#writer = null
    await writer?.flush()
  }

  /** Does nothing after a flush. */
  async abandon(): Promise<void> {
    await this.#writer?.abandon()
  }

  async #open(): Promise<IncomingWriter> {
    if (this.#startsOver) await this.#restart()
    const { objectKey, offset, resumeState, fileSize, alone } = this.#claim
    return this.#context.storage.incoming.append(
      objectKey,
      { offset, resumeState },
      {
        size: fileSize,
        contentType: CONTENT_TYPE,
        alone,
        held: this.isHeld,
        signal: this.#end,
        record: (record) => this.#record(record),
      },
    )
  }

  async #restart(): Promise<void> {
    const { sql, newId } = this.#context
    const key = otherAttempt(this.#claim.objectKey, newId())
    const restarted = await transaction(sql, (tx) => store.restart(tx, this.#claim, key))
    if (restarted === null) throw await refusal(this.#context, this.#claim)
    this.#claim = restarted
  }

  async #sayArriving(): Promise<void> {
    const marked = await transaction(this.#context.sql, (tx) => store.markArriving(tx, this.#claim))
    if (!marked) throw await refusal(this.#context, this.#claim)
    this.#arrivingSince = performance.now()
  }

  /** The transaction that records the last byte also completes the upload. A complete upload therefore never waits. */
  async #record(record: IncomingRecord): Promise<void> {
    const claim = this.#claim
    const isLast = record.offset === claim.fileSize
    const recorded = await transactionWithOutbox(this.#context, async (tx, outbox) => {
      if (!isLast) return store.recordProgress(tx, claim, record)
      if (!(await store.complete(tx, claim, record))) return false
      await outbox.send([processingOf(claim)])
      return true
    })
    if (!recorded) throw await refusal(this.#context, claim)
    if (!isLast) return
    const { organizationId, recordingId, id: uploadId } = claim
    this.#context.log.info({ organizationId, recordingId, uploadId }, 'upload received')
  }
}

/** The message to the actor that uses the complete file. */
function processingOf({
  organizationId,
  recordingId,
  id: uploadId,
  objectKey,
}: store.WriteClaim): NewMessage {
  if (recordingId === null)
    return objectKey.startsWith('feedback-imports/')
      ? feedbackImportMessages.message(uploadId, 'inspect', { organizationId })
      : codingSessionMessages.message(uploadId, 'process_upload', { organizationId })
  return recordingMessages.message(recordingId, 'process_upload', { payload: { uploadId }, organizationId })
}

/** Folders of the object store. The first part of a key says what the file is for. */
export type UploadFolder = 'recordings' | 'coding-sessions' | 'feedback-imports'

/** Each attempt has its own key, so its objects cannot be mistaken for those of another attempt. `id`: of the recording or the upload. */
export const objectKeyOf = (folder: UploadFolder, id: string, attempt: string): string =>
  `${folder}/${id}/${attempt}/source`

function otherAttempt(objectKey: string, attempt: string): string {
  const [folder, id] = objectKey.split('/')
  return `${folder}/${id}/${attempt}/source`
}

async function stateOf({ sql }: ReceiveContext, upload: UploadRef): Promise<UploadRow> {
  const state = await findById(sql, upload)
  if (state === undefined) throw new UnknownUpload('the upload no longer exists')
  return state
}

/** The error for a request that may not continue. */
async function refusal(context: ReceiveContext, claim: UploadRef): Promise<Error> {
  const state = await stateOf(context, claim)
  if (state.phase === 'failed' || state.phase === 'cancelled') return new UploadClosed(state)
  return new Superseded('a newer request has taken over')
}
