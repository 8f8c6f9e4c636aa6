/** Suggests the word that a mistyped word was meant to be. */
import { closest, distance } from 'fastest-levenshtein'

/** Largest number of wrong letters. At most a third of the word may be wrong. */
const MAX_WRONG = 3

/** Such as `; did you mean "org list"?`, or empty if no known word is similar. */
export function didYouMean(word: string, known: readonly string[]): string {
  if (known.length === 0) return ''
  const best = closest(word, known)
  const allowed = Math.min(MAX_WRONG, Math.ceil(word.length / 3))
  return distance(word, best) <= allowed ? `; did you mean ${JSON.stringify(best)}?` : ''
}
