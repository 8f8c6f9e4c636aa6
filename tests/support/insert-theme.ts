/** Themes without an actor, for tests that need an object of each kind: one with two items, and one with one. */

import type { Query, Sql } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { newId } from '../../src/platform/ids.ts'
import { passageOf } from '../../src/understand/themes/items.rules.ts'
import { stemsOf } from '../../src/understand/themes/words.rules.ts'
import { addRecord } from './themes.ts'

const TEXT = 'The export crashes'
const ITEMS = 2
const OTHER_ITEMS = 1

/** In one transaction, as a worker may follow the findings at once. What the actor would count agrees with the items. */
export function insertTheme(sql: Sql, organizationId: string) {
  return transaction(sql, async (tx) => {
    const [themeId, otherThemeId] = [newId(), newId()]
    // The actor may have begun with other items of the organization.
    await tx`
      insert into theme_progress as p (organization_id, items) values (${organizationId}, ${ITEMS + OTHER_ITEMS})
      on conflict (organization_id) do update set items = p.items + excluded.items`
    for (const [id, count] of [
      [themeId, ITEMS],
      [otherThemeId, OTHER_ITEMS],
    ] as const) {
      await tx`
        insert into theme (id, organization_id, title, centroid, weight, count)
        values (${id}, ${organizationId}, 'export', ${Buffer.alloc(2_048)}, ${count}, ${count})`
      await tx`
        insert into theme_day (theme_id, day, channel, organization_id, count, negative, positive)
        values (${id}, (now() at time zone 'UTC')::date, 'feedback', ${organizationId}, ${count}, ${count}, 0)`
    }
    for (const term of stemsOf(TEXT))
      await tx`
        insert into theme_term as t (organization_id, term, count) values (${organizationId}, ${term}, ${ITEMS + OTHER_ITEMS})
        on conflict (organization_id, term) do update set count = t.count + excluded.count`
    const [itemId, otherItemId] = [
      await insertItem(tx, organizationId, themeId),
      await insertItem(tx, organizationId, themeId),
    ]
    for (let n = 0; n < OTHER_ITEMS; n++) await insertItem(tx, organizationId, otherThemeId)
    return { themeId, otherThemeId, itemId, otherItemId }
  })
}

async function insertItem(tx: Query, organizationId: string, themeId: string): Promise<string> {
  const { recordId, signalIds } = await addRecord(tx, organizationId, [{ text: TEXT }])
  const [item] = await tx`
    insert into theme_item (organization_id, channel, subject_id, passage, signal_id, rating, occurred_at, theme_id, vector, terms)
    values (
      ${organizationId}, 'feedback', ${String(recordId)}, ${passageOf(TEXT)}, ${signalIds[0]!}, 'negative', now(), ${themeId},
      ${Buffer.alloc(256)}, ${stemsOf(TEXT) as string[]}::text[]
    )
    returning id`
  return String(item?.id)
}
