/** Trains the judge over whole items, and chooses from which likelihood on it finds a kind. */
import { scoredOf } from '../../src/analyze/builtin/analyze.ts'
import { factsOf } from '../../src/analyze/builtin/facts.rules.ts'
import {
  applyLinear,
  type Judge,
  type Linear,
  likelyKinds,
  shares,
  type Thresholds,
} from '../../src/analyze/builtin/judge.rules.ts'
import { KINDS, SENTIMENTS } from '../../src/analyze/insight.ts'
import { createRandom } from '../../src/platform/random.ts'
import type { TrainedHead } from './head.ts'
import type { ReadItem } from './items.ts'
import { trainLinear } from './linear.ts'
import { type Scored, thresholdFor } from './measure.ts'
import { shuffled } from './random.ts'

export interface JudgedItem {
  readonly read: ReadItem
  readonly facts: Float32Array
}

/** The facts of items, by a head that was not trained with them. */
export function factsBy(head: TrainedHead, items: readonly ReadItem[]): readonly JudgedItem[] {
  return items.map((read) => {
    const scored = read.pieces.map(({ piece, embedding }) => scoredOf(piece, embedding, head))
    return { read, facts: factsOf(read.reading, read.byRules, scored, read.judgement) }
  })
}

type Votes = Pick<Judge, 'kinds' | 'sentiments'>

export function trainVotes(items: readonly JudgedItem[]): Votes {
  const facts = (some: readonly JudgedItem[]) => some.map((one) => one.facts)
  const oneOf = (values: readonly string[], right: string | null) =>
    Float32Array.from(values, (value) => (value === right ? 1 : 0))
  return {
    kinds: trainLinear({
      facts: facts(items),
      answers: items.map(({ read }) =>
        Float32Array.from(KINDS, (kind) => (read.item.kinds.includes(kind) ? 1 : 0)),
      ),
      sort: 'each',
    }),
    sentiments: trainLinear({
      facts: facts(items),
      answers: items.map(({ read }) => oneOf(SENTIMENTS, read.item.sentiment)),
      sort: 'one',
    }),
  }
}

const FOLDS = 10

/** What votes say of items that they were not trained with. */
export interface Unseen {
  readonly item: ReadItem['item']
  readonly kinds: Float32Array
  readonly sentiments: Float32Array
}

export function crossJudge(items: readonly JudgedItem[]): readonly Unseen[] {
  const order = shuffled(items.length, createRandom(1))
  const foldOf = (index: number) => (order[index] as number) % FOLDS
  return Array.from({ length: FOLDS }, (_, fold) => {
    const votes = trainVotes(items.filter((_, index) => foldOf(index) !== fold))
    const share = (linear: Linear, facts: Float32Array) => shares(applyLinear(linear, facts))
    return items
      .filter((_, index) => foldOf(index) === fold)
      .map(({ read, facts }) => ({
        item: read.item,
        kinds: likelyKinds(votes, facts),
        sentiments: share(votes.sentiments, facts),
      }))
  }).flat()
}

export const scoresOf = (unseen: readonly Unseen[]): readonly (readonly Scored[])[] =>
  KINDS.map((kind, at) =>
    unseen.map(({ item, kinds }) => [kinds[at] ?? 0, item.kinds.includes(kind)] as const),
  )

/**
 * For each kind the likelihood above which at least this part of the findings is right: the first of `precisions` that the kind reaches.
 * 2, which nothing reaches, where there is none.
 */
export function thresholdsFor(
  precisions: readonly number[],
  lowest: number,
  unseen: readonly Unseen[],
): Thresholds {
  const chosen = scoresOf(unseen).map((scored, kind) => {
    const reached = precisions.map((precision) => thresholdFor(precision, scored)).find((value) => value <= 1)
    return [KINDS[kind], Number(Math.max(lowest, reached ?? 2).toFixed(3))]
  })
  return Object.fromEntries(chosen) as Thresholds
}

/** The content of `judge.json`. */
export function judgeFile(judge: Judge): string {
  const rows = (linear: Linear) =>
    `[\n${linear.map((row) => `    ${JSON.stringify([...row].map((weight) => Number(weight.toFixed(4))))}`).join(',\n')}\n  ]`
  return `{
  "kinds": ${rows(judge.kinds)},
  "sentiments": ${rows(judge.sentiments)},
  "thresholds": ${JSON.stringify(judge.thresholds)}
}
`
}
