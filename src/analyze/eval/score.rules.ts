/** Compares insights with labels. Pure. */
import { type Insight, KINDS, type Kind, type Tier } from '../insight.ts'
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
  /** By `language/channel`. */
  readonly places: ReadonlyMap<string, Count>
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
    places: new Map<string, Count>(),
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

type Adding = Omit<Scores, 'confusion' | 'falsePraise'> & {
  readonly confusion: Record<Kind, Record<string, number>>
  readonly falsePraise: Map<string, number>
  readonly places: Map<string, Count>
  readonly tiers: Map<string, Count>
}

function addItem(scores: Adding, item: Item, insight: Insight, counts: Counts): void {
  const found = new Map(
    insight.findings
      .filter(({ kind, tier }) => counts(kind, tier, insight.language, item))
      .map(({ kind, tier }) => [kind, tier]),
  )
  const place = countOf(scores.places, `${item.language}/${item.channel}`)
  for (const kind of KINDS) {
    const tier = found.get(kind)
    const isLabelled = item.kinds.includes(kind)
    if (tier === undefined && !isLabelled) continue
    const what = tier === undefined ? 'missed' : isLabelled ? 'right' : 'wrong'
    for (const count of [scores.all, scores.kinds[kind], place]) count[what]++
    if (tier === undefined) continue
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

export interface OutcomeFigures {
  readonly right: number
  readonly all: number
  /** Items labelled resolved or unresolved that were called unclear. */
  readonly unclear: number
  readonly clear: number
  /** Items labelled unresolved, and those of them that were called resolved. */
  readonly failed: number
  readonly failedCalledResolved: number
}

export function outcomeFigures({ outcomes }: Pick<Scores, 'outcomes'>): OutcomeFigures {
  const sum = (matches: (label: string, given: string) => boolean) =>
    [...outcomes].reduce((total, [key, count]) => {
      const [label = '', given = ''] = key.split('>')
      return matches(label, given) ? total + count : total
    }, 0)
  return {
    right: sum((label, given) => label === given),
    all: sum(() => true),
    unclear: sum((label, given) => label !== 'unclear' && given === 'unclear'),
    clear: sum((label) => label !== 'unclear'),
    failed: sum((label) => label === 'unresolved'),
    failedCalledResolved: sum((label, given) => label === 'unresolved' && given === 'resolved'),
  }
}
