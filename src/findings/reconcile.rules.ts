/** Which findings a subject has after an analysis, by what it had and by what people said about them. Pure. */
import type { Found, Kind, Tier } from '../analyze/insight.ts'
import type { Source } from './source.ts'

/** A stored finding. `tier` is null for one of an older version. */
export interface Present {
  readonly id: string
  readonly kind: string
  readonly tier: Tier | null
}

/** What a person said about the finding of a kind. */
export interface Verdict {
  readonly kind: string
  readonly wasRight: boolean
  readonly meantKind: string | null
}

export interface Kept extends Found {
  /** Null: it is new. */
  readonly id: string | null
  readonly shown: boolean
}

/**
 * The findings to write and the ids of those to delete.
 *
 * A finding of a kind that a person called wrong does not come back. One that a person called right, or gave this kind, stays although
 * the analyser does not find it.
 */
export function reconcile(
  present: readonly Present[],
  verdicts: readonly Verdict[],
  found: readonly Found[],
  isShown: (found: Found) => boolean,
): { readonly write: readonly Kept[]; readonly remove: readonly string[] } {
  const held = new Set(
    verdicts.flatMap(({ kind, wasRight, meantKind }) =>
      wasRight ? [kind] : meantKind === null ? [] : [meantKind],
    ),
  )
  const refused = new Set(
    verdicts.filter(({ kind, wasRight }) => !wasRight && !held.has(kind)).map(({ kind }) => kind),
  )
  const byKind = new Map(present.filter(({ tier }) => tier !== null).map((one) => [one.kind, one]))
  const write = found
    .filter(({ kind }) => !refused.has(kind))
    .map((one) => ({
      ...one,
      id: byKind.get(one.kind)?.id ?? null,
      shown: held.has(one.kind) || isShown(one),
    }))
  const written = new Set<string>(write.map(({ kind }) => kind))
  const stays = ({ kind, tier }: Present) =>
    tier !== null && !refused.has(kind) && (written.has(kind) || held.has(kind))
  return { write, remove: present.filter((one) => !stays(one)).map(({ id }) => id) }
}

/** A finding as a row of signals. */
export interface FindingRow {
  readonly kind: Kind
  readonly tier: Tier
  readonly confidence: number
  readonly rating: 'positive' | 'negative' | null
  /** The quotation: a slice of what is stored. */
  readonly comment: string
  readonly shown: boolean
  readonly field: string | null
  readonly startSec: number | null
  readonly personId: number | null
  readonly occurredAt: string
}

/** The row of a finding, with the place of its quotation. A quotation stays within one utterance. */
export function rowOf(
  source: Source,
  { kind, tier, confidence, rating, index, from, to, shown }: Kept,
): FindingRow {
  const [said, place] = [source.said[index], source.places[index]]
  if (said === undefined || place === undefined)
    throw new Error('a finding is about a text that was not read')
  const starts = place.utterances ?? []
  const utterance = starts.findLast((one) => one.from <= from)
  const next = starts.find((one) => one.from > from)
  const end = next === undefined ? to : Math.min(to, next.from - 1)
  return {
    kind,
    tier,
    confidence,
    rating,
    shown,
    comment: said.text.slice(from, end),
    field: place.field ?? null,
    startSec: utterance?.startSec ?? null,
    personId: place.personId ?? null,
    occurredAt: place.occurredAt,
  }
}
