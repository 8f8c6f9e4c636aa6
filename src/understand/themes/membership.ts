/**
 * Changes the members of themes, and what follows from members: the centroid, counts, days and words. Every change goes through here, in a
 * transaction that has locked the organization's themes, so these always agree with the items.
 */
import type { Tx } from '../../platform/db/pool.ts'
import { addDays } from './days.store.ts'
import type { ItemRow, Placing } from './items.store.ts'
import { placeItems, readMemberVectors } from './items.store.ts'
import { type Member, type Step, totalsAfter, weightOf } from './members.rules.ts'
import * as store from './themes.store.ts'
import { addTo, emptySum, sumOf, vectorOf } from './vector.rules.ts'

/** An item joins or leaves a theme. */
export interface Move extends Step {
  readonly themeId: string
}

export const memberOf = ({ vector, ...item }: Omit<ItemRow, 'id' | 'themeId'>): Member => ({
  ...item,
  vector: vectorOf(vector),
})

/** A theme after its members changed. */
export interface Touched {
  readonly id: string
  readonly count: number
  readonly titledCount: number
}

/**
 * Writes what moves change in their themes. Write the items first. Themes without members are deleted.
 * @returns the themes that have members
 */
export async function applyMoves(
  tx: Tx,
  organizationId: string,
  moves: readonly Move[],
): Promise<readonly Touched[]> {
  if (moves.length === 0) return []
  const byTheme = Map.groupBy(moves, ({ themeId }) => themeId)
  const themes = await store.lockThemes(tx, organizationId, [...byTheme.keys()])
  const foreign = new Map<string, Int32Array>()
  for (const { id, centroid } of themes)
    if (sumOf(centroid) === null) foreign.set(id, await sumOfMembers(tx, organizationId, id))
  const after = themes.map((theme) => {
    const steps = byTheme.get(theme.id) ?? []
    const totals = totalsAfter({ ...theme, sum: sumOf(theme.centroid) ?? emptySum() }, steps)
    return {
      ...totals,
      sum: foreign.get(theme.id) ?? totals.sum,
      id: theme.id,
      titledCount: theme.titledCount,
      isUsed: steps.some(({ times }) => times === 1),
    }
  })
  const days = themes.flatMap(({ id }) =>
    (byTheme.get(id) ?? []).map(({ times, member: { occurredAt, channel, rating } }) => ({
      themeId: id,
      occurredAt,
      channel,
      rating,
      times,
    })),
  )
  await store.saveTotals(
    tx,
    organizationId,
    after.map(({ titledCount: _, ...totals }) => totals),
  )
  await addDays(tx, organizationId, days)
  const empty = after.filter(({ count }) => count === 0)
  await store.deleteEmptyThemes(
    tx,
    organizationId,
    empty.map(({ id }) => id),
  )
  return after.flatMap(({ id, count, titledCount }) => (count === 0 ? [] : [{ id, count, titledCount }]))
}

/** Of a theme whose sum an earlier version wrote. */
async function sumOfMembers(tx: Tx, organizationId: string, themeId: string): Promise<Int32Array> {
  const sum = emptySum()
  for (const { vector, locked } of await readMemberVectors(tx, organizationId, themeId))
    addTo(sum, vectorOf(vector), weightOf({ locked }))
  return sum
}

/** Puts items into other themes, or into the pool. */
export async function moveItems(
  tx: Tx,
  organizationId: string,
  items: readonly ItemRow[],
  placingOf: (item: ItemRow) => Omit<Placing, 'id'>,
): Promise<readonly Touched[]> {
  const placed = items.map((item) => ({ item, placing: { id: item.id, ...placingOf(item) } }))
  await placeItems(
    tx,
    organizationId,
    placed.map(({ placing }) => placing),
  )
  const moves = placed.flatMap(({ item, placing }): Move[] => {
    const member = memberOf(item)
    const leaves: Move[] = item.themeId === null ? [] : [{ themeId: item.themeId, member, times: -1 }]
    if (placing.themeId === null) return leaves
    return [...leaves, { themeId: placing.themeId, member: { ...member, locked: placing.locked }, times: 1 }]
  })
  return applyMoves(tx, organizationId, moves)
}
