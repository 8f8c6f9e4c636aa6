/**
 * Splits text into the pieces of words that have a vector: the unigram model of SentencePiece (Kudo 2018), which chooses the likeliest split. Pure;
 * linear in the text, because no piece is longer than 16 characters.
 */

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
  return (text) => bestSplit(SPACE + text.normalize('NFKC').replaceAll(' ', SPACE), beginnings, scores)
}

/** The id of each piece, and of each beginning of one that is none itself `NONE`. A map takes a fifth of the memory of a tree. */
function beginningsOf(vocabulary: Vocabulary): ReadonlyMap<string, number> {
  const beginnings = new Map<string, number>()
  for (const [id, [piece]] of vocabulary.entries()) {
    for (let length = 1; length < piece.length; length++) {
      const beginning = piece.slice(0, length)
      if (!beginnings.has(beginning)) beginnings.set(beginning, NONE)
    }
    beginnings.set(piece, id)
  }
  return beginnings
}

/** The likeliest split that ends behind each character (Viterbi). A character that begins no piece costs nothing and is left out. */
function bestSplit(
  text: string,
  beginnings: ReadonlyMap<string, number>,
  scores: Float64Array,
): readonly number[] {
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
    for (let end = start + 1; end <= text.length; end++) {
      const id = beginnings.get(text.slice(start, end))
      if (id === undefined) break
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
