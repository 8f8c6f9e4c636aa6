/** Compares insights with labels. Pure. */
import { type Insight, KINDS, type Kind, SENTIMENTS, type Tier } from '../insight.ts'
import type { Item } from './items.ts'

/** Of one kind, or of several together. */
export interface Count {
  /** Findings that the label has. */
  right: number
  /** Findings that the label does not have. */
  wrong: number
  /** Labels without a finding. */
  missed: number
}

export interface Scores {
  readonly items: number
  readonly all: Count
  readonly kinds: Readonly<Record<Kind, Count>>
  /** By kind: findings by the tenth in which their confidence lies. */
  readonly calibration: Readonly<Record<Kind, readonly Bin[]>>
  /** By `kind/tier` and by `kind/tier/channel`; English only. Nothing is missed by a tier. */
  readonly tiers: ReadonlyMap<string, Count>
  /** By kind: how often a wrong finding stood where the label has another kind, or `none`. */
  readonly confusion: Readonly<Record<Kind, Readonly<Record<string, number>>>>
  /** By `labelled>given`. */
  readonly outcomes: ReadonlyMap<string, number>
  readonly sentiments: ReadonlyMap<string, number>
  /** Items in which the analyser said that it does not know the language. */
  readonly unsupported: number
  /** By group: praise that the label does not have. */
  readonly falsePraise: ReadonlyMap<string, number>
}

/** Findings of about the same confidence. */
export interface Bin {
  found: number
  right: number
  /** The sum of all. */
  confidence: number
}

const BINS = 10

/** Says whether a finding of the item counts. */
export type Counts = (kind: Kind, tier: Tier, language: string | null, item: Item) => boolean

export interface Judged {
  readonly item: Item
  readonly insight: Insight
}

/** Items in a language that the analyser does not know count as unsupported, not as missed. */
export function score(judged: readonly Judged[], counts: Counts): Scores {
  const scores = {
    items: judged.length,
    all: zero(),
    kinds: byKind(zero),
    calibration: byKind(() =>
      Array.from({ length: BINS }, (): Bin => ({ found: 0, right: 0, confidence: 0 })),
    ),
    tiers: new Map<string, Count>(),
    confusion: byKind((): Record<string, number> => ({})),
    outcomes: new Map<string, number>(),
    sentiments: new Map<string, number>(),
    unsupported: 0,
    falsePraise: new Map<string, number>(),
  }
  for (const { item, insight } of judged) {
    if (!insight.supported) {
      scores.unsupported++
      continue
    }
    if (item.outcome !== null) increase(scores.outcomes, `${item.outcome}>${insight.outcome}`)
    increase(scores.sentiments, `${item.sentiment}>${insight.sentiment}`)
    addItem(scores, item, insight, counts)
  }
  return scores
}

type Adding = Omit<Scores, 'confusion' | 'falsePraise' | 'calibration' | 'tiers'> & {
  readonly calibration: Readonly<Record<Kind, Bin[]>>
  readonly confusion: Record<Kind, Record<string, number>>
  readonly falsePraise: Map<string, number>
  readonly tiers: Map<string, Count>
}

function addItem(scores: Adding, item: Item, insight: Insight, counts: Counts): void {
  const found = new Map(
    insight.findings
      .filter(({ kind, tier }) => counts(kind, tier, insight.language, item))
      .map((finding) => [finding.kind, finding]),
  )
  for (const kind of KINDS) {
    const { tier, confidence = 0 } = found.get(kind) ?? {}
    const isLabelled = item.kinds.includes(kind)
    if (tier === undefined && !isLabelled) continue
    const what = tier === undefined ? 'missed' : isLabelled ? 'right' : 'wrong'
    for (const count of [scores.all, scores.kinds[kind]]) count[what]++
    if (tier === undefined) continue
    const bin = scores.calibration[kind][Math.min(BINS - 1, Math.floor(confidence * BINS))] as Bin
    bin.found++
    bin.confidence += confidence
    if (isLabelled) bin.right++
    if (item.language === 'en') {
      countOf(scores.tiers, `${kind}/${tier}`)[what]++
      countOf(scores.tiers, `${kind}/${tier}/${item.channel}`)[what]++
    }
    if (what === 'right') continue
    for (const other of item.kinds.length === 0 ? ['none'] : item.kinds) {
      scores.confusion[kind][other] = (scores.confusion[kind][other] ?? 0) + 1
    }
    if (kind === 'praise') increase(scores.falsePraise, item.group ?? '')
  }
}

const zero = (): Count => ({ right: 0, wrong: 0, missed: 0 })

function byKind<T>(make: () => T): Record<Kind, T> {
  return Object.fromEntries(KINDS.map((kind) => [kind, make()])) as Record<Kind, T>
}

function countOf(counts: Map<string, Count>, key: string): Count {
  const count = counts.get(key) ?? zero()
  counts.set(key, count)
  return count
}

function increase(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

/** Null where nothing was found. */
export function precisionOf({ right, wrong }: Count): number | null {
  return right + wrong === 0 ? null : right / (right + wrong)
}

/** Null where nothing is labelled. */
export function recallOf({ right, missed }: Count): number | null {
  return right + missed === 0 ? null : right / (right + missed)
}

/** How far confidence and truth lie apart: the mean over the findings (expected calibration error). Null without findings. */
export function calibrationError(bins: readonly Bin[]): number | null {
  const found = bins.reduce((sum, bin) => sum + bin.found, 0)
  const apart = bins.reduce((sum, { right, confidence }) => sum + Math.abs(right - confidence), 0)
  return found === 0 ? null : apart / found
}

export interface OutcomeFigures {
  readonly right: number
  readonly all: number
  /** Items labelled resolved or unresolved; those that got their label, and those that were called unclear. */
  readonly clear: number
  readonly rightOfClear: number
  readonly unclear: number
  readonly solved: number
  readonly solvedCalledUnresolved: number
  readonly failed: number
  readonly failedCalledResolved: number
}

/** A label and the answer to it; an answer may be missing. */
type Pair = readonly [label: string, given: string]

/** @param counts by `labelled>given` */
const pairsIn = (counts: ReadonlyMap<string, number>): readonly (readonly [Pair, number])[] =>
  [...counts].map(([key, count]) => {
    const [label = '', given = ''] = key.split('>')
    return [[label, given], count]
  })

const sumOf = (counts: ReadonlyMap<string, number>, matches: (label: string, given: string) => boolean) =>
  pairsIn(counts).reduce((total, [pair, count]) => (matches(...pair) ? total + count : total), 0)

export function outcomeFigures({ outcomes }: Pick<Scores, 'outcomes'>): OutcomeFigures {
  const sum = (matches: (label: string, given: string) => boolean) => sumOf(outcomes, matches)
  const isClear = (label: string) => label === 'resolved' || label === 'unresolved'
  return {
    right: sum((label, given) => label === given),
    all: sum(() => true),
    clear: sum(isClear),
    rightOfClear: sum((label, given) => isClear(label) && label === given),
    unclear: sum((label, given) => isClear(label) && given === 'unclear'),
    solved: sum((label) => label === 'resolved'),
    solvedCalledUnresolved: sum((label, given) => label === 'resolved' && given === 'unresolved'),
    failed: sum((label) => label === 'unresolved'),
    failedCalledResolved: sum((label, given) => label === 'unresolved' && given === 'resolved'),
  }
}

export interface SentimentFigures {
  readonly all: number
  readonly right: number
  /** Items without an answer. They count as missed. */
  readonly notTold: number
  /** The mean of the F1 of each sentiment that is labelled or given. Null without items. */
  readonly macroF1: number | null
  readonly negative: number
  readonly negativeCalledPositive: number
}

export function sentimentFigures({ sentiments }: Pick<Scores, 'sentiments'>): SentimentFigures {
  const sum = (matches: (label: string, given: string) => boolean) => sumOf(sentiments, matches)
  const scores = SENTIMENTS.flatMap((name) => {
    const labelled = sum((label) => label === name)
    const both = sum((label, given) => label === name && given === name)
    const all = labelled + sum((_, given) => given === name)
    return all === 0 ? [] : [(2 * both) / all]
  })
  return {
    all: sum(() => true),
    right: sum((label, given) => label === given),
    notTold: sum((_, given) => given === 'null'),
    macroF1: scores.length === 0 ? null : scores.reduce((total, one) => total + one, 0) / scores.length,
    negative: sum((label) => label === 'negative'),
    negativeCalledPositive: sum((label, given) => label === 'negative' && given === 'positive'),
  }
}
