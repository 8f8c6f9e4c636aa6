/**
 * Makes items of new findings, and gives each item the nearest theme, or none. Texts are embedded outside of any transaction. What was read
 * meanwhile may change: themes that were merged pass the item on, and themes that are gone leave it in the pool.
 */

import type { TextWork } from '../../analysis/analyze/text-work.ts'
import { mapInSlices } from '../../platform/concurrency/time-slicing.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import * as queue from './changes.store.ts'
import { removeItems, unique } from './forget.ts'
import { type Difference, differenceOf, type Kept, type WantedItem, wantedItems } from './items.rules.ts'
import { insertItems, readItems, readItemsOf, updateItems } from './items.store.ts'
import { termChanges, totalsAfter } from './members.rules.ts'
import { applyMoves, type Move, memberOf, type Touched } from './membership.ts'
import { nearest, type Point, pointOfItem, pointOfTheme, type Surroundings } from './nearness.rules.ts'
import * as store from './themes.store.ts'
import { emptySum, sumOf, unpacked, vectorBytes } from './vector.rules.ts'

/** Items that a turn makes, and changes that it looks at. */
export const MAX_ASSIGNED = 200
/** An item that is not nearer than this to any theme stays in the pool. */
const FLOOR = 0.55

/** What a turn of `assign` has to do. */
export interface Work extends Difference {
  readonly changes: readonly queue.ChangeRow[]
}

/** @param most changes to look at: fewer after a failure, so that one bad text does not hold up others */
export async function readWork(tx: Query, organizationId: string, most: number): Promise<Work> {
  const changes = await queue.readChanges(tx, organizationId, false, Math.min(most, MAX_ASSIGNED))
  const subjects = unique(changes)
  const findings = await queue.readFindings(tx, organizationId, subjects)
  const present = await readItemsOf(tx, organizationId, subjects)
  const differences = subjects.map((subject) => {
    const isOf = (one: queue.SubjectKey) =>
      one.channel === subject.channel && one.subjectId === subject.subjectId
    return { subject, ...differenceOf(present.filter(isOf), wantedItems(findings.filter(isOf))) }
  })
  const taken: typeof differences = []
  let items = 0
  for (const one of differences) {
    items += one.add.length + one.keep.filter(isOutdated).length
    if (items > MAX_ASSIGNED && taken.length > 0) break
    taken.push(one)
  }
  const keys = new Set(taken.map(({ subject }) => `${subject.channel} ${subject.subjectId}`))
  return {
    changes: changes.filter((one) => keys.has(`${one.channel} ${one.subjectId}`)),
    remove: taken.flatMap(({ remove }) => remove),
    keep: taken.flatMap(({ keep }) => keep),
    add: taken.flatMap(({ add }) => add),
  }
}

/** An item whose vector is made anew. */
export const isOutdated = ({ present }: Kept): boolean => present.isOutdated

export async function embed(
  textWork: TextWork,
  items: readonly Pick<WantedItem, 'text'>[],
  signal: AbortSignal,
  organizationId: string,
): Promise<readonly Int8Array[]> {
  const texts = items.map(({ text }) => text)
  const packed = texts.length === 0 ? [] : await textWork.run('embed', { texts }, signal, organizationId)
  return packed.map(unpacked)
}

export interface Assigned {
  readonly item: WantedItem
  readonly vector: Int8Array
  readonly themeId: string | null
  readonly score: number | null
}

interface Candidate {
  readonly id: string
  totals: ReturnType<typeof totalsAfter>
  point: Point
}

/** Chooses the theme of each item, in their order: an item counts in its theme when the next one is compared. */
export async function choose(
  themes: readonly Pick<store.ThemeRow, 'id' | 'centroid' | 'terms' | 'weight' | 'count'>[],
  surroundings: Surroundings,
  items: readonly WantedItem[],
  vectors: readonly Int8Array[],
): Promise<readonly Assigned[]> {
  const pointOf = ({ sum, terms, weight }: Candidate['totals']) =>
    pointOfTheme(sum, terms, weight, surroundings)
  const candidates = await mapInSlices(themes, ({ centroid, ...theme }): Candidate => {
    const totals = { ...theme, sum: sumOf(centroid) ?? emptySum() }
    return { id: theme.id, totals, point: pointOf(totals) }
  })
  return mapInSlices(items, (item, index) => {
    const vector = vectors[index]!
    const found = nearest(pointOfItem(vector, item.terms, surroundings), candidates, FLOOR)
    if (found === null) return { item, vector, themeId: null, score: null }
    const { theme, score } = found
    theme.totals = totalsAfter(theme.totals, [{ member: { ...item, vector, locked: false }, times: 1 }])
    theme.point = pointOf(theme.totals)
    return { item, vector, themeId: theme.id, score }
  })
}

export interface Saved {
  readonly touched: readonly Touched[]
  readonly hasMore: boolean
  /** Items since the pool was linked. */
  readonly unlinked: number
}

/**
 * Writes what a turn found out, and takes its changes out of the queue.
 * @param renewed vectors of items that had one of an earlier version, by the id of the item
 */
export async function saveAssigned(
  tx: Tx,
  organizationId: string,
  work: Work,
  assigned: readonly Assigned[],
  renewed: ReadonlyMap<number, Int8Array>,
): Promise<Saved> {
  const progress = await store.lockProgress(tx, organizationId)
  const changes = work.changes.map(({ id }) => id)
  if (progress === null) {
    await queue.deleteChanges(tx, organizationId, changes)
    return { touched: [], hasMore: await queue.hasChanges(tx, organizationId, false), unlinked: 0 }
  }
  const touched = [
    ...(await removeItems(
      tx,
      organizationId,
      work.remove.map(({ id }) => id),
    )),
    ...(await updateKept(tx, organizationId, work, renewed)),
  ]
  const { moves, added } = await insertAssigned(tx, organizationId, assigned)
  touched.push(...(await applyMoves(tx, organizationId, moves)))
  await queue.deleteChanges(tx, organizationId, changes)
  const hasMore = await queue.hasChanges(tx, organizationId, false)
  return { touched: newest(touched), hasMore, unlinked: progress.unlinked + added }
}

/** Of each theme, what is known last. */
const newest = (touched: readonly Touched[]) => [...new Map(touched.map((one) => [one.id, one])).values()]

async function insertAssigned(tx: Tx, organizationId: string, assigned: readonly Assigned[]) {
  const ids = [...new Set(assigned.flatMap(({ themeId }) => themeId ?? []))]
  const kept = await store.keptThemes(tx, organizationId, ids)
  const placed = assigned.map(({ themeId, ...one }) => ({
    ...one,
    themeId: themeId === null ? null : (kept.get(themeId) ?? null),
  }))
  const inserted = await insertItems(
    tx,
    organizationId,
    placed.map(({ item, vector, themeId, score }) => ({
      ...item,
      vector: vectorBytes(vector).toString('base64'),
      themeId,
      score: themeId === null ? null : score,
    })),
  )
  const keyOf = (one: Pick<WantedItem, 'subjectId' | 'passage'> & { readonly channel: string }) =>
    `${one.channel} ${one.subjectId} ${one.passage}`
  const isNew = new Set(inserted.map(keyOf))
  const steps = placed
    .filter(({ item }) => isNew.has(keyOf(item)))
    .map(({ item, vector, themeId }) => ({
      member: { ...item, vector, locked: false },
      times: 1 as const,
      themeId,
    }))
  await store.addTerms(tx, organizationId, termChanges(steps))
  await store.addProgress(tx, organizationId, steps, steps.length)
  const moves = steps.flatMap(({ themeId, ...step }): Move[] =>
    themeId === null ? [] : [{ ...step, themeId }],
  )
  return { moves, added: steps.length }
}

/** Updates day, rating and vector of items whose passage is unchanged. They keep their theme. */
async function updateKept(
  tx: Tx,
  organizationId: string,
  { keep }: Work,
  renewed: ReadonlyMap<number, Int8Array>,
): Promise<readonly Touched[]> {
  if (keep.length === 0) return []
  const before = await readItems(
    tx,
    organizationId,
    keep.map(({ present }) => present.id),
  )
  const changed = new Map(keep.map(({ present, item }) => [present.id, item]))
  await updateItems(
    tx,
    organizationId,
    before.map(({ id }) => {
      const { signalId, rating, occurredAt } = changed.get(id)!
      const vector = renewed.get(id)
      return {
        id,
        signalId,
        rating,
        occurredAt,
        vector: vector === undefined ? null : vectorBytes(vector).toString('base64'),
      }
    }),
  )
  const steps = before.flatMap((item) => {
    const { rating, occurredAt } = changed.get(item.id)!
    const member = memberOf(item)
    const after = { ...member, rating, occurredAt, vector: renewed.get(item.id) ?? member.vector }
    return [
      { themeId: item.themeId, member, times: -1 as const },
      { themeId: item.themeId, member: after, times: 1 as const },
    ]
  })
  await store.addProgress(tx, organizationId, renewed.size === 0 ? [] : steps, 0)
  const moves = steps.flatMap(({ themeId, ...step }): Move[] =>
    themeId === null ? [] : [{ ...step, themeId }],
  )
  return applyMoves(tx, organizationId, moves)
}
