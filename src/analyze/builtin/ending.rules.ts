/**
 * How a conversation ends. What the customer said in the whole of it is not enough: "It runs now" behind a step that should help is an end,
 * and so is "Forget it" behind the third form. So the last words of both sides are read beside the facts. Pure; bounded.
 * `scripts/train.ts` makes the weights out of `data/insight/items` and `data/insight/endings`.
 */
import { OUTCOMES, type Outcome } from '../insight.ts'
import { DIMENSIONS, ngramsOf } from './features.rules.ts'
import { applyHead, applyNetwork, applyNgrams, EMBEDDING_SCALE, type Layers } from './head.rules.ts'
import type { Reading } from './reading.rules.ts'

/** UTF-16 code units of the end of the customer's last message. */
const MAX_LAST = 300
/** UTF-16 code units of the beginning of the company's words. What they offer or refuse mostly stands there. */
const MAX_REPLY = 100
/** From this length on a message is long. */
const LONG = 200

/** What the n-grams count beside the network. Chosen by cross-validation. */
const NGRAM_VOTE = 1

const [RESOLVED, UNRESOLVED] = [OUTCOMES.indexOf('resolved'), OUTCOMES.indexOf('unresolved')]

export interface Ending {
  readonly layers: Layers
  readonly ngrams: Float32Array
  /** From which score on a conversation is called resolved. To call a failed one resolved is the worst mistake. */
  readonly certain: number
}

/** What the weights are applied to. */
export interface EndInput {
  readonly input: Float32Array
  readonly ngrams: Uint32Array
  /** True if the last message surely speaks of trouble. Then nothing is resolved. */
  readonly isInTrouble: boolean
}

/** What is known of an end. */
export interface EndFacts {
  /** Of the whole conversation, as for the judge. */
  readonly facts: Float32Array
  /** By `textsOfEnd`. */
  readonly texts: readonly string[]
  /** Embeddings of the company's texts. */
  readonly replies: readonly Float32Array[]
  /** Embeddings of the pieces of the last message. Their mean stands for it, which costs nothing. */
  readonly pieces: readonly Float32Array[]
  readonly isInTrouble: boolean
}

/** The customer's last message, the company's words before it and after it; masked, in lower case, and empty where there are none. */
export function textsOfEnd({ messages, endsWithReply, lastReply }: Reading): readonly string[] {
  const last = messages.at(-1)
  return [
    plain(last?.masked ?? '').slice(-MAX_LAST),
    plain(last?.reply ?? '').slice(0, MAX_REPLY),
    plain(endsWithReply ? (lastReply ?? '') : '').slice(0, MAX_REPLY),
  ]
}

const plain = (text: string) => text.toLowerCase().replace(/\s+/g, ' ').trim()

export function endInputOf({ facts, texts, replies, pieces, isInTrouble }: EndFacts): EndInput {
  const [last = ''] = texts
  const embeddings = [meanOf(pieces), ...replies]
  const numbers = [
    ...facts,
    ...texts.flatMap((text) => [text === '' ? 0 : 1, text.endsWith('?') ? 1 : 0]),
    Math.min(1, last.length / LONG),
    ...embeddings.flatMap((embedding) => Array.from(embedding, (value) => value * EMBEDDING_SCALE)),
  ]
  const ngrams = new Set(texts.flatMap((text, place) => (text === '' ? [] : [...ngramsOf(text, place)])))
  return { input: Float32Array.from(numbers), ngrams: Uint32Array.from(ngrams), isInTrouble }
}

function meanOf(vectors: readonly Float32Array[]): Float32Array {
  const mean = new Float32Array(DIMENSIONS)
  for (const vector of vectors) {
    for (let at = 0; at < DIMENSIONS; at++)
      mean[at] = (mean[at] as number) + (vector[at] ?? 0) / vectors.length
  }
  return mean
}

/**
 * The score of each outcome, from 0 to 1, in the order of `OUTCOMES`. That of `resolved` is 0 if the last message is trouble, or if the
 * network or the n-grams rather say `unresolved`.
 */
export function outcomeScores(
  { layers, ngrams }: Pick<Ending, 'layers' | 'ngrams'>,
  end: EndInput,
): Float32Array {
  const voters = [applyNetwork(layers, end.input), applyNgrams(ngrams, end.ngrams)] as const
  const scores = applyHead(...voters, NGRAM_VOTE)
  const isDenied = voters.some((votes) => (votes[UNRESOLVED] ?? 0) > (votes[RESOLVED] ?? 0))
  if (isDenied || end.isInTrouble) scores[RESOLVED] = 0
  return scores
}

/** The likeliest outcome; the next one instead of a `resolved` that is not certain. */
export function outcomeOf(scores: Float32Array, certain: number): Outcome {
  const scoreOf = (outcome: Outcome) => scores[OUTCOMES.indexOf(outcome)] ?? 0
  const allowed = OUTCOMES.filter((outcome) => outcome !== 'resolved' || scoreOf(outcome) >= certain)
  return allowed.reduce((best, outcome) => (scoreOf(outcome) > scoreOf(best) ? outcome : best), 'unclear')
}
