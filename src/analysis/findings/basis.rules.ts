/** What an outcome rests on. Pure. */
import { type Found, type Kind, OPEN_KINDS, type Outcome, type Said } from '../analyze/insight.ts'

/** `stated`: a shown finding quotes words of the customer that say it. `inferred`: the analyser infers it. */
export const OUTCOME_BASES = ['stated', 'inferred'] as const
export type OutcomeBasis = (typeof OUTCOME_BASES)[number]

/** Kinds with which a customer says the outcome, after the company has said something. */
const SAYS: Readonly<Record<Outcome, ReadonlySet<Kind>>> = {
  resolved: new Set(['resolved_confirmation']),
  unresolved: OPEN_KINDS,
  unclear: new Set(),
}

/** Kinds of the findings that say the outcome. What comes before the company's first words tells why the customer came. */
export function kindsThatSay(
  outcome: Outcome | null,
  findings: readonly Pick<Found, 'kind' | 'index'>[],
  said: readonly Said[],
): readonly Kind[] {
  if (outcome === null) return []
  const firstAnswer = said.findIndex(({ own }) => own)
  if (firstAnswer === -1) return []
  return findings
    .filter(({ kind, index }) => SAYS[outcome].has(kind) && index > firstAnswer)
    .map(({ kind }) => kind)
}

/** Null where there is no outcome, or it is unclear. @param shown kinds whose findings are shown */
export function basisOf(
  outcome: Outcome | null,
  saying: readonly Kind[],
  shown: ReadonlySet<string>,
): OutcomeBasis | null {
  if (outcome === null || outcome === 'unclear') return null
  return saying.some((kind) => shown.has(kind)) ? 'stated' : 'inferred'
}
