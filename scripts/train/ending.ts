/** Trains the head for the outcome of conversations, and chooses from which likelihood on it says one. */
import { join } from 'node:path'
import { scoredOf } from '../../src/analyze/builtin/analyze.ts'
import type { Embed } from '../../src/analyze/builtin/embed.ts'
import {
  type EndInput,
  endInputOf,
  outcomeOf,
  outcomeScores,
  textsOfEnd,
} from '../../src/analyze/builtin/ending.rules.ts'
import { isTrouble } from '../../src/analyze/builtin/short.rules.ts'
import { OUTCOMES, type Outcome } from '../../src/analyze/insight.ts'
import { rounded } from './examples.ts'
import { type TrainedHead, trainHead } from './head.ts'
import type { JudgedItem } from './judge.ts'
import { TRAINING, type Training } from './network.ts'
import { isUsual } from './short.ts'

/** Conversations only for this head. */
export const ENDINGS = join(import.meta.dir, '../../data/insight/endings')

/** Chosen by cross-validation. */
const OF_ENDING: Training = { ...TRAINING, hidden: 64, epochs: 15, weightOfKind: 1 }

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
    const texts = textsOfEnd(read.reading)
    const replies = (await embed(texts.slice(1))).map(rounded)
    const last = read.pieces.filter(({ piece }) => piece.index === read.reading.messages.at(-1)?.index)
    const isInTrouble = isTrouble(last.map(({ piece, embedding }) => scoredOf(piece, embedding, short)))
    const pieces = last.map(({ embedding }) => embedding)
    ended.push({
      file: read.file,
      outcome,
      labels: Float32Array.from(OUTCOMES, (one) => (one === outcome ? 1 : 0)),
      ...endInputOf({ facts, texts, replies, pieces, isInTrouble }),
    })
  }
  return ended
}

export const trainEnding = (items: readonly EndedItem[]): TrainedHead => trainHead(items, OF_ENDING)

/** What a head says of an item that it was not trained with. */
export interface UnseenEnd {
  readonly right: Outcome
  readonly scores: Float32Array
}

/** The scores of each item, by a head that was trained on the other authors only. */
export function crossEnding(items: readonly EndedItem[]): readonly UnseenEnd[] {
  const files = [...new Set(items.filter(isUsual).map(({ file }) => file))]
  return files.flatMap((file) => {
    const head = trainEnding(items.filter((one) => one.file !== file))
    return items
      .filter((one) => one.file === file)
      .map((one) => ({ right: one.outcome, scores: outcomeScores(head, one) }))
  })
}

/** Of those that failed at most this part may be called resolved. */
const MOST_FAILED_CALLED_RESOLVED = 0.015

/** From which score on a conversation is called resolved, so that hardly a failed one is. */
export function certaintyFor(unseen: readonly UnseenEnd[]): number {
  const failed = unseen.filter(({ right }) => right === 'unresolved')
  const called = (certain: number) =>
    failed.filter(({ scores }) => outcomeOf(scores, certain) === 'resolved').length
  const steps = Array.from({ length: 100 }, (_, step) => step / 100)
  return steps.find((step) => called(step) <= failed.length * MOST_FAILED_CALLED_RESOLVED) ?? 1
}

/** Part of the items whose outcome is said rightly. */
export function rightOf(unseen: readonly UnseenEnd[], certain: number): number {
  return unseen.filter(({ right, scores }) => outcomeOf(scores, certain) === right).length / unseen.length
}
