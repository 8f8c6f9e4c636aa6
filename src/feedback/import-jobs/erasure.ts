/** Erases a person from the first rows and the refused rows of imports: rows with an address or a name of the person are deleted. */
import type { ErasureReach } from '../../people/erasure.ts'
import { eraseRows } from './store.ts'

export const feedbackImportErasure: ErasureReach = {
  name: 'feedback_imports',
  async step(tx, { organizationId, email, formerEmails = [], names }) {
    const texts = [...(email === null ? [] : [email]), ...formerEmails, ...names]
    const patterns = texts.map((text) => text.trim()).filter((text) => text.length > 1)
    if (patterns.length > 0) await eraseRows(tx, organizationId, patterns.map(patternOf))
    return { next: null, counts: {} }
  },
}

/** A regular expression of PostgreSQL for the whole text. */
const patternOf = (text: string) =>
  `(?:^|\\W)${text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&').replaceAll(/\s+/g, '\\s+')}(?:\\W|$)`
