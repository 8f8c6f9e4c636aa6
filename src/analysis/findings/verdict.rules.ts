/** What a verdict makes of a finding. Pure. */
import type { Kind } from '../analyze/insight.ts'

export const VERDICTS = ['right', 'wrong'] as const
type VerdictWord = (typeof VERDICTS)[number]

/** What a person says about a finding. */
export interface Judgement {
  readonly verdict: VerdictWord
  /** The right kind of a finding that is wrong. Absent: it is none. */
  readonly kind?: Kind | undefined
}

export interface Decision {
  /** What is remembered about the kind that the analyser found. */
  readonly verdict: { readonly kind: Kind; readonly wasRight: boolean; readonly meantKind: Kind | null }
  /** What becomes of the finding. */
  readonly finding: { readonly kind: Kind; readonly foundKind: Kind | null; readonly shown: boolean }
}

/**
 * A judgement of a finding that already has another kind than the analyser gave it replaces the verdict about the kind that was found. That
 * the given kind is right confirms it, and so does the same correction again.
 * @param kind as the finding is shown
 * @param foundKind that of the analyser, where a person gave it another one
 * @returns null if the judgement says that the kind is wrong and right at once
 */
export function decide(kind: Kind, foundKind: Kind | null, judgement: Judgement): Decision | null {
  const found = foundKind ?? kind
  const meant = judgement.verdict === 'right' ? kind : (judgement.kind ?? null)
  const isContradiction =
    judgement.verdict === 'right'
      ? judgement.kind !== undefined && judgement.kind !== kind
      : judgement.kind === kind && foundKind === null
  if (isContradiction) return null
  const wasRight = meant === found
  return {
    verdict: { kind: found, wasRight, meantKind: wasRight ? null : meant },
    finding: {
      kind: meant ?? found,
      foundKind: meant === null || meant === found ? null : found,
      shown: meant !== null,
    },
  }
}

/** What verdicts count for: findings of one kind and tier in one language, by one version of an analyser. */
export interface Sort {
  readonly kind: string
  readonly tier: string
  /** '': it cannot be told. */
  readonly language: string
  readonly analyzerName: string
  readonly analyzerVersion: string
}

/** A change of the counts of a sort. */
export interface Delta extends Sort {
  readonly judged: number
  readonly right: number
}

/** The changes of counts where a verdict replaces an earlier one. Those of the same sort are one. */
export function deltasOf(
  earlier: (Sort & { readonly wasRight: boolean }) | null,
  present: Sort & { readonly wasRight: boolean },
): readonly Delta[] {
  const part = ({ wasRight, ...sort }: Sort & { readonly wasRight: boolean }, sign: 1 | -1): Delta => ({
    ...sort,
    judged: sign,
    right: wasRight ? sign : 0,
  })
  const added = part(present, 1)
  if (earlier === null) return [added]
  const removed = part(earlier, -1)
  if (!isSameSort(earlier, present)) return [removed, added]
  return [{ ...added, judged: 0, right: added.right + removed.right }]
}

const isSameSort = (a: Sort, b: Sort) =>
  a.kind === b.kind &&
  a.tier === b.tier &&
  a.language === b.language &&
  a.analyzerName === b.analyzerName &&
  a.analyzerVersion === b.analyzerVersion
