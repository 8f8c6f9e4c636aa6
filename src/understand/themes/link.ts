/**
 * Makes themes of items that no theme took: groups by average linkage with at least three subjects. Joins themes that have grown alike, except
 * those that a person changed.
 */

import { inSlices, mapInSlices } from '../../platform/concurrency/time-slicing.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import type { NewId } from '../../platform/ids.ts'
import {
  type ItemRow,
  type PoolRow,
  readItems,
  readMembers,
  readPool,
  readQuotations,
} from './items.store.ts'
import { connected, linkage } from './linkage.rules.ts'
import { NOTHING, totalsAfter } from './members.rules.ts'
import { memberOf, moveItems, type Touched } from './membership.ts'
import { createIndex, type Point, pointOfItem, pointOfTheme, type Surroundings } from './nearness.rules.ts'
import { readSurroundings } from './surroundings.ts'
import * as store from './themes.store.ts'
import { MIN_SUBJECTS, titleOf } from './title.rules.ts'
import { emptySum, sumBytes, sumOf, vectorOf } from './vector.rules.ts'

/** Newest items of the pool that are compared: the work grows with the square. */
const POOL = 2_000
/** Groups nearer than this are joined to one theme. */
const CUT = 0.5
/** Themes nearer than this are merged. */
const MERGE = 0.5
/** Themes of an organization. */
export const MAX_THEMES = 1_000
/** Members of a theme that may be given up for a new one. */
const SMALL = 20
const KEPT_TERMS = 20_000

/** What a turn of `link` will do. */
export interface Plan {
  /** Items of the pool, by the theme they make or join. */
  readonly groups: readonly Group[]
  /** Pairs of themes: the first keeps its id. */
  readonly merges: readonly (readonly [kept: string, merged: string])[]
  readonly surroundings: Surroundings
}
interface Group {
  /** Null: a new theme. */
  readonly themeId: string | null
  readonly itemIds: readonly number[]
}

interface Known {
  readonly id: string
  readonly point: Point
  readonly isKept: boolean
  readonly isUsed: boolean
}

export async function planLinks(tx: Query, organizationId: string): Promise<Pool> {
  const surroundings = await readSurroundings(tx, organizationId)
  const pool = await readPool(tx, organizationId, POOL)
  const themes = await store.readThemes(tx, organizationId)
  return { surroundings, pool, themes }
}

/** What is compared: as read from the database. */
export interface Pool {
  readonly surroundings: Surroundings
  readonly pool: readonly PoolRow[]
  readonly themes: readonly store.ThemeRow[]
}

/** Compares. It takes a while, so it pauses after a few milliseconds each time. */
export async function link({ surroundings, pool, themes }: Pool): Promise<Plan> {
  const points = await mapInSlices(pool, ({ vector, terms }) =>
    pointOfItem(vectorOf(vector), terms, surroundings),
  )
  const chosen = await inSlices(connected(points, (index) => pool[index]!.isNew, CUT))
  const numbers = await inSlices(
    linkage(
      chosen.map((index) => points[index]!),
      CUT,
    ),
  )
  const members = chosen.map((index) => pool[index]!)
  const groups = [...Map.groupBy(members, (_, place) => numbers[place]).values()].filter(
    (items) => new Set(items.map(({ channel, subjectId }) => `${channel} ${subjectId}`)).size >= MIN_SUBJECTS,
  )
  const known = await mapInSlices(
    themes,
    (theme): Known => ({
      ...theme,
      point: pointOfTheme(sumOf(theme.centroid) ?? emptySum(), theme.terms, theme.weight, surroundings),
    }),
  )
  const index = createIndex(known.map(({ point }) => point))
  const planned = await mapInSlices(groups, (items): Group => {
    const steps = items.map((item) => ({ member: memberOf(item), times: 1 as const }))
    const { sum, terms, weight } = totalsAfter(NOTHING, steps)
    const scores = index.nearnesses(pointOfTheme(sum, terms, weight, surroundings))
    const best = scores.indexOf(Math.max(...scores))
    const themeId = (scores[best] ?? 0) > MERGE ? known[best]!.id : null
    return { themeId, itemIds: items.map(({ id }) => id) }
  })
  return { groups: planned, merges: await alike(known, index), surroundings }
}

/** Pairs of themes that are alike, the nearest first; each theme in one pair at most. The older one, whose id is smaller, stays. */
async function alike(
  themes: readonly Known[],
  index: ReturnType<typeof createIndex>,
): Promise<Plan['merges']> {
  const used = themes.filter(({ isKept, isUsed }) => !isKept && isUsed)
  const pairs = (
    await mapInSlices(used, (a) =>
      [...index.nearnesses(a.point)].flatMap((score, place) => {
        const b = themes[place]!
        return score > MERGE && a !== b && !b.isKept ? [{ a, b, score }] : []
      }),
    )
  ).flat()
  pairs.sort((one, other) => other.score - one.score)
  const taken = new Set<string>()
  return pairs.flatMap(({ a, b }): [string, string][] => {
    if (taken.has(a.id) || taken.has(b.id)) return []
    taken.add(a.id).add(b.id)
    return [a.id < b.id ? [a.id, b.id] : [b.id, a.id]]
  })
}

export interface Linked {
  readonly touched: readonly Touched[]
  readonly created: readonly string[]
  readonly merged: readonly string[]
}

/** Writes the plan, as far as people have not changed what it is about. */
export async function saveLinks(tx: Tx, organizationId: string, newId: NewId, plan: Plan): Promise<Linked> {
  if ((await store.lockProgress(tx, organizationId)) === null) return { touched: [], created: [], merged: [] }
  const present = await store.readThemes(tx, organizationId)
  const free = await makeRoom(tx, organizationId, present.length, plan)
  const ids = plan.groups.flatMap(({ itemIds }) => itemIds)
  const items = new Map(
    (await readItems(tx, organizationId, ids))
      .filter(({ themeId, locked }) => themeId === null && !locked)
      .map((item) => [item.id, item]),
  )
  const isPresent = new Set(present.map(({ id }) => id))
  const touched: Touched[] = []
  const created: string[] = []
  for (const { themeId, itemIds } of plan.groups) {
    const members = itemIds.flatMap((id) => items.get(id) ?? [])
    const existing = themeId !== null && isPresent.has(themeId) ? themeId : null
    if (existing === null && (members.length < MIN_SUBJECTS || created.length >= free)) continue
    const id = existing ?? (await createTheme(tx, organizationId, newId(), members, plan.surroundings))
    if (existing === null) created.push(id)
    touched.push(
      ...(await moveItems(tx, organizationId, members, () => ({ themeId: id, score: null, locked: false }))),
    )
  }
  const merged = await mergeAlike(tx, organizationId, plan.merges)
  await store.pruneTerms(tx, organizationId, KEPT_TERMS)
  await store.markLinked(tx, organizationId)
  return { touched, created, merged }
}

async function createTheme(
  tx: Tx,
  organizationId: string,
  id: string,
  members: readonly ItemRow[],
  surroundings: Surroundings,
): Promise<string> {
  const quotations = await readQuotations(
    tx,
    organizationId,
    members.map((one) => one.id),
  )
  const title = titleOf(quotations, surroundings)
  await store.insertThemes(
    tx,
    organizationId,
    [{ id, title, titleBy: 'terms' as const, titledCount: members.length }],
    sumBytes(emptySum()),
  )
  return id
}

/** Returns the members of small themes that are not used to the pool. @returns how many themes may be created */
async function makeRoom(tx: Tx, organizationId: string, count: number, plan: Plan): Promise<number> {
  const wanted = plan.groups.filter(({ themeId }) => themeId === null).length
  const missing = count + wanted - MAX_THEMES
  if (missing <= 0) return wanted
  const dropped = await store.leastUsed(tx, organizationId, SMALL, missing)
  for (const { id } of dropped) {
    const members = await readMembers(tx, organizationId, id, SMALL)
    await moveItems(tx, organizationId, members, () => ({ themeId: null, score: null, locked: false }))
  }
  return wanted - missing + dropped.length
}

async function mergeAlike(
  tx: Tx,
  organizationId: string,
  merges: Plan['merges'],
): Promise<readonly string[]> {
  if (merges.length === 0) return []
  const themes = await store.lockThemes(tx, organizationId, merges.flat())
  const kept = await store.keptThemes(tx, organizationId, merges.flat())
  const isFree = (id: string) => themes.some((one) => one.id === id && !one.isKept) && kept.get(id) === id
  const merged: string[] = []
  for (const [into, id] of merges)
    if (isFree(into) && isFree(id))
      merged.push(...(await store.mergeThemes(tx, organizationId, id, into)).map((one) => one.id))
  return merged
}
