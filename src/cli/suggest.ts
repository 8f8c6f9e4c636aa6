/** What a mistyped word was probably meant to be. */
import { closest, distance } from 'fastest-levenshtein'

/** Letters that may be wrong: a third of the word, at most three. */
const MAX_WRONG = 3

/** Such as `; did you mean "org list"?`; empty where nothing is near. */
export function didYouMean(word: string, known: readonly string[]): string {
  if (known.length === 0) return ''
  const best = closest(word, known)
  const allowed = Math.min(MAX_WRONG, Math.ceil(word.length / 3))
  return distance(word, best) <= allowed ? `; did you mean ${JSON.stringify(best)}?` : ''
}
