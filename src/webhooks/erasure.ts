/**
 * Erases a person from the events of webhooks: names and addresses wherever they stand, and the fields of feedback records that are
 * gone. Receivers keep what they received.
 */
import type { ErasureReach } from '../people/erasure.ts'
import { readEventData, writeEventData } from './erasure.store.ts'

/** Events of one step. Each may have 256 KiB. */
const EVENTS = 50

export const webhookErasure: ErasureReach = {
  name: 'webhookEvents',
  async step(tx, { organizationId, requestedAt, eraser }, from) {
    const after = typeof from === 'number' ? from : 0
    const rows = await readEventData(tx, organizationId, requestedAt, after, EVENTS)
    const erased = rows.flatMap(({ id, data, isOrphaned }) => {
      const { fields, ...rest } = data
      const kept = isOrphaned && fields !== undefined ? { ...rest, omitted: ['fields'] } : data
      const next = eraser.value(kept)
      return Bun.deepEquals(next, data) ? [] : [{ id, data: next }]
    })
    await writeEventData(tx, organizationId, erased)
    const last = rows.at(-1)?.seq ?? null
    return { next: rows.length === EVENTS ? last : null, counts: {} }
  },
}
