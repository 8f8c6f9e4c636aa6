/** The language of a customer's words. */
import { languageByWords } from './language.rules.ts'

/** Shorter texts are told only where both ways agree. */
const MIN_CODE_UNITS = 21
/** Enough for any text, and bounded. */
const MAX_CODE_UNITS = 1_000

/** @returns an ISO 639-1 code, null if it cannot be told */
export type DetectLanguage = (text: string) => string | null

/** Loads the detector with its n-grams (eld, Apache-2.0). */
export async function loadLanguage(): Promise<DetectLanguage> {
  const { eld } = await import('eld/small')
  return (text) => {
    const read = text.replace(/\s+/g, ' ').trim().slice(0, MAX_CODE_UNITS)
    if (!/\p{L}{2}/u.test(read)) return null
    const byWords = languageByWords(read)
    if (byWords === 'ja') return 'ja'
    const detected = eld.detect(read)
    if (read.length < MIN_CODE_UNITS) return detected.language === byWords ? byWords : null
    return detected.language === '' || !detected.isReliable() ? byWords : detected.language
  }
}
