/** The SQL of the titles of themes. */
import type { Query, Tx } from '../platform/db/pool.ts'

export interface TitledRow {
  readonly title: string
  readonly titleBy: string
  readonly count: number
  readonly mergedInto: string | null
}

export async function findTitle(tx: Query, organizationId: string, id: string): Promise<TitledRow | null> {
  const [row] = await tx<TitledRow[]>`
    select title, title_by as "titleBy", count, merged_into as "mergedInto"
    from theme
    where organization_id = ${organizationId} and id = ${id}`
  return row ?? null
}

/** Gives a title, unless a person gave one. */
export async function saveTitle(
  tx: Tx,
  organizationId: string,
  id: string,
  { title, titleBy }: { readonly title: string; readonly titleBy: 'terms' | 'model' },
): Promise<void> {
  await tx`
    update theme
    set title = ${title}, title_by = ${titleBy}, titled_count = count, updated_at = now()
    where organization_id = ${organizationId} and id = ${id} and title_by <> 'person' and merged_into is null`
}

/** Titles of other themes, of those with the most items. */
export const otherTitles = (tx: Query, organizationId: string, id: string, limit: number) => tx<
  { title: string }[]
>`
  select title
  from theme
  where organization_id = ${organizationId} and id <> ${id} and merged_into is null
  order by count desc, id
  limit ${limit}`
