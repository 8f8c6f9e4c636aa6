/**
 * Splits text into the pieces of words that have a vector: the unigram model of SentencePiece (Kudo 2018), which chooses the likeliest split. Pure;
 * linear in the text, because no piece is longer than 16 characters.
 */
import { streamSafe } from '../../../../platform/text/normal-form.rules.ts'

/** Each piece and the logarithm of its likelihood. Its place is its id. */
export type Vocabulary = readonly (readonly [piece: string, score: number])[]

/** Stands for a space, and for the start of a text. */
const SPACE = '\u2581'
/** Of a beginning of pieces that is no piece itself, and of characters that no piece covers. */
const NONE = -1

/** @returns the ids of the pieces, without the characters that no piece covers */
export type Tokenize = (text: string) => readonly number[]

export function createTokenizer(vocabulary: Vocabulary): Tokenize {
  const beginnings = beginningsOf(vocabulary)
  const scores = Float64Array.from(vocabulary, ([, score]) => score)
  return (text) =>
    bestSplit(SPACE + streamSafe(text).normalize('NFKC').replaceAll(' ', SPACE), beginnings, scores)
}

/**
 * The id of each piece, and of each beginning of one that is none itself `NONE`: a hash table with open addressing. Its key is a hash of 64 bits in
 * two halves, so it holds numbers only. A map of strings takes six times the memory. Another text with the same hash would get the vector of a piece.
 */
interface Beginnings {
  readonly high: Int32Array
  readonly low: Int32Array
  readonly ids: Int32Array
}

/** Of a place without a beginning. */
const EMPTY = -2
/** What a beginning without characters has. Each character is added with a factor of its own. */
const [HIGH_START, HIGH_FACTOR] = [0x811c9dc5 | 0, 0x01000193]
const [LOW_START, LOW_FACTOR] = [0x2c1b3c6d, 0x5bd1e995]

const withCode = (hash: number, code: number, factor: number) => {
  const mixed = Math.imul(hash ^ code, factor)
  return mixed ^ (mixed >>> 15)
}

function beginningsOf(vocabulary: Vocabulary): Beginnings {
  const most = vocabulary.reduce((sum, [piece]) => sum + piece.length, 0)
  const places = 2 ** Math.ceil(Math.log2(most + 1))
  const all = {
    high: new Int32Array(places),
    low: new Int32Array(places),
    ids: new Int32Array(places).fill(EMPTY),
  }
  for (const [id, [piece]] of vocabulary.entries()) {
    let [high, low] = [HIGH_START, LOW_START]
    for (let at = 0; at < piece.length; at++) {
      const code = piece.charCodeAt(at)
      high = withCode(high, code, HIGH_FACTOR)
      low = withCode(low, code, LOW_FACTOR)
      const place = placeOf(all, high, low)
      const isWhole = at === piece.length - 1
      if (all.ids[place] !== EMPTY && !isWhole) continue
      all.high[place] = high
      all.low[place] = low
      all.ids[place] = isWhole ? id : NONE
    }
  }
  return all
}

/** Where a beginning is, or else the empty place where it would be. */
function placeOf({ high, low, ids }: Beginnings, highHash: number, lowHash: number): number {
  const mask = ids.length - 1
  let place = highHash & mask
  while (ids[place] !== EMPTY && (high[place] !== highHash || low[place] !== lowHash))
    place = (place + 1) & mask
  return place
}

/** The likeliest split that ends behind each character (Viterbi). A character that begins no piece costs nothing and is left out. */
function bestSplit(text: string, beginnings: Beginnings, scores: Float64Array): readonly number[] {
  const best = new Float64Array(text.length + 1).fill(Number.NEGATIVE_INFINITY)
  const ids = new Int32Array(text.length + 1)
  const starts = new Int32Array(text.length + 1)
  best[0] = 0
  const offer = (start: number, end: number, id: number) => {
    const score = (best[start] as number) + (scores[id] ?? 0)
    if (score < (best[end] as number)) return
    best[end] = score
    ids[end] = id
    starts[end] = start
  }
  for (let start = 0; start < text.length; start++) {
    let isKnown = false
    let [high, low] = [HIGH_START, LOW_START]
    for (let end = start + 1; end <= text.length; end++) {
      const code = text.charCodeAt(end - 1)
      high = withCode(high, code, HIGH_FACTOR)
      low = withCode(low, code, LOW_FACTOR)
      const id = beginnings.ids[placeOf(beginnings, high, low)] as number
      if (id === EMPTY) break
      if (id === NONE) continue
      offer(start, end, id)
      isKnown = true
    }
    if (!isKnown) offer(start, start + 1, NONE)
  }
  const split: number[] = []
  for (let end = text.length; end > 0; end = starts[end] as number) {
    if (ids[end] !== NONE) split.push(ids[end] as number)
  }
  return split.reverse()
}
