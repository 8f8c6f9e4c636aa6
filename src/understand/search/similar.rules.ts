/**
 * Finds words that were probably meant: those of the organization that differ by a letter or two. Pure; bounded.
 *
 * A mask of the letters in a word rules out nearly all words before the distance is computed.
 */

/** Words of the organization that are compared. */
export const MAX_VOCABULARY = 20_000
/** Comparisons of masks and of letters in one search, about 3 ms. A query of four ordinary words takes less than a tenth. */
export const MAX_COMPARISONS = 400_000
const MAX_ALTERNATIVES = 3
const MIN_LENGTH = 4
const MAX_LENGTH = 40
/** A word of this length may differ by two letters. */
const LONG = 8

/** What a search may still spend. */
interface Budget {
  comparisons: number
}

interface Wanted {
  readonly word: string
  readonly mask: number
  /** The greatest distance of a similar word. */
  readonly most: number
  /** The first similar words at each distance. */
  readonly found: readonly string[][]
}

/**
 * The nearest words of the vocabulary, which is ordered by frequency. A word that it contains is right. Once the budget is spent, rarer
 * words are not compared.
 */
export function similarWords(
  words: readonly string[],
  vocabulary: readonly string[],
  budget: Budget = { comparisons: MAX_COMPARISONS },
): ReadonlyMap<string, readonly string[]> {
  const wanted = words.filter(mayBeMistyped).map(wantedOf)
  if (wanted.length > 0) compareAll(wanted, vocabulary, budget)
  return new Map(wanted.map(({ word, found }) => [word, found.flat().slice(0, MAX_ALTERNATIVES)]))
}

/** False for words that are too short or too long to be compared. */
export const mayBeMistyped = ({ length }: string): boolean => length >= MIN_LENGTH && length <= MAX_LENGTH

function wantedOf(word: string): Wanted {
  const most = word.length >= LONG ? 2 : 1
  return { word, mask: maskOf(word), most, found: Array.from({ length: most + 1 }, () => []) }
}

function compareAll(wanted: readonly Wanted[], vocabulary: readonly string[], budget: Budget): void {
  for (const other of vocabulary) {
    if (budget.comparisons <= 0) return
    const mask = maskOf(other)
    for (const { word, mask: own, most, found } of wanted) {
      if (Math.abs(other.length - word.length) > most) continue
      budget.comparisons--
      if (bits(own ^ mask) > 2 * most) continue
      const same = found[distanceWithin(most, word, other, budget)]
      if (same !== undefined && same.length < MAX_ALTERNATIVES) same.push(other)
    }
  }
}

/** One bit for each letter in the word, modulo 32. A longer word than any that is compared has those of its beginning. */
function maskOf(word: string): number {
  const length = Math.min(word.length, MAX_LENGTH + 2)
  let mask = 0
  for (let index = 0; index < length; index++) mask |= 1 << (word.charCodeAt(index) & 31)
  return mask
}

function bits(mask: number): number {
  let rest = mask - ((mask >>> 1) & 0x55_55_55_55)
  rest = (rest & 0x33_33_33_33) + ((rest >>> 2) & 0x33_33_33_33)
  return (((rest + (rest >>> 4)) & 0x0f_0f_0f_0f) * 0x01_01_01_01) >>> 24
}

/**
 * Optimal string alignment: insertions, deletions, substitutions, and exchanges of two neighbours count one each.
 *
 * Only the `2 * most + 1` diagonals of the table are filled that a distance up to `most` can use, up to the first row without one.
 * @returns `most + 1` for any greater distance
 */
export function distanceWithin(most: number, a: string, b: string, budget: Budget): number {
  const diagonals = 2 * most + 1
  const beyond = most + 1
  let before: number[] = []
  let last = Array.from({ length: diagonals }, (_, k) => (k < most ? beyond : k - most))
  for (let i = 1; i <= a.length; i++) {
    budget.comparisons -= diagonals
    const row: number[] = []
    let least = beyond
    for (let k = 0; k < diagonals; k++) {
      const j = i + k - most
      let value = j === 0 ? i : beyond
      if (j > 0 && j <= b.length) {
        const cost = a[i - 1] === b[j - 1] ? 0 : 1
        value = Math.min((last[k] ?? 0) + cost, (last[k + 1] ?? beyond) + 1, (row[k - 1] ?? beyond) + 1)
        if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
          value = Math.min(value, (before[k] ?? 0) + 1)
      }
      row.push(value)
      least = Math.min(least, value)
    }
    if (least > most) return beyond
    before = last
    last = row
  }
  return Math.min(last[b.length - a.length + most] ?? beyond, beyond)
}
