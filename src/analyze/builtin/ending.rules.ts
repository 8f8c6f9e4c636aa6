/**
 * How a conversation ends. What the customer said in the whole of it is not enough: "It runs now" behind a step that should help is an end,
 * and so is "Forget it" behind the third form. So the last words of both sides are read beside the facts. Pure; bounded.
 * `scripts/train.ts` makes the weights out of `data/insight/items` and `data/insight/endings`.
 */
import { OUTCOMES, type Outcome } from '../insight.ts'
import { END_NGRAM_SIZE, type EndWords, endNgramsOf } from './ending-words.rules.ts'
import { DIMENSIONS } from './features.rules.ts'
import { applyNetwork, applyNgrams, EMBEDDING_SCALE, type Layers } from './head.rules.ts'

/** UTF-16 code units of the company's words that are embedded, which costs time. */
const MAX_EMBEDDED = 100
/** From this length on a message is long. */
const LONG = 200

/** From which score on a conversation is called resolved. To call a failed one resolved is the worst mistake. */
export interface Certainty {
  readonly usual: number
  /** If the last message speaks of trouble. */
  readonly inTrouble: number
}

export interface Ending {
  readonly layers: Layers
  readonly ngrams: Float32Array
  readonly certainty: Certainty
}

/** What the weights are applied to. */
export interface EndInput {
  readonly input: Float32Array
  readonly ngrams: Uint32Array
  /** True if the last message speaks of trouble, by the head for short messages. */
  readonly isInTrouble: boolean
}

/** What is known of an end. */
export interface EndFacts {
  /** Of the whole conversation, as for the judge. */
  readonly facts: Float32Array
  readonly words: EndWords
  /** Embeddings of `repliesOf`. */
  readonly replies: readonly Float32Array[]
  /** Embeddings of the pieces of the customer's last message, and of the one before. Their means stand for these, which costs nothing. */
  readonly messages: readonly (readonly Float32Array[])[]
  readonly isInTrouble: boolean
}

/** The company's words before and after the customer's last message, as they are embedded. */
export const repliesOf = ({ before, after }: EndWords): readonly string[] =>
  [before, after].map((text) => text.slice(0, MAX_EMBEDDED))

export function endInputOf({ facts, words, replies, messages, isInTrouble }: EndFacts): EndInput {
  const { last, before, after } = words
  const embeddings = [...messages.map(meanOf), ...replies]
  const numbers = [
    ...facts,
    ...[last, before, after].flatMap((text) => [text === '' ? 0 : 1, text.endsWith('?') ? 1 : 0]),
    Math.min(1, last.length / LONG),
    ...embeddings.flatMap((embedding) => Array.from(embedding, (value) => value * EMBEDDING_SCALE)),
  ]
  return { input: Float32Array.from(numbers), ngrams: endNgramsOf(words), isInTrouble }
}

function meanOf(vectors: readonly Float32Array[]): Float32Array {
  const mean = new Float32Array(DIMENSIONS)
  for (const vector of vectors) {
    for (let at = 0; at < DIMENSIONS; at++)
      mean[at] = (mean[at] as number) + (vector[at] ?? 0) / vectors.length
  }
  return mean
}

/** The share of each outcome, together 1, in the order of `OUTCOMES`. */
export function outcomeScores(
  { layers, ngrams }: Pick<Ending, 'layers' | 'ngrams'>,
  end: EndInput,
): Float32Array {
  const ofNgrams = applyNgrams(ngrams, end.ngrams, END_NGRAM_SIZE)
  const odds = applyNetwork(layers, end.input).map((vote, at) => Math.exp((vote + (ofNgrams[at] ?? 0)) / 2))
  const sum = odds.reduce((total, one) => total + one, 0)
  return odds.map((one) => one / sum)
}

/** The likeliest outcome; the next one instead of a `resolved` that is not certain. */
export function outcomeOf(
  scores: Float32Array,
  isInTrouble: boolean,
  { usual, inTrouble }: Certainty,
): Outcome {
  const certain = isInTrouble ? inTrouble : usual
  const scoreOf = (outcome: Outcome) => scores[OUTCOMES.indexOf(outcome)] ?? 0
  const allowed = OUTCOMES.filter((outcome) => outcome !== 'resolved' || scoreOf(outcome) >= certain)
  return allowed.reduce((best, outcome) => (scoreOf(outcome) > scoreOf(best) ? outcome : best), 'unclear')
}
