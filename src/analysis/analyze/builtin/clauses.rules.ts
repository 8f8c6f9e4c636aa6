/** Cuts a message into clauses: at the ends of sentences, and where a contrast begins. Pure; linear in the message. */
import { mask } from './mask.rules.ts'

/** UTF-16 code units. A longer clause is cut into pieces of this size. */
const MAX_CLAUSE = 300
/** Of one message. */
const MAX_CLAUSES = 200

export interface Clause {
  /** Masked, lower case, one space between words. */
  readonly text: string
  /** Where it stands in the message, in UTF-16 code units. */
  readonly from: number
  readonly to: number
  /** True if it follows a “but” in its sentence. It then outweighs what stood before. */
  readonly contrast: boolean
  /** True if its sentence ends with a question mark. */
  readonly question: boolean
}

/** The end of a sentence. A full stop inside of `a.b` is none. */
const END = /[.!?;。！？…\n]{1,40}["')\]]{0,4}(?=\s|$)|[。！？\n]{1,40}/gu

/** Words that begin a contrast, with the comma or space before them. */
const CONTRAST =
  /(?:,|\s)\s?(?:but|however|yet|although|though|except|it's just that|aber|jedoch|allerdings|trotzdem|mais|cependant|pourtant|pero|sin embargo|aunque|mas|porém|contudo|maar|echter)(?=[\s,])|(?:でも|しかし|けど|ですが)/giu

const CONTRAST_START =
  /^\s{0,20}(?:but|however|yet|although|though|except|aber|jedoch|allerdings|trotzdem|mais|cependant|pourtant|pero|sin embargo|aunque|mas|porém|contudo|maar|echter|でも|しかし)(?=[\s,、])/iu

/** Says something: a letter, a digit, an emoji, or the slash of `/s`. */
const CONTENT = /[\p{L}\p{N}\p{Extended_Pictographic}/]/u

/** The clauses of a message, in order. */
export function clausesOf(message: string): readonly Clause[] {
  const text = mask(message)
  const clauses: Clause[] = []
  for (const sentence of sentencesOf(text)) {
    for (const part of partsOf(text, sentence)) {
      if (clauses.length >= MAX_CLAUSES) return clauses
      const clause = clauseOf(text, part)
      if (clause !== null) clauses.push(clause)
    }
  }
  return clauses
}

interface Part {
  readonly from: number
  readonly to: number
  readonly contrast: boolean
  readonly question: boolean
}

function* sentencesOf(text: string): Generator<Part> {
  let from = 0
  for (const end of text.matchAll(END)) {
    const to = end.index + end[0].length
    yield { from, to, contrast: false, question: /[?？]/.test(end[0]) }
    from = to
  }
  yield { from, to: text.length, contrast: false, question: false }
}

/** The parts of a sentence between its contrasts, in pieces of at most `MAX_CLAUSE`. */
function* partsOf(text: string, { from, to, question }: Part): Generator<Part> {
  const sentence = text.slice(from, to)
  let start = from
  let contrast = CONTRAST_START.test(sentence)
  for (const { index } of sentence.matchAll(CONTRAST)) {
    if (from + index - start >= 3) yield* piecesOf({ from: start, to: from + index, contrast, question })
    start = from + index
    contrast = true
  }
  yield* piecesOf({ from: start, to, contrast, question })
}

function* piecesOf(part: Part): Generator<Part> {
  for (let from = part.from; from < part.to; from += MAX_CLAUSE) {
    yield { ...part, from, to: Math.min(part.to, from + MAX_CLAUSE) }
  }
}

/** Null if the part says nothing. */
function clauseOf(message: string, { from, to, contrast, question }: Part): Clause | null {
  const part = message.slice(from, to)
  if (!CONTENT.test(part)) return null
  const text = part.replace(/^[\s,]+/, '').trimEnd()
  const start = part.indexOf(text)
  return {
    text: text.replace(/\s+/g, ' ').toLowerCase(),
    from: from + start,
    to: from + start + text.length,
    contrast,
    question,
  }
}
