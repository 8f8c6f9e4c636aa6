/** Reads labelled items as the analyser does, trains on some sources, and lets the result judge the others. */
import { createHash } from 'node:crypto'
import { type Inputs, inputsOf, mayHave, mocks } from '../../src/analysis/analyze/builtin/analyze.ts'
import {
  type Classifier,
  kindVotes,
  shares,
  votesOf,
} from '../../src/analysis/analyze/builtin/classifier.rules.ts'
import type { Piece } from '../../src/analysis/analyze/builtin/pieces.rules.ts'
import { readSubject } from '../../src/analysis/analyze/builtin/reading.rules.ts'
import type { Embed } from '../../src/analysis/analyze/builtin/vectors/vectors.ts'
import { KINDS, OUTCOMES, SENTIMENTS } from '../../src/analysis/analyze/insight.ts'
import type { Labelled } from './items.ts'
import { trainKinds, trainOne } from './linear.ts'

export interface Example extends Labelled {
  readonly inputs: Inputs
}

export type Trained = Pick<Classifier, 'pieces' | 'whole' | 'outcome' | 'sentiment'>

export function examplesOf(items: readonly Labelled[], embed: Embed): readonly Example[] {
  return items.map((labelled) => {
    const { item } = labelled
    return { ...labelled, inputs: inputsOf(item, readSubject(item), embed) }
  })
}

/**
 * What a real text counts beside one that was written for the purpose. For outcome and sentiment 8 won nothing more on sources that were left out; for
 * kinds no other number was tried.
 */
const REAL = 3
const weightOf = (source: string): number => (isOwn(source) ? 1 : REAL)

export function train(examples: readonly Example[]): Trained {
  const ofKinds = examples
    .filter(({ known }) => known.length > 0)
    .map(({ item, known, inputs, source }) => ({
      channel: item.channel,
      ...inputs,
      labels: Float32Array.from(KINDS, (kind) => (item.kinds.includes(kind) ? 1 : 0)),
      weights: Float32Array.from(KINDS, (kind) => (known.includes(kind) ? weightOf(source) : 0)),
    }))
  const ofEnds = examples.flatMap(({ item, inputs, source }) =>
    item.outcome === null || inputs.ofEnd === null
      ? []
      : [{ input: inputs.ofEnd, answer: OUTCOMES.indexOf(item.outcome), weight: weightOf(source) }],
  )
  const ofMoods = examples.flatMap(({ item, inputs, source }) =>
    item.sentiment === null
      ? []
      : [{ input: inputs.ofMood, answer: SENTIMENTS.indexOf(item.sentiment), weight: weightOf(source) }],
  )
  return {
    ...trainKinds(ofKinds),
    outcome: trainOne(ofEnds, OUTCOMES.length),
    sentiment: trainOne(ofMoods, SENTIMENTS.length),
  }
}

/** What a classifier says of an item whose source it has not seen. */
export interface Unseen extends Labelled {
  /** For each kind; null if no piece may have it. */
  readonly votes: readonly (number | null)[]
  /** Shares of `OUTCOMES`. Null for feedback. */
  readonly outcomes: readonly number[] | null
  /** Shares of `SENTIMENTS`. */
  readonly sentiments: readonly number[]
  /** True if the last words are mockery. */
  readonly mocks: boolean
}

function judge(trained: Trained, { inputs, ...labelled }: Example): Unseen {
  const { pieces, ofPieces, ofWhole, ofEnd, ofMood } = inputs
  const { votes, best } = kindVotes(trained, { pieces: ofPieces, whole: ofWhole }, (kind, place) =>
    mayHave(kind, pieces[place] as Piece, labelled.item.channel),
  )
  return {
    ...labelled,
    votes: KINDS.map((_, kind) => ((best[kind] as number) < 0 ? null : (votes[kind] as number))),
    outcomes: ofEnd === null ? null : [...shares(votesOf(trained.outcome, ofEnd))],
    sentiments: [...shares(votesOf(trained.sentiment, ofMood))],
    mocks: mocks(pieces),
  }
}

/** Authors of the repository's own text are left out some at a time, and so are public sources with few items. */
const OWN_FOLDS = 4
const FEW = 130

/** Which items are left out together. */
export function foldsOf(
  items: readonly Pick<Labelled, 'source'>[],
): (one: Pick<Labelled, 'source'>) => string {
  const own = [...new Set(items.map(({ source }) => source).filter(isOwn))]
  const sizes = Map.groupBy(items, ({ source }) => source)
  return ({ source }) => {
    if (isOwn(source)) return `own texts, part ${(own.indexOf(source) % OWN_FOLDS) + 1}`
    return (sizes.get(source)?.length ?? 0) < FEW ? 'small sources' : source
  }
}

/** Each public source, and each of some groups of own files, judged by what learned from all others. */
export function judgeUnseen(
  examples: readonly Example[],
  onFold: (name: string) => void = () => {},
): readonly Unseen[] {
  const foldOf = foldsOf(examples)
  const folds = Map.groupBy(examples, foldOf)
  return [...folds].flatMap(([name, left]) => {
    onFold(name)
    const trained = train(examples.filter((example) => foldOf(example) !== name))
    return left.map((example) => judge(trained, example))
  })
}

/** A file of data/insight. */
export const isOwn = (source: string): boolean => /\.(?:jsonl|tsv)$/.test(source)

/** SHA-256 of the labelled text. */
export const corpusHash = (items: readonly Labelled[]): string =>
  createHash('sha256').update(JSON.stringify(items)).digest('hex')
