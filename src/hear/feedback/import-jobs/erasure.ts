/** Erases a person from the first rows and the refused rows of imports: rows with an address or a name of the person are deleted. */
import type { ErasureReach } from '../../../people/erasure.ts'
import { eraseRows, isImportRunning } from './erasure.store.ts'

export const feedbackImportErasure: ErasureReach = {
  name: 'feedback_imports',
  async step(tx, { organizationId, email, formerEmails = [], names, requestedAt }) {
    const texts = [...(email === null ? [] : [email]), ...formerEmails, ...names]
    const patterns = texts.map((text) => text.trim()).filter((text) => text.length > 1)
    if (patterns.length === 0) return { next: null, counts: {} }
    const erased = await eraseRows(tx, organizationId, patterns.map(patternOf), requestedAt)
    return { next: null, counts: {}, changed: erased > 0 }
  },
  /** An import that runs leaves out the person's rows while the erasure runs, and keeps refused rows that this reach deletes. */
  isAwaited: (tx, { organizationId, requestedAt }) => isImportRunning(tx, organizationId, requestedAt),
}

/** A regular expression of PostgreSQL for the whole text. */
const patternOf = (text: string) =>
  `(?:^|\\W)${text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&').replaceAll(/\s+/g, '\\s+')}(?:\\W|$)`
