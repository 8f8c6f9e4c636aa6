/** Groups items in memory, with the rules of the actor and in its rhythm: what a database would hold stands in maps. */
import { LINK_AFTER } from '../../src/understand/themes/actor.ts'
import { choose, MAX_ASSIGNED } from '../../src/understand/themes/assign.ts'
import type { WantedItem } from '../../src/understand/themes/items.rules.ts'
import { link } from '../../src/understand/themes/link.ts'
import { type Member, NOTHING, type Totals, totalsAfter } from '../../src/understand/themes/members.rules.ts'
import { addTo, emptySum, meanOf, sumBytes, vectorBytes } from '../../src/understand/themes/vector.rules.ts'
import { stemsOf } from '../../src/understand/themes/words.rules.ts'

export interface Arrived {
  readonly text: string
  readonly vector: Int8Array
}

interface Theme {
  totals: Totals
  isUsed: boolean
}

/** @returns the theme of each item, in their order; null: the pool */
export async function groupItems(items: readonly Arrived[]): Promise<readonly (string | null)[]> {
  const themes = new Map<string, Theme>()
  const places: (string | null)[] = []
  const counts = new Map<string, number>()
  let linked = 0
  const wanted = items.map(({ text }, n) => wantedOf(text, n))
  const sum = emptySum()
  const surroundings = () => ({
    items: places.length,
    countOf: (term: string) => counts.get(term) ?? 0,
    mean: meanOf(sum),
  })
  const member = (n: number): Member => ({ ...wanted[n]!, vector: items[n]!.vector, locked: false })
  const rows = () =>
    [...themes].map(([id, { totals, isUsed }]) => ({
      ...totals,
      id,
      centroid: sumBytes(totals.sum),
      titledCount: 0,
      isKept: false,
      isUsed,
    }))
  const put = (id: string, ns: readonly number[]) => {
    const steps = ns.map((n) => ({ member: member(n), times: 1 as const }))
    themes.set(id, { totals: totalsAfter(themes.get(id)?.totals ?? NOTHING, steps), isUsed: true })
    for (const n of ns) places[n] = id
  }

  async function linkPool(): Promise<void> {
    const pool = places
      .flatMap((place, n) => (place === null ? [n] : []))
      .slice(-2_000)
      .map((n) => ({
        ...wanted[n]!,
        id: n,
        themeId: null,
        locked: false,
        isNew: n >= linked,
        vector: vectorBytes(items[n]!.vector),
      }))
    const plan = await link({ surroundings: surroundings(), pool, themes: rows() })
    linked = places.length
    for (const theme of themes.values()) theme.isUsed = false
    for (const { themeId, itemIds } of plan.groups) put(themeId ?? Bun.randomUUIDv7(), itemIds)
    for (const [kept, merged] of plan.merges) {
      themes.delete(merged)
      put(
        kept,
        places.flatMap((place, n) => (place === merged ? [n] : [])),
      )
    }
  }

  const batch = Math.min(MAX_ASSIGNED, LINK_AFTER)
  for (let from = 0; from < items.length; from += batch) {
    const arriving = wanted.slice(from, from + batch)
    const assigned = await choose(
      rows(),
      surroundings(),
      arriving,
      items.slice(from, from + batch).map(({ vector }) => vector),
    )
    for (const [n, { item, themeId }] of assigned.entries()) {
      for (const term of item.terms) counts.set(term, (counts.get(term) ?? 0) + 1)
      addTo(sum, items[from + n]!.vector, 1)
      places[from + n] = null
      if (themeId !== null) put(themeId, [from + n])
    }
    await linkPool()
  }
  return places
}

const wantedOf = (text: string, n: number): WantedItem => ({
  channel: 'feedback',
  subjectId: String(n),
  passage: String(n),
  signalId: String(n),
  rating: null,
  occurredAt: new Date(0),
  language: 'en',
  text,
  terms: stemsOf(text),
})
