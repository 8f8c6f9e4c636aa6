/** The SQL of items. Callers that write hold the organization's lock (`lockProgress`). */

import type { Channel } from '../../kernel/channel.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import type { SubjectKey } from './changes.store.ts'
import type { PresentItem } from './items.rules.ts'
import { DIMENSIONS, VECTOR_VERSION } from './vector.rules.ts'

/** An item with all that it brings to a theme. */
export interface ItemRow {
  readonly id: number
  readonly themeId: string | null
  readonly channel: Channel
  readonly subjectId: string
  readonly signalId: string
  readonly occurredAt: Date
  readonly rating: string | null
  readonly locked: boolean
  readonly vector: Uint8Array
  readonly terms: readonly string[]
}

const columns = (tx: Query) => tx`
  i.id, i.theme_id as "themeId", i.channel, i.subject_id as "subjectId", i.signal_id as "signalId", i.occurred_at as "occurredAt",
  i.rating, i.locked, i.vector, i.terms`

export const readItemsOf = (tx: Query, organizationId: string, subjects: readonly SubjectKey[]) => tx<
  PresentItem[]
>`
  select i.id, i.channel, i.subject_id as "subjectId", i.passage, i.signal_id as "signalId", i.rating, i.occurred_at as "occurredAt",
    i.vector_version <> ${VECTOR_VERSION}::int as "isOutdated"
  from unnest(
    ${subjects.map(({ channel }) => channel)}::text[], ${subjects.map(({ subjectId }) => subjectId)}::text[]
  ) as s (channel, subject_id)
  join theme_item i on i.organization_id = ${organizationId} and i.channel = s.channel and i.subject_id = s.subject_id`

export const readItems = (tx: Query, organizationId: string, ids: readonly number[]) => tx<ItemRow[]>`
  select ${columns(tx)}
  from theme_item i
  where i.organization_id = ${organizationId} and i.id = any(${ids as number[]}::bigint[])
  order by i.id`

export interface PoolRow extends ItemRow {
  /** It came after the pool was linked last. */
  readonly isNew: boolean
}

/** The newest items that have no theme and that no person took out of one. */
export const readPool = (tx: Query, organizationId: string, limit: number) => tx<PoolRow[]>`
  select ${columns(tx)}, i.created_at >= p.linked_at as "isNew"
  from theme_item i
  join theme_progress p on p.organization_id = i.organization_id
  where i.organization_id = ${organizationId} and i.theme_id is null and not i.locked
  order by i.id desc
  limit ${limit}`

/** Items of a theme. */
export const readMembers = (tx: Query, organizationId: string, themeId: string, limit: number) => tx<
  ItemRow[]
>`
  select ${columns(tx)}
  from theme_item i
  where i.organization_id = ${organizationId} and i.theme_id = ${themeId}
  limit ${limit}`

/** The vectors of a theme's members. */
export const readMemberVectors = (tx: Query, organizationId: string, themeId: string) => tx<
  Pick<ItemRow, 'vector' | 'locked'>[]
>`
  select vector, locked
  from theme_item
  where organization_id = ${organizationId} and theme_id = ${themeId} and octet_length(vector) = ${DIMENSIONS}`

/** A page of the items of a theme, newest first, that no person locked. */
export function readMembersAfter(
  tx: Query,
  organizationId: string,
  themeId: string,
  after: readonly [moment: string, id: number] | null,
  limit: number,
) {
  return tx<(ItemRow & { readonly moment: string })[]>`
    select ${columns(tx)}, i.occurred_at::text as moment
    from theme_item i
    where i.organization_id = ${organizationId}
      and i.theme_id = ${themeId}
      and not i.locked
      ${after === null ? tx`` : tx`and (i.occurred_at, i.id) < (${after[0]}::text::timestamptz, ${after[1]}::bigint)`}
    order by i.occurred_at desc, i.id desc
    limit ${limit}`
}

export async function deleteItems(tx: Tx, organizationId: string, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  await tx`
    delete from theme_item
    where organization_id = ${organizationId} and id = any(${ids as number[]}::bigint[])`
}

export interface NewItem {
  readonly channel: Channel
  readonly subjectId: string
  readonly passage: string
  readonly signalId: string
  readonly rating: string | null
  readonly occurredAt: Date
  readonly themeId: string | null
  readonly score: number | null
  /** In base64. */
  readonly vector: string
  readonly terms: readonly string[]
}

/** Passages that have an item already are left out. @returns the subjects and passages of the new items */
export const insertItems = (tx: Tx, organizationId: string, items: readonly NewItem[]) => tx<
  { readonly channel: string; readonly subjectId: string; readonly passage: string }[]
>`
    insert into theme_item (
      organization_id, channel, subject_id, passage, signal_id, rating, occurred_at, theme_id, score, vector,
      vector_version, terms
    )
    select ${organizationId}, r.channel, r."subjectId", r.passage, r."signalId", r.rating, r."occurredAt", r."themeId", r.score,
      decode(r.vector, 'base64'), ${VECTOR_VERSION}::int, array(select json_array_elements_text(r.terms))
    from json_to_recordset(${JSON.stringify(items)}::text::json) as r (
      channel text, "subjectId" text, passage text, "signalId" uuid, rating text, "occurredAt" timestamptz, "themeId" uuid,
      score real, vector text, terms json
    )
    on conflict (organization_id, channel, subject_id, passage) do nothing
    returning channel, subject_id as "subjectId", passage`

export interface ItemChange {
  readonly id: number
  /** In base64; null: the vector stays. */
  readonly vector: string | null
  readonly signalId: string
  readonly rating: string | null
  readonly occurredAt: Date
}

export async function updateItems(
  tx: Tx,
  organizationId: string,
  changes: readonly ItemChange[],
): Promise<void> {
  if (changes.length === 0) return
  await tx`
    update theme_item i
    set signal_id = r."signalId", rating = r.rating, occurred_at = r."occurredAt",
      vector = coalesce(decode(r.vector, 'base64'), i.vector),
      vector_version = case when r.vector is null then i.vector_version else ${VECTOR_VERSION}::int end
    from json_to_recordset(${JSON.stringify(changes)}::text::json) as r (
      id bigint, "signalId" uuid, rating text, "occurredAt" timestamptz, vector text
    )
    where i.organization_id = ${organizationId} and i.id = r.id`
}

export interface Placing {
  readonly id: number
  readonly themeId: string | null
  readonly score: number | null
  readonly locked: boolean
}

export async function placeItems(
  tx: Tx,
  organizationId: string,
  placings: readonly Placing[],
): Promise<void> {
  if (placings.length === 0) return
  await tx`
    update theme_item i
    set theme_id = r."themeId", score = r.score, locked = r.locked
    from json_to_recordset(${JSON.stringify(placings)}::text::json) as r (id bigint, "themeId" uuid, score real, locked boolean)
    where i.organization_id = ${organizationId} and i.id = r.id`
}

export interface QuotationRow {
  readonly signalId: string
  readonly text: string
  readonly subject: string
  readonly kind: string
  readonly rating: string | null
  /** Every member of the organization may see it. */
  readonly isOpen: boolean
  readonly vector: Uint8Array
  readonly terms: readonly string[]
}

const quotation = (tx: Query) => tx`
  i.signal_id as "signalId", coalesce(g.comment, '') as text, i.channel || ' ' || i.subject_id as subject, g.kind, i.rating,
  theme_quotable(g) as "isOpen", i.vector, i.terms`

/** Quotations of items, and whose they are. Of items whose finding is gone there are none. */
export const readQuotations = (tx: Query, organizationId: string, ids: readonly number[]) => tx<
  (QuotationRow & { readonly id: number })[]
>`
  select i.id, ${quotation(tx)}
  from theme_item i
  join agent_signal g on g.organization_id = i.organization_id and g.id = i.signal_id
  where i.organization_id = ${organizationId}
    and i.id = any(${ids as number[]}::bigint[])
    and g.comment is not null
  order by i.id`

/** Quotations of a theme, the newest first. */
export const quotationsOfTheme = (tx: Query, organizationId: string, themeId: string, limit: number) => tx<
  (QuotationRow & { readonly score: number | null })[]
>`
  select ${quotation(tx)}, i.score
  from (
    select *
    from theme_item
    where organization_id = ${organizationId} and theme_id = ${themeId}
    order by occurred_at desc, id desc
    limit ${limit}
  ) i
  join agent_signal g on g.organization_id = i.organization_id and g.id = i.signal_id
  where g.comment is not null
  order by i.occurred_at desc, i.id desc`
