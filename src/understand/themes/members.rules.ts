/** What changes in a theme when items join or leave. Pure. */
import { addTo, emptySum } from './vector.rules.ts'

/** Word stems that a theme keeps. */
export const MAX_TERMS = 100

/** What an item brings to its theme. */
export interface Member {
  readonly channel: string
  readonly occurredAt: Date
  readonly rating: string | null
  readonly locked: boolean
  readonly vector: Int8Array
  readonly terms: readonly string[]
}

export interface Totals {
  readonly sum: Int32Array
  readonly weight: number
  readonly count: number
  readonly terms: Readonly<Record<string, number>>
}

export const NOTHING: Totals = { sum: emptySum(), weight: 0, count: 0, terms: {} }

/** `times`: 1 joins, -1 leaves. */
export interface Step {
  readonly member: Member
  readonly times: 1 | -1
}

/** An item whose place a person chose counts twice. */
export const weightOf = ({ locked }: Pick<Member, 'locked'>): number => (locked ? 2 : 1)

/** The totals after the steps. Stems with the smallest counts are dropped beyond `MAX_TERMS`, so a count may be too small, never too large. */
export function totalsAfter(before: Totals, steps: readonly Step[]): Totals {
  const sum = before.sum.slice()
  const terms = new Map(Object.entries(before.terms))
  let { weight, count } = before
  for (const { member, times } of steps) {
    const share = times * weightOf(member)
    addTo(sum, member.vector, share)
    weight += share
    count += times
    for (const term of member.terms) terms.set(term, Math.max(0, (terms.get(term) ?? 0) + share))
  }
  return { sum, weight, count, terms: mostFrequent(terms) }
}

function mostFrequent(terms: ReadonlyMap<string, number>): Readonly<Record<string, number>> {
  const present = [...terms].filter(([, count]) => count > 0)
  if (present.length > MAX_TERMS)
    present.sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1)).splice(MAX_TERMS)
  return Object.fromEntries(present)
}

/** How often each stem occurs more, or less, in items after the steps. */
export function termChanges(steps: readonly Step[]): ReadonlyMap<string, number> {
  const changes = new Map<string, number>()
  for (const { member, times } of steps)
    for (const term of member.terms) changes.set(term, (changes.get(term) ?? 0) + times)
  return new Map([...changes].filter(([, change]) => change !== 0))
}
