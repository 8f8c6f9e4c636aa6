/** Trains the head for the outcome of conversations, and chooses from which score on it calls one resolved. */
import { join } from 'node:path'
import { scoredOf } from '../../src/analyze/builtin/analyze.ts'
import type { Embed } from '../../src/analyze/builtin/embed.ts'
import {
  type Certainty,
  type EndInput,
  endInputOf,
  outcomeOf,
  outcomeScores,
  repliesOf,
} from '../../src/analyze/builtin/ending.rules.ts'
import { END_NGRAM_SIZE, endWordsOf } from '../../src/analyze/builtin/ending-words.rules.ts'
import { isTrouble } from '../../src/analyze/builtin/short.rules.ts'
import { OUTCOMES, type Outcome } from '../../src/analyze/insight.ts'
import { rounded } from './examples.ts'
import { type TrainedHead, trainHead } from './head.ts'
import type { JudgedItem } from './judge.ts'
import { TRAINING, type Training } from './network.ts'
import type { NgramTraining } from './ngrams.ts'
import { isUsual } from './short.ts'

/** Conversations only for this head. */
export const ENDINGS = join(import.meta.dir, '../../data/insight/endings')

/** Chosen by cross-validation. */
const OF_ENDING: Training = { ...TRAINING, hidden: 64, epochs: 15, weightOfKind: 1 }
const NGRAMS_OF_ENDING: NgramTraining = { size: END_NGRAM_SIZE, weightOfKind: 1 }

export interface EndedItem extends EndInput {
  readonly file: string
  readonly outcome: Outcome
  /** For each outcome 1 or 0. */
  readonly labels: Float32Array
}

/** What is learned from items with an outcome. `short`: the head for short messages. */
export async function endedItems(
  judged: readonly JudgedItem[],
  short: TrainedHead,
  embed: Embed,
): Promise<readonly EndedItem[]> {
  const ended: EndedItem[] = []
  for (const { read, facts } of judged) {
    const { outcome } = read.item
    if (outcome === null) continue
    const words = endWordsOf(read.reading)
    const replies = (await embed(repliesOf(words))).map(rounded)
    const ofMessage = (at: number) =>
      read.pieces.filter(({ piece }) => piece.index === read.reading.messages.at(at)?.index)
    const messages = [-1, -2].map((at) => ofMessage(at).map(({ embedding }) => embedding))
    const isInTrouble = isTrouble(
      ofMessage(-1).map(({ piece, embedding }) => scoredOf(piece, embedding, short)),
    )
    ended.push({
      file: read.file,
      outcome,
      labels: Float32Array.from(OUTCOMES, (one) => (one === outcome ? 1 : 0)),
      ...endInputOf({ facts, words, replies, messages, isInTrouble }),
    })
  }
  return ended
}

export const trainEnding = (items: readonly EndedItem[]): TrainedHead =>
  trainHead(items, OF_ENDING, NGRAMS_OF_ENDING)

/** What a head says of an item that it was not trained with. */
export interface UnseenEnd {
  readonly right: Outcome
  readonly scores: Float32Array
  readonly isInTrouble: boolean
}

/** The scores of each item, by a head that was trained on the other authors only. */
export function crossEnding(items: readonly EndedItem[]): readonly UnseenEnd[] {
  const files = [...new Set(items.filter(isUsual).map(({ file }) => file))]
  return files.flatMap((file) => {
    const head = trainEnding(items.filter((one) => one.file !== file))
    return items
      .filter((one) => one.file === file)
      .map((one) => ({
        right: one.outcome,
        scores: outcomeScores(head, one),
        isInTrouble: one.isInTrouble,
      }))
  })
}

/** Largest share of failed conversations called resolved. Half of the product's limit, because real customers differ from the authors. */
const MOST_FAILED_CALLED_RESOLVED = 0.01
/** Scores that are tried. Above 1 nothing is called resolved. */
const STEPS = Array.from({ length: 51 }, (_, step) => (50 + step + (step === 50 ? 1 : 0)) / 100)

/** The scores from which on most conversations have the right outcome, while hardly a failed one is called resolved. */
export function certaintyFor(unseen: readonly UnseenEnd[]): Certainty {
  const failed = unseen.filter(({ right }) => right === 'unresolved')
  const mistakes = (certainty: Certainty) =>
    failed.filter((one) => sayOf(one, certainty) === 'resolved').length
  const candidates = STEPS.flatMap((usual) =>
    STEPS.filter((step) => step >= usual).map((inTrouble) => ({ usual, inTrouble })),
  )
  const allowed = candidates.filter((one) => mistakes(one) <= failed.length * MOST_FAILED_CALLED_RESOLVED)
  const rated = allowed.map((one) => ({ ...one, right: rightOf(unseen, one) }))
  const { usual, inTrouble } = rated.reduce((best, one) => (one.right > best.right ? one : best))
  return { usual, inTrouble }
}

const sayOf = ({ scores, isInTrouble }: UnseenEnd, certainty: Certainty) =>
  outcomeOf(scores, isInTrouble, certainty)

/** Part of the items whose outcome is said rightly. */
export function rightOf(unseen: readonly UnseenEnd[], certainty: Certainty): number {
  return unseen.filter((one) => sayOf(one, certainty) === one.right).length / unseen.length
}
