/** The SQL of the titles of themes. */
import type { Query, Tx } from '../../platform/db/pool.ts'

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

export interface Title {
  readonly title: string
  readonly titleBy: 'terms' | 'model'
  /** What the items have in common. */
  readonly words: string
  /** The finding that the title quotes. */
  readonly quotedId: string | null
}

/** Gives a title, unless a person gave one. */
export async function saveTitle(
  tx: Tx,
  organizationId: string,
  id: string,
  { title, titleBy, words, quotedId }: Title,
): Promise<void> {
  await tx`
    update theme
    set title = ${title}, title_by = ${titleBy}, words = ${words}, quoted_id = ${quotedId}, titled_count = count, updated_at = now()
    where organization_id = ${organizationId} and id = ${id} and title_by <> 'person' and merged_into is null`
}

/** Has these themes get another title with their next item or vector, unless a person or a model server gave the title. */
export async function expireTitles(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx`
    update theme
    set titled_count = 0
    where id = any(${ids as string[]}::text[]::uuid[]) and title_by = 'terms' and titled_count > 0`
}

/** Titles of other themes, of those with the most items. */
export const otherTitles = (tx: Query, organizationId: string, id: string, limit: number) => tx<
  { title: string }[]
>`
  select theme_title(t) as title
  from theme t
  where t.organization_id = ${organizationId} and t.id <> ${id} and t.merged_into is null
  order by t.count desc, t.id
  limit ${limit}`

/** Titles and words of all themes but this one, in small letters: none is given twice. */
export async function takenTitles(
  tx: Query,
  organizationId: string,
  id: string,
): Promise<ReadonlySet<string>> {
  const rows = await tx<{ title: string }[]>`
    select lower(title) as title
    from theme
    where organization_id = ${organizationId} and id <> ${id} and merged_into is null`
  return new Set(rows.map(({ title }) => title))
}

/** Themes whose title may not be shown any more: what it quotes is gone, or not open to everybody. */
export const brokenTitles = (tx: Query, organizationId: string, limit: number) => tx<{ id: string }[]>`
  select t.id
  from theme t
  where t.organization_id = ${organizationId} and t.merged_into is null and not theme_title_holds(t)
  limit ${limit}`
