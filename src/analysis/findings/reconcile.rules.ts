/** Which findings a subject has after an analysis, by what it had and by what people said about them. Pure. */
import type { Tier } from '../analyze/insight.ts'
import type { Draft } from './finding.rules.ts'

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

export interface Kept extends Draft {
  /** Null: it is new. */
  readonly id: string | null
  readonly shown: boolean
}

export interface ReconcileOptions {
  readonly isShown: (draft: Draft) => boolean
  /** Findings of the trained head stay, because only rules were applied now. */
  readonly keepsLikely: boolean
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
  drafts: readonly Draft[],
  { isShown, keepsLikely }: ReconcileOptions,
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
  const write = drafts
    .filter(({ kind }) => !refused.has(kind))
    .map((one) => ({
      ...one,
      id: byKind.get(one.kind)?.id ?? null,
      shown: held.has(one.kind) || isShown(one),
    }))
  const written = new Set<string>(write.map(({ kind }) => kind))
  const stays = ({ kind, tier }: Present) => {
    if (tier === null || refused.has(kind)) return false
    return written.has(kind) || held.has(kind) || (keepsLikely && tier === 'likely')
  }
  return { write, remove: present.filter((one) => !stays(one)).map(({ id }) => id) }
}
