/**
 * One request that sends bytes, from taking over to its last record.
 *
 * The rule: what it says about the upload it says as its newest request; when it is not that any more, its store is told so
 * by the record that fails, and it ends.
 */
import { transactionWithMail } from '../actors/mailbox.ts'
import { transaction } from '../platform/db/transaction.ts'
import type { IncomingRecord, IncomingWriter } from '../platform/storage/incoming.ts'
import { readBody } from './body.ts'
import { sumUp } from './checksum.ts'
import type { ReceiveRequest, ReceivingDeps, ReceivingLimits } from './receiving.ts'
import {
  ChecksumMismatch,
  OffsetMismatch,
  Superseded,
  TooSlow,
  UnknownUpload,
  UploadClosed,
  UploadTooLarge,
} from './state.ts'
import { findUpload, type UploadRef, type UploadRow } from './store.ts'
import type { Cut } from './writers.ts'
import * as store from './writing.store.ts'

/** Said when the object is begun, before anybody knows what is in it. */
const CONTENT_TYPE = 'application/octet-stream'

/** While bytes arrive that cannot be recorded yet, the deadline slides as often as this. */
const ARRIVING_MS = 60_000

export interface ReceiveContext extends ReceivingDeps {
  readonly limits: ReceivingLimits
  /** Names this process among those that may write to one upload. */
  readonly process: string
}

/** What `Receiving.receive` says, where no other request of this process is at work. */
export async function receiveAlone(
  context: ReceiveContext,
  upload: UploadRef,
  request: ReceiveRequest,
  cut: AbortSignal,
): Promise<UploadRow> {
  const hold = await store.takeOver(context.sql, upload, context.process)
  if (hold === null) return answerWithoutBytes(await stateOf(context, upload), request)
  try {
    await receiveHeld(context, hold, request, cut)
  } finally {
    // Where the database is away, the next one in another process takes more care than it needs to.
    await store.release(context.sql, upload, context.process).catch((error) => {
      context.log.warn({ uploadId: upload.id, err: error }, 'upload not released')
    })
  }
  return stateOf(context, upload)
}

/** Of an upload that takes none any more. */
function answerWithoutBytes(state: UploadRow, { offset }: ReceiveRequest): UploadRow {
  if (state.offset < state.fileSize) throw new UploadClosed(state)
  if (offset !== null && offset !== state.offset) throw new OffsetMismatch(state)
  return state
}

async function receiveHeld(
  context: ReceiveContext,
  hold: store.Hold,
  request: ReceiveRequest,
  cut: AbortSignal,
): Promise<void> {
  const { offset, skip, length = 0 } = request
  if (offset !== null && offset !== hold.offset) throw new OffsetMismatch(await stateOf(context, hold))
  const missing = hold.fileSize - (offset ?? 0)
  if (length - skip > missing) throw new UploadTooLarge(await stateOf(context, hold))
  using grace = graceAfter(cut, context.limits.graceMs)
  const sink = new Sink(context, hold, request, grace.signal)
  try {
    const bounds = { missing, pace: context.limits.pace, cut }
    const ending = await readBody(request, bounds, (chunk) => sink.take(chunk))
    const isKept =
      ending === 'whole' ? sink.isAsPromised() : !sink.isHeld && cut.reason !== ('closed' satisfies Cut)
    if (isKept) await sink.flush()
    if (ending === 'tooLong') throw new UploadTooLarge(await stateOf(context, hold))
    if (ending === 'whole' && !isKept) throw new ChecksumMismatch(await stateOf(context, hold))
    if (ending === 'slow' && (await stateOf(context, hold)).phase === 'waiting')
      throw new TooSlow('the client does not keep its pace')
  } catch (error) {
    // The store takes too long for whoever waits: what is not recorded has to be sent again.
    if (!grace.signal.aborted) throw error
  } finally {
    await sink.abandon()
  }
  if (cut.aborted && cut.reason !== ('stopping' satisfies Cut)) throw await refusal(context, hold)
}

/** Aborted so long after `cut`. */
function graceAfter(cut: AbortSignal, graceMs: number) {
  const controller = new AbortController()
  let timer: Timer | undefined
  const begin = () => {
    timer = setTimeout(() => controller.abort(new Error('the object store takes too long')), graceMs)
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

/** The writer of the object store, opened when the first byte is there, and what surrounds it. */
class Sink {
  readonly isHeld: boolean
  readonly #context: ReceiveContext
  readonly #startsOver: boolean
  readonly #end: AbortSignal
  readonly #sum
  #hold: store.Hold
  #writer: IncomingWriter | null = null
  #arrivingSince = Number.NEGATIVE_INFINITY

  /** `end`: nothing more is stored. */
  constructor(
    context: ReceiveContext,
    hold: store.Hold,
    { offset, checksum }: ReceiveRequest,
    end: AbortSignal,
  ) {
    this.#context = context
    this.#end = end
    this.#hold = hold
    this.#startsOver = offset === null && hold.memory !== null
    this.#sum = checksum === undefined ? null : sumUp(checksum)
    this.isHeld = this.#sum !== null
  }

  async take(chunk: Uint8Array): Promise<void> {
    if (performance.now() - this.#arrivingSince > ARRIVING_MS) await this.#sayArriving()
    this.#writer ??= await this.#open()
    this.#sum?.add(chunk)
    await this.#writer.write(chunk)
  }

  /** Whether the bytes are those of the checksum, where there is one. */
  isAsPromised(): boolean {
    return this.#sum?.matches() ?? true
  }

  async flush(): Promise<void> {
    const writer = this.#writer
    this.#writer = null
    await writer?.flush()
  }

  /** Nothing where it was flushed. */
  async abandon(): Promise<void> {
    await this.#writer?.abandon()
  }

  async #open(): Promise<IncomingWriter> {
    if (this.#startsOver) await this.#restart()
    const { objectKey, offset, memory, fileSize, alone } = this.#hold
    return this.#context.storage.incoming.append(
      objectKey,
      { offset, memory },
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
    const key = objectKeyOf(this.#hold.recordingId, newId())
    const restarted = await transaction(sql, (tx) => store.restart(tx, this.#hold, key))
    if (restarted === null) throw await refusal(this.#context, this.#hold)
    this.#hold = restarted
  }

  async #sayArriving(): Promise<void> {
    const marked = await transaction(this.#context.sql, (tx) => store.markArriving(tx, this.#hold))
    if (!marked) throw await refusal(this.#context, this.#hold)
    this.#arrivingSince = performance.now()
  }

  /** The record of the last byte is what completes the upload, so that there is never one that is whole and still waits. */
  async #record(record: IncomingRecord): Promise<void> {
    const hold = this.#hold
    const isLast = record.offset === hold.fileSize
    const recorded = await transactionWithMail(this.#context, async (tx, outbox) => {
      if (!isLast) return store.recordProgress(tx, hold, record)
      if (!(await store.complete(tx, hold, record))) return false
      const key = `recording:${hold.recordingId}` as const
      const payload = { uploadId: hold.id }
      await outbox.send([{ key, type: 'process_upload', payload, organizationId: hold.organizationId }])
      return true
    })
    if (!recorded) throw await refusal(this.#context, hold)
    if (!isLast) return
    const { organizationId, recordingId, id: uploadId } = hold
    this.#context.log.info({ organizationId, recordingId, uploadId }, 'upload received')
  }
}

/** Attempts have keys of their own, so that nothing of one can be taken for another's. */
export function objectKeyOf(recordingId: string, attempt: string): string {
  return `recordings/${recordingId}/${attempt}/source`
}

async function stateOf({ sql }: ReceiveContext, upload: UploadRef): Promise<UploadRow> {
  const state = await findUpload(sql, upload.organizationId, upload.recordingId, upload.id)
  if (state === undefined) throw new UnknownUpload('there is no such upload any more')
  return state
}

/** Why a request may not go on. */
async function refusal(context: ReceiveContext, hold: UploadRef): Promise<Error> {
  const state = await stateOf(context, hold)
  if (state.phase === 'failed' || state.phase === 'cancelled') return new UploadClosed(state)
  return new Superseded('a newer request has taken over')
}
