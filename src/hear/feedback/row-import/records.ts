/**
 * Imports the rows of a file as records of one source.
 *
 * Each batch is one transaction. An interrupted import can be started again: rows with a known external id are skipped. The
 * next batch is read while one is written; no more than two are in memory.
 */
import { transactionWithOutbox } from '../../../actors/mailbox.ts'
import type { Notifier } from '../../../actors/types.ts'
import type { People } from '../../../people/service.ts'
import type { Sql, Tx } from '../../../platform/db/pool.ts'
import { toUnderstand } from '../rules.ts'
import type { ReadRow } from './reader.ts'
import * as store from './records.store.ts'
import type { ImportRecord, Row } from './row.rules.ts'

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

export interface RefusedRow {
  readonly line: number
  readonly reason: string
  /** The cells of the row, as far as they could be read. */
  readonly values: readonly unknown[] | null
}

/** Rows that are stored together. */
export interface Batch {
  readonly records: readonly ImportRecord[]
  readonly refused: readonly RefusedRow[]
  /** The part of the file that is done with this batch. */
  readonly bytes: number
}

export interface ImportOptions {
  readonly rows: AsyncIterable<ReadRow>
  readonly judge: (row: Row) => ImportRecord | string
  /** @returns the number of new records */
  readonly write: (batch: Batch) => Promise<number>
  /** Called after each batch. */
  readonly onProgress?: (counts: Counts, batch: Batch) => unknown
}

/** Judges every row and has valid ones stored. */
export async function importRecords(options: ImportOptions): Promise<Counts> {
  const counts = { rows: 0, imported: 0, duplicates: 0, refused: 0 }
  let writing: Promise<void> = Promise.resolve()
  const write = async (batch: Batch) => {
    const imported = await options.write(batch)
    counts.imported += imported
    counts.duplicates += batch.records.length - imported
    counts.rows += batch.records.length + batch.refused.length
    counts.refused += batch.refused.length
    await options.onProgress?.({ ...counts }, batch)
  }
  for await (const batch of batchesOf(options)) {
    await writing
    writing = write(batch)
    // The loop awaits `writing` after the next batch is read. Until then a failure must not count as unhandled.
    writing.catch(() => {})
  }
  await writing
  return counts
}

async function* batchesOf({ rows, judge }: ImportOptions): AsyncGenerator<Batch> {
  let records: ImportRecord[] = []
  let refused: RefusedRow[] = []
  let [bytes, begun] = [0, 0]
  for await (const row of rows) {
    const judged = judgedRow(row, judge)
    if ('reason' in judged) refused.push(judged)
    else records.push(judged)
    bytes = row.bytes
    if (records.length + refused.length < BATCH_ROWS && bytes - begun < BATCH_BYTES) continue
    yield { records, refused, bytes }
    records = []
    refused = []
    begun = bytes
  }
  if (records.length + refused.length > 0) yield { records, refused, bytes }
}

/** The record of a row, or why there is none. */
export function judgedRow({ line, content }: ReadRow, judge: ImportOptions['judge']) {
  if ('refused' in content) return { line, reason: content.refused, values: content.values ?? null }
  const judged = judge(content)
  return typeof judged === 'string' ? { line, reason: judged, values: content.values } : judged
}

export interface ImportTarget {
  readonly organizationId: string
  readonly sourceId: number
}

export interface ImportDeps {
  readonly sql: Sql
  readonly notifier: Notifier
  readonly people: People
}

/** Stores each batch in a transaction of its own. */
export function batchWriter(deps: ImportDeps, target: ImportTarget): ImportOptions['write'] {
  return async ({ records }) => {
    if (records.length === 0) return 0
    return transactionWithOutbox(deps, async (tx, outbox) => {
      const ids = await insertBatch(tx, deps.people, target, records)
      await outbox.send(toUnderstand(target.organizationId, ids))
      return ids.length
    })
  }
}

/** Inserts records and the people who are new. @returns the ids of the new records, which are not analysed yet */
export async function insertBatch(
  tx: Tx,
  people: Pick<People, 'idsByEmail'>,
  { organizationId, sourceId }: ImportTarget,
  batch: readonly ImportRecord[],
): Promise<readonly number[]> {
  if (batch.length === 0) return []
  const emails = [...new Set(batch.flatMap(({ email }) => email ?? []))]
  const ids = await people.idsByEmail(tx, organizationId, emails)
  const rows = batch.map(({ email, externalId, displayTs, fields }) => ({
    personId: email === null ? null : (ids.get(email) ?? null),
    externalId,
    displayTs,
    fields,
  }))
  return store.insertRecords(tx, organizationId, sourceId, rows)
}
