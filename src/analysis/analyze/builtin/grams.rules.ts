/** Hashed n-grams: words, pairs of words, and runs of characters within words. Pure; bounded. */

/** Hash values are below this. */
export const GRAMS = 1 << 17

const SHORTEST = 3
const LONGEST = 5
const SORT = { word: 1, pair: 2, characters: 3, other: 4 } as const

export interface GramOptions {
  /** Stands before each n-gram, so that the same words count otherwise in another place. */
  readonly place: string
  readonly maxWords: number
  /** Runs of 3 to 5 characters, too. */
  readonly characters: boolean
}

/** Adds the hash values of a text in lower case. Numbers count as 0. */
export function addGrams(
  grams: Set<number>,
  text: string,
  { place, maxWords, characters }: GramOptions,
): void {
  const words = text.match(/[\p{L}\p{N}']{1,24}|[?!]|\p{Extended_Pictographic}/gu) ?? []
  let before = '^'
  for (const found of words.slice(0, maxWords)) {
    const word = /^\p{N}+$/u.test(found) ? '0' : found
    grams.add(hashOf(place + word, SORT.word))
    grams.add(hashOf(`${place}${before} ${word}`, SORT.pair))
    if (characters) addCharacters(grams, `<${word}>`, place)
    before = word
  }
  grams.add(hashOf(`${place}${before} $`, SORT.pair))
}

function addCharacters(grams: Set<number>, framed: string, place: string): void {
  for (let length = SHORTEST; length <= LONGEST; length++) {
    for (let at = 0; at + length <= framed.length; at++) {
      grams.add(hashOf(place + framed.slice(at, at + length), SORT.characters))
    }
  }
}

/** A mark of the caller's own, such as a word that comes back. */
export const addMark = (grams: Set<number>, mark: string): void => void grams.add(hashOf(mark, SORT.other))

/** FNV-1a with a final mix, for each sort another one. */
function hashOf(text: string, sort: number): number {
  let hash = 2166136261 ^ sort
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 16777619)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (hash ^ (hash >>> 12)) & (GRAMS - 1)
}
