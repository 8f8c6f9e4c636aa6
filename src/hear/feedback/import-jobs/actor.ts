/**
 * Reads uploaded CSV files in the background: first the head, then, once the columns are mapped, all rows.
 *
 * Memory is bounded whatever the size of the file: two batches of rows. Each batch is stored in one transaction with the number of
 * rows that are done. An attempt after a crash reads the file again and skips that many, so each row is stored once.
 */
import { defineActor } from '../../../actors/declaration.ts'
import type { ActorDefinition, GiveUp, LongHandler, LongTurn } from '../../../actors/types.ts'
import { beginFile, type CompleteFile, endFile } from '../../../calls/uploads/file-uploads.ts'
import type { Deps } from '../../../kernel/deps.ts'
import { feedbackImportMessages } from '../../../kernel/messages/feedback-import.ts'
import { erasedAmong } from '../../../people/running-erasures.ts'
import type { People } from '../../../people/service.ts'
import type { Tx } from '../../../platform/db/pool.ts'
import { AppError } from '../../../platform/errors.ts'
import { ObjectMissing } from '../../../platform/storage/storage.ts'
import { encodingOf } from '../../../platform/text/encoding.rules.ts'
import { isStorableText } from '../../../platform/validation/json.ts'
import { parseMappingFile } from '../row-import/mapping.rules.ts'
import { type Chunks, type ReadRow, readCsv } from '../row-import/reader.ts'
import { type Batch, importRecords, insertBatch, type RefusedRow } from '../row-import/records.ts'
import { createJudge } from '../row-import/row.rules.ts'
import { toUnderstand } from '../rules.ts'
import { HEAD_BYTES, type Head, readHead } from './head.ts'
import { KEPT_REFUSALS, KEPT_UNITS } from './model.ts'
import type { Refusal } from './refused.rules.ts'
import * as store from './store.ts'

const CONTENT_TYPE = 'text/csv'
/** A gigabyte takes minutes. */
const MAX_TURN_MS = 6 * 60 * 60_000
const KEPT_ROW_UNITS = 64 * 1024

export type ImportActorDeps = Pick<Deps, 'storage'> & { readonly people: Pick<People, 'idsByEmail'> }

export function feedbackImportActor(deps: ImportActorDeps): ActorDefinition {
  return defineActor(feedbackImportMessages, {
    maxAttempts: 20,
    turnTimeoutMsOf: { inspect: MAX_TURN_MS, run: MAX_TURN_MS },
    handlers: { inspect: inspectFile(deps), run: runImport(deps) },
    giveUp: { inspect: giveUpImport, run: giveUpImport },
  })
}

const refOf = ({ id, organizationId }: CompleteFile): store.ImportRef => ({ organizationId, uploadId: id })

/** @returns null if there is nothing to do any more */
async function begin(turn: LongTurn) {
  return turn.step(async (tx) => {
    const file = await beginFile(tx, turn.message.id)
    if (file === null) return null
    const row = await store.findImport(tx, refOf(file))
    if (row === undefined) await endFile(tx, file, 'processing_failed')
    return row === undefined ? null : { file, row }
  })
}

async function end(tx: Tx, file: CompleteFile, errorCode: string | null): Promise<void> {
  await store.endImport(tx, refOf(file), errorCode)
  await endFile(tx, file, errorCode === null ? null : 'processing_failed')
}

const giveUpImport: GiveUp = async (message, tx) => {
  const file = await beginFile(tx, message.id)
  if (file !== null) await end(tx, file, 'processing_failed')
  return 'handled'
}

const inspectFile =
  ({ storage }: ImportActorDeps): LongHandler =>
  async (turn) => {
    const begun = await begin(turn)
    if (begun === null || begun.row.header !== null) return turn.finish(async () => {})
    const { file, row } = begun
    await storage.incoming.publish(file.objectKey, file.whole, CONTENT_TYPE)
    const { head, errorCode, digest } = await readFile(
      turn,
      await storage.read(file.objectKey),
      row.delimiter,
    )
    await turn.finish(async (tx) => {
      if (head === null) await end(tx, file, errorCode)
      else await store.saveHead(tx, refOf(file), head, digest)
    })
  }

/** Hashes all bytes and keeps the first. `head`: null if the file is no CSV file with a header. */
async function readFile(
  { signal }: LongTurn,
  bytes: Chunks,
  delimiter: string | null,
): Promise<{ readonly head: Head | null; readonly errorCode: string; readonly digest: Uint8Array }> {
  const hash = new Bun.CryptoHasher('sha256')
  const parts: Uint8Array[] = []
  let size = 0
  for await (const chunk of bytes) {
    signal.throwIfAborted()
    hash.update(chunk)
    if (size < HEAD_BYTES) parts.push(chunk.slice(0, HEAD_BYTES - size))
    size += chunk.byteLength
  }
  const start = Buffer.concat(parts)
  const head = await readHead(start, size <= HEAD_BYTES, delimiter).catch((error: unknown) => {
    if (error instanceof AppError) return null
    throw error
  })
  const errorCode = encodingOf(start) === 'utf-8' ? 'not_a_csv_file' : 'utf_16_file'
  return { head, errorCode, digest: hash.digest() }
}

const runImport =
  (deps: ImportActorDeps): LongHandler =>
  async (turn) => {
    const begun = await begin(turn)
    if (begun === null || begun.row.mapping === null) return turn.finish(async () => {})
    const { file, row } = begun
    const keep = keeper(row)
    try {
      const { rows } = await readCsv(await deps.storage.read(file.objectKey), row.delimiter)
      await importRecords({
        rows: skip(rows, row.rowsDone),
        judge: createJudge(parseMappingFile(row.mapping)),
        write: (batch) => writeBatch(deps, turn, row, batch, keep(batch.refused)),
      })
    } catch (error) {
      if (error instanceof Cancelled) return turn.finish(async () => {})
      // Without the file, another attempt fails as well.
      if (error instanceof ObjectMissing) return turn.finish((tx) => end(tx, file, 'processing_failed'))
      throw error
    }
    await turn.finish((tx) => end(tx, file, null))
  }

/** The import was cancelled meanwhile. */
class Cancelled extends Error {}

async function* skip(rows: AsyncIterable<ReadRow>, count: number): AsyncGenerator<ReadRow> {
  let left = count
  for await (const row of rows) {
    if (left > 0) left--
    else yield row
  }
}

interface Kept {
  readonly first: number
  readonly kept: readonly Refusal[]
  readonly keptBytes: number
}

/** Chooses the refused rows to keep: the first ones. */
function keeper({ refusedKept, refusedKeptBytes }: store.ImportRow) {
  let [count, units] = [refusedKept, refusedKeptBytes]
  return (refused: readonly RefusedRow[]): Kept => {
    const [first, before] = [count, units]
    const kept: Refusal[] = []
    for (const row of refused) {
      if (count >= KEPT_REFUSALS || units >= KEPT_UNITS) break
      const refusal = refusalOf(row)
      count++
      units += refusal.reason.length + unitsOf(refusal.cells)
      kept.push(refusal)
    }
    return { first, kept, keptBytes: units - before }
  }
}

const unitsOf = (cells: readonly string[] | null) => cells?.reduce((sum, cell) => sum + cell.length, 0) ?? 0

function refusalOf({ line, reason, values }: RefusedRow): Refusal {
  const cells = values?.map((value) => String(value).replaceAll('\0', '�')) ?? null
  const isKept = unitsOf(cells) <= KEPT_ROW_UNITS
  return {
    line,
    reason: isStorableText(reason) ? reason : 'must not contain U+0000',
    cells: isKept ? cells : null,
  }
}

const emailsOf = (records: Batch['records']) => [...new Set(records.flatMap(({ email }) => email ?? []))]

function writeBatch(
  { people }: ImportActorDeps,
  turn: LongTurn,
  row: store.ImportRow,
  { records, refused, bytes }: Batch,
  { first, kept: keptRefusals, keptBytes }: Kept,
): Promise<number> {
  turn.signal.throwIfAborted()
  return turn.step(async (tx, send) => {
    const { organizationId } = row
    // The file was received before these people were erased, and their rows are erased with them.
    const erased = await erasedAmong(tx, organizationId, emailsOf(records), row.createdAt)
    const kept = records.filter(({ email }) => email === null || !erased.has(email.toLowerCase()))
    const ids = await insertBatch(tx, people, row, kept)
    await send(toUnderstand(organizationId, ids))
    const recorded = await store.recordBatch(tx, row, first, {
      bytes,
      rows: records.length + refused.length,
      imported: ids.length,
      duplicates: kept.length - ids.length,
      refused: refused.length + records.length - kept.length,
      kept: keptRefusals,
      keptBytes,
    })
    // The transaction is rolled back, so nothing of this batch is stored.
    if (!recorded) throw new Cancelled()
    return ids.length
  })
}
