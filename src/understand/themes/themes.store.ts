/** The SQL that writes themes, their days, and what an organization's words are. Callers that write hold the organization's lock. */
import type { Query, Tx } from '../../platform/db/pool.ts'
import type { Step, Totals } from './members.rules.ts'
import { addTo, emptySum, sumBytes, sumOf } from './vector.rules.ts'

export interface ProgressRow {
  readonly items: number
  readonly unlinked: number
}

/** Locks the themes of the organization until the transaction ends. @returns null if there is no such organization */
export async function lockProgress(tx: Tx, organizationId: string): Promise<ProgressRow | null> {
  const [row] = await tx<ProgressRow[]>`
    insert into theme_progress as p (organization_id, time_zone)
    select id, time_zone from organization where id = ${organizationId}
    on conflict (organization_id) do update set items = p.items
    returning p.items, p.unlinked`
  return row ?? null
}

export interface Progress {
  readonly items: number
  /** The sum of the vectors of all items; null: none was added. */
  readonly vectorSum: Uint8Array | null
}

export async function readProgress(tx: Query, organizationId: string): Promise<Progress | undefined> {
  const [row] = await tx<Progress[]>`
    select items, vector_sum as "vectorSum" from theme_progress where organization_id = ${organizationId}`
  return row
}

/** Counts items that come and go, and their vectors, each once. */
export async function addProgress(
  tx: Tx,
  organizationId: string,
  steps: readonly Pick<Step, 'times' | 'member'>[],
  unlinked: number,
): Promise<void> {
  if (steps.length === 0) return
  const before = await readProgress(tx, organizationId)
  const sum = (before?.vectorSum == null ? null : sumOf(before.vectorSum)) ?? emptySum()
  let items = 0
  for (const { member, times } of steps) {
    addTo(sum, member.vector, times)
    items += times
  }
  await tx`
    update theme_progress
    set items = greatest(0, items + ${items}::int), unlinked = greatest(0, unlinked + ${unlinked}::int),
      vector_sum = ${sumBytes(sum)}::bytea
    where organization_id = ${organizationId}`
}

export async function markLinked(tx: Tx, organizationId: string): Promise<void> {
  await tx`
    update theme_progress set unlinked = 0, linked_at = now() where organization_id = ${organizationId}`
}

/** Organizations with new items without a theme, whose pool was not linked for a while. */
export const unlinkedOrganizations = (sql: Query, seconds: number, limit: number) => sql<
  { readonly organizationId: string }[]
>`
  select organization_id as "organizationId"
  from theme_progress
  where unlinked > 0 and linked_at < now() - ${seconds}::int * interval '1 second'
  order by linked_at
  limit ${limit}`

export interface TermRow {
  readonly term: string
  readonly count: number
}

export const readTerms = (tx: Query, organizationId: string) => tx<TermRow[]>`
  select term, count from theme_term where organization_id = ${organizationId}`

export async function addTerms(
  tx: Tx,
  organizationId: string,
  changes: ReadonlyMap<string, number>,
): Promise<void> {
  const rows = [...changes].map(([term, change]) => ({ term, change }))
  const more = rows.filter(({ change }) => change > 0)
  const fewer = rows.filter(({ change }) => change < 0)
  if (more.length > 0)
    await tx`
      insert into theme_term as t (organization_id, term, count)
      select ${organizationId}, r.term, r.change
      from json_to_recordset(${JSON.stringify(more)}::text::json) as r (term text, change int)
      on conflict (organization_id, term) do update set count = t.count + excluded.count`
  if (fewer.length === 0) return
  await tx`
    update theme_term t
    set count = greatest(0, t.count + r.change)
    from json_to_recordset(${JSON.stringify(fewer)}::text::json) as r (term text, change int)
    where t.organization_id = ${organizationId} and t.term = r.term`
  await tx`
    delete from theme_term
    where organization_id = ${organizationId} and count = 0 and term = any(${fewer.map(({ term }) => term)}::text[])`
}

/** Keeps the most frequent terms. */
export async function pruneTerms(tx: Tx, organizationId: string, keep: number): Promise<void> {
  await tx`
    delete from theme_term
    where organization_id = ${organizationId}
      and term in (
        select term
        from theme_term
        where organization_id = ${organizationId}
        order by count desc, term
        offset ${keep}
      )`
}

export interface ThemeRow {
  readonly id: string
  readonly centroid: Uint8Array
  readonly terms: Readonly<Record<string, number>>
  readonly weight: number
  readonly count: number
  readonly titledCount: number
  /** No machine merges or removes it. */
  readonly isKept: boolean
  /** It got members since the pool was linked last. */
  readonly isUsed: boolean
}

const columns = (tx: Query) => tx`
  t.id, t.centroid, t.terms, t.weight, t.count, t.titled_count as "titledCount",
  t.pinned or t.hidden or t.shaped or t.title_by = 'person' as "isKept"`

/** Themes that take items: those that were not merged into another. */
export const readThemes = (tx: Query, organizationId: string) => tx<ThemeRow[]>`
  select ${columns(tx)}, t.used_at > p.linked_at as "isUsed"
  from theme t
  join theme_progress p on p.organization_id = t.organization_id
  where t.organization_id = ${organizationId} and t.merged_into is null
  order by t.id`

/** Locks them until the transaction ends. */
export const lockThemes = (tx: Tx, organizationId: string, ids: readonly string[]) => tx<
  Omit<ThemeRow, 'isUsed'>[]
>`
  select ${columns(tx)}
  from theme t
  where t.organization_id = ${organizationId} and t.id = any(${ids as string[]}::text[]::uuid[])
  order by t.id
  for no key update`

/** Which theme has the items of a theme now. Themes that are gone are left out. */
export async function keptThemes(
  tx: Query,
  organizationId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await tx<{ id: string; kept: string }[]>`
    select id, coalesce(merged_into, id) as kept
    from theme
    where organization_id = ${organizationId} and id = any(${ids as string[]}::text[]::uuid[])`
  return new Map(rows.map(({ id, kept }) => [id, kept]))
}

export interface SavedTotals extends Totals {
  readonly id: string
  readonly isUsed: boolean
}

/** Call it after the items were written: the times of the oldest and newest member are read from them. */
export async function saveTotals(
  tx: Tx,
  organizationId: string,
  themes: readonly SavedTotals[],
): Promise<void> {
  if (themes.length === 0) return
  const rows = themes.map(({ sum, ...theme }) => ({ ...theme, sum: sumBytes(sum).toString('base64') }))
  await tx`
    update theme t
    set centroid = decode(r.sum, 'base64'), weight = r.weight, count = r.count, terms = r.terms,
      first_at = (
        select i.occurred_at from theme_item i
        where i.organization_id = ${organizationId} and i.theme_id = t.id order by i.occurred_at, i.id limit 1
      ),
      last_at = (
        select i.occurred_at from theme_item i
        where i.organization_id = ${organizationId} and i.theme_id = t.id order by i.occurred_at desc, i.id desc limit 1
      ),
      used_at = case when r."isUsed" then now() else t.used_at end, updated_at = now()
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as r (
      id uuid, sum text, weight int, count int, terms jsonb, "isUsed" boolean
    )
    where t.organization_id = ${organizationId} and t.id = r.id`
}

export interface NewTheme {
  readonly id: string
  readonly title: string
  readonly titleBy: 'terms' | 'person'
  /** Members when the title was made. */
  readonly titledCount: number
}

export async function insertThemes(
  tx: Tx,
  organizationId: string,
  themes: readonly NewTheme[],
  empty: Buffer,
): Promise<void> {
  if (themes.length === 0) return
  await tx`
    insert into theme (id, organization_id, title, title_by, titled_count, centroid)
    select r.id, ${organizationId}, r.title, r."titleBy", r."titledCount", ${empty}::bytea
    from json_to_recordset(${JSON.stringify(themes)}::text::json) as r (id uuid, title text, "titleBy" text, "titledCount" int)`
}

/** Deletes those that have no members, unless a person changed them or old ids lead to them. */
export async function deleteEmptyThemes(
  tx: Tx,
  organizationId: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return
  await tx`
    delete from theme t
    where t.organization_id = ${organizationId}
      and t.id = any(${ids as string[]}::text[]::uuid[])
      and t.count = 0
      and t.merged_into is null
      and not t.pinned
      and not t.hidden
      and t.title_by <> 'person'
      and not exists (select from theme_item i where i.organization_id = ${organizationId} and i.theme_id = t.id)
      and not exists (
        select from theme former
        join theme_item i on i.organization_id = ${organizationId} and i.theme_id = former.id
        where former.organization_id = ${organizationId} and former.merged_into = t.id
      )`
}

/** @returns the theme that was merged, and those that were merged into it before */
export const mergeThemes = (tx: Tx, organizationId: string, themeId: string, into: string) => tx<
  { id: string }[]
>`
  update theme
  set merged_into = ${into}, updated_at = now()
  where organization_id = ${organizationId} and (id = ${themeId} or merged_into = ${themeId})
  returning id`

/** Small themes that were not used for the longest time, of which a machine may take the items away. */
export const leastUsed = (tx: Query, organizationId: string, most: number, limit: number) => tx<
  { id: string }[]
>`
  select t.id
  from theme t
  where t.organization_id = ${organizationId}
    and t.merged_into is null
    and not t.pinned
    and not t.hidden
    and not t.shaped
    and t.title_by <> 'person'
    and t.count <= ${most}
    and not exists (
      select from theme_item i where i.organization_id = ${organizationId} and i.theme_id = t.id and i.locked
    )
    and not exists (select from theme f where f.organization_id = ${organizationId} and f.merged_into = t.id)
  order by t.used_at, t.id
  limit ${limit}`
