/** Moves the items of themes that people, or `link`, merged or split: a batch a turn. The turns only run SQL. */
import type { PayloadOf } from '../../actors/declaration.ts'
import type { themesMessages } from '../../kernel/messages/themes.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { readItems, readMembers, readMembersAfter } from './items.store.ts'
import { moveItems, type Touched } from './membership.ts'
import { nearness, pointOfItem } from './nearness.rules.ts'
import { readSurroundings } from './surroundings.ts'
import { keptThemes, lockProgress } from './themes.store.ts'
import { findTitle } from './titles.store.ts'
import { vectorOf } from './vector.rules.ts'

/** Items that a turn moves. */
const BATCH = 1_000

export interface Moved {
  readonly touched: readonly Touched[]
  readonly hasMore: boolean
}

const NONE: Moved = { touched: [], hasMore: false }

/** Moves items of a merged theme to the theme that has its id now. */
export async function moveMerged(tx: Tx, organizationId: string, themeId: string): Promise<Moved> {
  if ((await lockProgress(tx, organizationId)) === null) return NONE
  const into = (await findTitle(tx, organizationId, themeId))?.mergedInto ?? null
  if (into === null) return NONE
  const items = await readMembers(tx, organizationId, themeId, BATCH)
  const touched = await moveItems(tx, organizationId, items, ({ locked }) => ({
    themeId: into,
    score: null,
    locked,
  }))
  return { touched: touched.filter(({ id }) => id === into), hasMore: items.length === BATCH }
}

type Split = PayloadOf<typeof themesMessages, 'split'>

/** Moves items of a theme that are nearer to the second item than to the first. @returns the payload of the next turn, or null */
export async function moveSplit(
  tx: Tx,
  organizationId: string,
  payload: Split,
): Promise<Moved & { readonly next: Split | null }> {
  const none = { ...NONE, next: null }
  if ((await lockProgress(tx, organizationId)) === null) return none
  const ids = [payload.themeId, payload.newThemeId]
  const kept = await keptThemes(tx, organizationId, ids)
  const seeds = await readItems(tx, organizationId, payload.items)
  const [first, second] = payload.items.map((id) => seeds.find((one) => one.id === id))
  // If one was merged or deleted meanwhile, the rest stays where it is.
  if (ids.some((id) => kept.get(id) !== id) || first === undefined || second === undefined) return none
  const surroundings = await readSurroundings(tx, organizationId)
  const pointOf = ({ vector, terms }: typeof first) => pointOfItem(vectorOf(vector), terms, surroundings)
  const [a, b] = [pointOf(first), pointOf(second)]
  const items = await readMembersAfter(tx, organizationId, payload.themeId, payload.after, BATCH)
  const nearer = items.filter((item) => {
    const point = pointOf(item)
    return nearness(point, b) > nearness(point, a)
  })
  const touched = await moveItems(tx, organizationId, nearer, () => ({
    themeId: payload.newThemeId,
    score: null,
    locked: false,
  }))
  const last = items.at(-1)
  const hasMore = items.length === BATCH && last !== undefined
  const after: [string, number] | null = last === undefined ? null : [last.moment, last.id]
  return { touched, hasMore, next: hasMore ? { ...payload, after } : null }
}
