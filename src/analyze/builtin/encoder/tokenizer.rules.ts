/**
 * Splits text into the pieces of words that the sentence encoder knows: the unigram model of SentencePiece, which chooses the likeliest split.
 * Pure. Linear, because no piece is longer than 16 characters.
 */

/** Each piece and the logarithm of its likelihood. Its place is its id. */
export type Vocabulary = readonly (readonly [piece: string, score: number])[]

/** The first ids are not pieces of text. 0 stands for what no piece covers. */
const RESERVED = 6
const UNKNOWN = 0
/** Stands for a space, and for the start of a text. */
const SPACE = '\u2581'

/** A tree of the pieces by their characters. */
interface Node {
  readonly next: Map<string, Node>
  /** Of the piece that ends here. */
  id: number | null
}

/** @returns the ids of the pieces; of unknown characters beside each other one */
export type Tokenize = (text: string) => readonly number[]

export function createTokenizer(vocabulary: Vocabulary): Tokenize {
  const root = treeOf(vocabulary)
  return (text) => {
    const symbols = [...(SPACE + text.normalize('NFKC').replaceAll(' ', SPACE))]
    const split = bestSplit(symbols, root, vocabulary)
    return split.filter((id, at) => id !== UNKNOWN || split[at - 1] !== UNKNOWN)
  }
}

function treeOf(vocabulary: Vocabulary): Node {
  const root: Node = { next: new Map(), id: null }
  for (const [index, [piece]] of vocabulary.slice(RESERVED).entries()) {
    let node = root
    for (const symbol of piece) {
      const next: Node = node.next.get(symbol) ?? { next: new Map(), id: null }
      node.next.set(symbol, next)
      node = next
    }
    node.id = index + RESERVED
  }
  return root
}

/** The likeliest split that ends behind each symbol (Viterbi). A symbol that begins no piece is unknown, which costs nothing. */
function bestSplit(symbols: readonly string[], root: Node, vocabulary: Vocabulary): readonly number[] {
  const ends = symbols.length + 1
  const best = new Float64Array(ends)
  const [ids, starts] = [new Uint16Array(ends), Int32Array.from({ length: ends }, (_, end) => end - 1)]
  const isReached = new Uint8Array(ends)
  const offer = (start: number, end: number, id: number) => {
    const score = (best[start] as number) + (vocabulary[id]?.[1] ?? 0)
    if (isReached[end] === 1 && score < (best[end] as number)) return
    best[end] = score
    ids[end] = id
    starts[end] = start
    isReached[end] = 1
  }
  for (let start = 0; start < symbols.length; start++) {
    let [node, isKnown] = [root.next.get(symbols[start] as string), false]
    for (let end = start + 1; node !== undefined; end++) {
      if (node.id !== null) {
        offer(start, end, node.id)
        isKnown = true
      }
      node = node.next.get(symbols[end] ?? '')
    }
    if (!isKnown) offer(start, start + 1, UNKNOWN)
  }
  const split: number[] = []
  for (let end = symbols.length; end > 0; end = starts[end] as number) split.push(ids[end] as number)
  return split.reverse()
}
