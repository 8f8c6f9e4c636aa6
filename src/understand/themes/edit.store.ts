/** The SQL of changes that people make to themes. */
import type { Tx } from '../../platform/db/pool.ts'

export interface ThemeChange {
  readonly title?: string | null
  readonly pinned?: boolean
  readonly hidden?: boolean
}

/** `title`: null gives the theme back to the machine. */
export async function updateTheme(
  tx: Tx,
  organizationId: string,
  id: string,
  { title, pinned, hidden }: ThemeChange,
): Promise<void> {
  await tx`
    update theme
    set pinned = coalesce(${pinned ?? null}::boolean, pinned), hidden = coalesce(${hidden ?? null}::boolean, hidden),
      title = coalesce(${title ?? null}::text, title),
      title_by = case
        when ${title !== undefined && title !== null} then 'person'
        when ${title === null} and title_by = 'person' then 'terms'
        else title_by
      end,
      updated_at = now()
    where organization_id = ${organizationId} and id = ${id}`
}

/** No machine merges or removes these themes from now on. */
export async function markShaped(tx: Tx, organizationId: string, ids: readonly string[]): Promise<void> {
  await tx`
    update theme
    set shaped = true, updated_at = now()
    where organization_id = ${organizationId} and id = any(${ids as string[]}::text[]::uuid[])`
}

export async function countThemes(tx: Tx, organizationId: string): Promise<number> {
  const [row] = await tx<{ count: number }[]>`
    select count(*)::int as count from theme where organization_id = ${organizationId} and merged_into is null`
  return row?.count ?? 0
}
