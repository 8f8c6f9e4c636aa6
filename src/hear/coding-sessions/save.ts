/** Stores what was read from a file: the session, and its events batch by batch. */
import type { Tx } from '../../platform/db/pool.ts'
import type { CodingEvent } from './event.rules.ts'
import { type Receipt, type SessionRef, storeEvents, undoEvents } from './events.store.ts'
import type { Merged } from './merge.rules.ts'
import { growSession } from './store.ts'

/** Events of one statement, and the code units of their content. */
const BATCH_EVENTS = 500
const BATCH_UNITS = 2 * 1024 * 1024

/** Consecutive items for one transaction each. Orders to undo stand alone, between events. */
export function* batchesOf(merged: readonly Merged[]): Generator<readonly Merged[]> {
  let batch: Merged[] = []
  let units = 0
  for (const item of merged) {
    const size = item.type === 'event' ? sizeOf(item.event) : 0
    if (batch.length > 0 && (batch.length >= BATCH_EVENTS || units + size > BATCH_UNITS)) {
      yield batch
      batch = []
      units = 0
    }
    batch.push(item)
    units += size
  }
  if (batch.length > 0) yield batch
}

function sizeOf({ body }: CodingEvent): number {
  const { text = '', reasoning = '', toolCalls = [] } = body
  return 200 + text.length + reasoning.length + toolCalls.length * 1_000
}

/**
 * Stores a batch. The caller has locked the session.
 * @returns the number of events, and of those that neither this nor another session had
 */
export async function saveBatch(
  tx: Tx,
  ref: SessionRef,
  receipt: Receipt,
  batch: readonly Merged[],
): Promise<{ readonly events: number; readonly fresh: number }> {
  let events = 0
  let fresh = 0
  for (let start = 0; start < batch.length; ) {
    const first = batch[start] as Merged
    if (first.type === 'undo') {
      await undoEvents(tx, ref, first.fromId, first.before)
      start++
      continue
    }
    const end = endOfEvents(batch, start)
    const some = newestOf(batch.slice(start, end))
    const growth = await storeEvents(tx, ref, receipt, some)
    await growSession(tx, ref, growth)
    events += end - start
    fresh += growth.fresh
    start = end
  }
  return { events, fresh }
}

function endOfEvents(batch: readonly Merged[], start: number): number {
  const end = batch.findIndex((item, index) => index >= start && item.type === 'undo')
  return end === -1 ? batch.length : end
}

/** Each event once, in its highest revision. */
function newestOf(items: readonly Merged[]): readonly CodingEvent[] {
  const newest = new Map<string, CodingEvent>()
  for (const item of items) {
    if (item.type !== 'event') continue
    const known = newest.get(item.event.id)
    if (known === undefined || known.revision < item.event.revision) newest.set(item.event.id, item.event)
  }
  return [...newest.values()]
}
