/**
 * Erases a person from spans that wait for the rest of their trace: traces that name the person are forgotten as a whole. Their messages are
 * in sessions already, or are lost with them.
 */
import type { ErasureReach } from '../../people/erasure.ts'
import { deleteTracesWith } from './store.ts'

export const traceErasure: ErasureReach = {
  name: 'traces',
  async step(tx, { organizationId, email, formerEmails = [], names, requestedAt }) {
    const texts = [...(email === null ? [] : [email]), ...formerEmails, ...names]
    const patterns = texts.map((text) => text.trim()).filter((text) => text.length > 1)
    if (patterns.length === 0) return { next: null, counts: {} }
    const deleted = await deleteTracesWith(tx, organizationId, patterns.map(patternOf), requestedAt)
    return { next: null, counts: {}, changed: deleted > 0 }
  },
}

/** A regular expression of PostgreSQL for the whole text. Line breaks and the like are escaped in JSON text. */
const patternOf = (text: string) =>
  `(?:^|\\W|\\\\[nrt])${text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&').replaceAll(/\s+/g, '\\s+')}(?:\\W|$)`
