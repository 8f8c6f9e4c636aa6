/** Themes without an actor, for tests that need an object of each kind: one with two items, and one without. */
import type { Sql } from '../../src/platform/db/pool.ts'
import { newId } from '../../src/platform/ids.ts'
import { addRecord } from './themes.ts'

export async function insertTheme(sql: Sql, organizationId: string) {
  const [themeId, otherThemeId] = [newId(), newId()]
  await sql`insert into theme_progress (organization_id, items) values (${organizationId}, 2)`
  for (const id of [themeId, otherThemeId])
    await sql`
      insert into theme (id, organization_id, title, centroid, weight, count)
      values (${id}, ${organizationId}, 'export', ${Buffer.alloc(2_048)}, 2, 2)`
  const [itemId, otherItemId] = [
    await insertItem(sql, organizationId, themeId),
    await insertItem(sql, organizationId, themeId),
  ]
  return { themeId, otherThemeId, itemId, otherItemId }
}

async function insertItem(sql: Sql, organizationId: string, themeId: string): Promise<string> {
  const { recordId, signalIds } = await addRecord(sql, organizationId, [{ text: 'The export crashes' }])
  const [item] = await sql`
    insert into theme_item (organization_id, channel, subject_id, passage, signal_id, rating, occurred_at, theme_id, vector, terms)
    values (
      ${organizationId}, 'feedback', ${String(recordId)}, 'x', ${signalIds[0]!}, 'negative', now(), ${themeId},
      ${Buffer.alloc(256)}, '{export}'
    )
    returning id`
  return String(item?.id)
}
