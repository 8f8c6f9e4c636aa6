/** Removes items whose passage has no finding any more, with all that they brought to their themes. */
import type { Tx } from '../../platform/db/pool.ts'
import * as queue from './changes.store.ts'
import { differenceOf, wantedItems } from './items.rules.ts'
import { deleteItems, readItems, readItemsOf } from './items.store.ts'
import { termChanges } from './members.rules.ts'
import { applyMoves, type Move, memberOf, type Touched } from './membership.ts'
import { addProgress, addTerms, lockProgress } from './themes.store.ts'

/** Changes that a turn handles. */
const CHANGES = 200

/** Deletes items. @returns the themes that lost some and have others */
export async function removeItems(
  tx: Tx,
  organizationId: string,
  ids: readonly number[],
): Promise<readonly Touched[]> {
  if (ids.length === 0) return []
  const items = await readItems(tx, organizationId, ids)
  const steps = items.map((item) => ({ member: memberOf(item), times: -1 as const, themeId: item.themeId }))
  await deleteItems(
    tx,
    organizationId,
    items.map(({ id }) => id),
  )
  await addTerms(tx, organizationId, termChanges(steps))
  await addProgress(tx, organizationId, steps, 0)
  const moves = steps.flatMap(({ themeId, ...step }): Move[] =>
    themeId === null ? [] : [{ ...step, themeId }],
  )
  return applyMoves(tx, organizationId, moves)
}

/** One turn of `forget`. It only runs SQL. */
export async function forget(tx: Tx, organizationId: string) {
  const locked = await lockProgress(tx, organizationId)
  const changes = await queue.readChanges(tx, organizationId, true, CHANGES)
  const findings = await queue.readFindings(tx, organizationId, changes)
  const present = await readItemsOf(tx, organizationId, unique(changes))
  const { remove } = differenceOf(present, wantedItems(findings))
  const touched =
    locked === null
      ? []
      : await removeItems(
          tx,
          organizationId,
          remove.map(({ id }) => id),
        )
  await queue.deleteChanges(
    tx,
    organizationId,
    changes.map(({ id }) => id),
  )
  return { touched, hasMore: changes.length === CHANGES }
}

/** Each subject once, in the order of the changes. */
export function unique<T extends queue.SubjectKey>(subjects: readonly T[]): readonly T[] {
  return [...new Map(subjects.map((one) => [`${one.channel} ${one.subjectId}`, one])).values()]
}
