/**
 * Finds words that were probably meant: those of the organization that differ by a letter or two. Pure.
 *
 * A mask of the letters in a word rules out nearly all words before the distance is computed.
 */

/** Words of the organization that are compared. */
export const MAX_VOCABULARY = 20_000
const MAX_ALTERNATIVES = 3
const MIN_LENGTH = 4
const MAX_LENGTH = 40
/** A word of this length may differ by two letters. */
const LONG = 8

/** The nearest words of the vocabulary, which is ordered by frequency. A word that it contains is right. */
export function similarWords(
  words: readonly string[],
  vocabulary: readonly string[],
): ReadonlyMap<string, readonly string[]> {
  const wanted = words.filter(mayBeMistyped)
  if (wanted.length === 0) return new Map()
  const masks = vocabulary.map(maskOf)
  return new Map(wanted.map((word) => [word, nearest(word, vocabulary, masks)]))
}

/** False for words that are too short or too long to be compared. */
export const mayBeMistyped = ({ length }: string): boolean => length >= MIN_LENGTH && length <= MAX_LENGTH

function nearest(word: string, vocabulary: readonly string[], masks: readonly number[]): readonly string[] {
  const most = word.length >= LONG ? 2 : 1
  const mask = maskOf(word)
  const found: { readonly other: string; readonly distance: number }[] = []
  for (const [index, other] of vocabulary.entries()) {
    if (Math.abs(other.length - word.length) > most || bits(mask ^ (masks[index] ?? 0)) > 2 * most) continue
    const distance = distanceOf(word, other)
    if (distance <= most) found.push({ other, distance })
  }
  return found
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, MAX_ALTERNATIVES)
    .map(({ other }) => other)
}

/** One bit for each letter in the word, modulo 32. */
function maskOf(word: string): number {
  let mask = 0
  for (let index = 0; index < word.length; index++) mask |= 1 << (word.charCodeAt(index) & 31)
  return mask
}

function bits(mask: number): number {
  let rest = mask - ((mask >>> 1) & 0x55_55_55_55)
  rest = (rest & 0x33_33_33_33) + ((rest >>> 2) & 0x33_33_33_33)
  return (((rest + (rest >>> 4)) & 0x0f_0f_0f_0f) * 0x01_01_01_01) >>> 24
}

/** Optimal string alignment: insertions, deletions, substitutions, and exchanges of two neighbours count one each. */
export function distanceOf(a: string, b: string): number {
  let [before, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      let least = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + cost)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (before[j - 2] ?? 0) + 1)
      row.push(least)
    }
    ;[before, last] = [last, row]
  }
  return last[b.length] ?? 0
}
