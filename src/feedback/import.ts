/**
 * Imports the rows of a file as records of one source.
 *
 * Each batch is one transaction. An interrupted import can be started again: rows with a known external id are skipped. The
 * next batch is read while one is written; no more than two are in memory.
 */
import { transactionWithOutbox } from '../actors/mailbox.ts'
import type { Notifier } from '../actors/types.ts'
import type { People } from '../people/service.ts'
import type { Sql } from '../platform/db/pool.ts'
import type { ReadRow } from './import.reader.ts'
import * as store from './import.store.ts'
import type { ImportRecord, Row } from './row.rules.ts'
import { toUnderstand } from './rules.ts'

const BATCH_ROWS = 1000
/** Bytes of the file that make one batch. */
const BATCH_BYTES = 1024 * 1024

export interface Counts {
  readonly rows: number
  readonly imported: number
  /** Rows whose external id is already in the source, from this file or before. */
  readonly duplicates: number
  readonly refused: number
}

export interface ImportOptions {
  readonly organizationId: string
  readonly sourceId: number
  readonly rows: AsyncIterable<ReadRow>
  readonly judge: (row: Row) => ImportRecord | string
  /** Checks every row and writes nothing. */
  readonly dryRun: boolean
  readonly onRefused: (line: number, reason: string) => void
  /** Called after each batch. `bytes` is the part of the file that is done. */
  readonly onProgress: (counts: Counts, bytes: number) => unknown
}

export interface ImportDeps {
  readonly sql: Sql
  readonly notifier: Notifier
  readonly people: People
}

/** Stores valid rows. Reports and counts refused rows. */
export async function importRecords(deps: ImportDeps, options: ImportOptions): Promise<Counts> {
  const counts = { rows: 0, imported: 0, duplicates: 0, refused: 0 }
  let writing: Promise<void> = Promise.resolve()
  const write = async (batch: readonly ImportRecord[], bytes: number) => {
    const imported = options.dryRun ? batch.length : await writeBatch(deps, options, batch)
    counts.imported += imported
    counts.duplicates += batch.length - imported
    await options.onProgress({ ...counts }, bytes)
  }
  for await (const { records, refused, bytes } of batchesOf(options)) {
    await writing
    counts.rows += records.length + refused
    counts.refused += refused
    writing = write(records, bytes)
    // The loop awaits `writing` after the next batch is read. Until then a failure must not count as unhandled.
    writing.catch(() => {})
  }
  await writing
  return counts
}

interface Batch {
  readonly records: readonly ImportRecord[]
  readonly refused: number
  readonly bytes: number
}

async function* batchesOf({ rows, judge, onRefused }: ImportOptions): AsyncGenerator<Batch> {
  let records: ImportRecord[] = []
  let [refused, bytes, begun] = [0, 0, 0]
  for await (const row of rows) {
    const judged = 'refused' in row.content ? row.content.refused : judge(row.content)
    if (typeof judged === 'string') {
      refused++
      onRefused(row.line, judged)
    } else records.push(judged)
    bytes = row.bytes
    if (records.length + refused < BATCH_ROWS && bytes - begun < BATCH_BYTES) continue
    yield { records, refused, bytes }
    records = []
    refused = 0
    begun = bytes
  }
  if (records.length + refused > 0) yield { records, refused, bytes }
}

/** @returns the number of new records */
async function writeBatch(
  deps: ImportDeps,
  { organizationId, sourceId }: ImportOptions,
  batch: readonly ImportRecord[],
): Promise<number> {
  if (batch.length === 0) return 0
  const emails = [...new Set(batch.flatMap(({ email }) => email ?? []))]
  return transactionWithOutbox(deps, async (tx, outbox) => {
    const ids = await deps.people.idsByEmail(tx, organizationId, emails)
    const rows = batch.map(({ email, externalId, displayTs, fields }) => ({
      personId: email === null ? null : (ids.get(email) ?? null),
      externalId,
      displayTs,
      fields,
    }))
    const recordIds = await store.insertRecords(tx, organizationId, sourceId, rows)
    await outbox.send(toUnderstand(organizationId, recordIds))
    return recordIds.length
  })
}
