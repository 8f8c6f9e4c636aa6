/**
 * Erases a person from the events of webhooks: names and addresses wherever they stand, and what was said in feedback records
 * that are gone. Receivers keep what they received.
 */
import type { ErasureReach } from '../../people/erasure.ts'
import { lastEvent, readEventData, writeEventData } from './erasure.store.ts'

/** Events of one step. Each may have 256 KiB. */
const EVENTS = 50

interface State {
  readonly after: number
  /**
   * The last number when this part of the erasure began. An analysis that read the old text may have written an event after the request,
   * but not after the conversations were erased.
   */
  readonly last: number
}

export const webhookErasure: ErasureReach = {
  name: 'webhookEvents',
  async step(tx, person, from) {
    const { organizationId, eraser } = person
    const start = typeof from === 'number' ? { after: from } : ((from as State | null) ?? { after: 0 })
    const last = 'last' in start ? start.last : await lastEvent(tx, organizationId)
    const rows = await readEventData(tx, person, last, start.after, EVENTS)
    const erased = rows.flatMap(({ id, data, isOrphaned, isOld }) => {
      const next = isOrphaned ? eraser.value(withoutWords(data)) : isOld ? eraser.value(data) : data
      return Bun.deepEquals(next, data) ? [] : [{ id, data: next }]
    })
    await writeEventData(tx, organizationId, erased)
    const after = rows.at(-1)?.seq ?? last
    const next = rows.length === EVENTS ? { after, last } : null
    return { next, counts: {}, changed: erased.length > 0 }
  },
}

const WORDS: ReadonlySet<string> = new Set(['fields', 'comment', 'evidence'])

function withoutWords(data: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const present = Object.keys(data).filter((name) => WORDS.has(name))
  if (present.length === 0) return data
  const kept = Object.entries(data).filter(([name]) => !WORDS.has(name))
  return { ...Object.fromEntries(kept), omitted: present }
}
