/**
 * The list of recordings.
 *
 * A page is read from an index that has its order, so its cost depends on the page, not on the table. If a filter names
 * a set of its own (an external id, a folder, a search), the page starts from that set. Other filters apply to the rows
 * read.
 */
import { asMoment, behind, type Moment, type Position } from '../platform/db/keyset.ts'
import type { Query } from '../platform/db/pool.ts'
import type { Found } from '../transcripts/service.ts'
import type { AssetStatus, TranscriptStatus } from './model.ts'
import type { Condition } from './store.ts'

export interface ListFilter {
  /** From an external id: the list has at most this recording. */
  readonly id?: string | undefined
  readonly source?: string | undefined
  readonly transcriptStatus?: TranscriptStatus | undefined
  readonly assetStatus?: AssetStatus | undefined
  readonly startedAfter?: string | undefined
  readonly startedBefore?: string | undefined
  readonly folderId?: string | undefined
}

/** The start of a page: after a row, or after a number of rows. */
export type ListSlice = Position<readonly [moment: Moment, id: string]>

export interface ListRow {
  readonly id: string
  readonly displayName: string | null
  readonly source: string
  readonly startedAt: Date | null
  readonly completedAt: Date | null
  readonly assetStatus: AssetStatus | null
  readonly assetObjectKey: string | null
  readonly assetContentType: string | null
  readonly assetDurationSeconds: number | null
  readonly transcriptStatus: TranscriptStatus
  readonly summary: string | null
  readonly createdMoment: string
  /** Empty if the start is unknown. Such a recording appears in no list that is ordered by it. */
  readonly startedMoment: string
}

/** Newest first: by start time if the filter bounds it, otherwise by creation time. */
export function orderOfList(filter: ListFilter): 'createdMoment' | 'startedMoment' {
  const bounded = filter.startedAfter !== undefined || filter.startedBefore !== undefined
  return bounded ? 'startedMoment' : 'createdMoment'
}

export interface ListScope {
  readonly organizationId: string
  /** A condition on the recording `r` that names the organization. */
  readonly visible: Condition
  /** Result of the search; null without one. */
  readonly found: Found | null
}

/** Rows in the order of `orderOfList`, one more than the limit. */
export function listRecordings(query: Query, scope: ListScope, filter: ListFilter, slice: ListSlice) {
  const order = orderOfList(filter) === 'startedMoment' ? 'r.started_at' : 'r.created_at'
  const source = sourceOf(query, scope, filter, order, slice)
  return query<ListRow[]>`
    select
      r.id, r.display_name as "displayName", r.source, r.started_at as "startedAt", r.completed_at as "completedAt",
      r.asset_status as "assetStatus", r.asset_object_key as "assetObjectKey", r.asset_content_type as "assetContentType",
      r.asset_duration_seconds as "assetDurationSeconds", r.transcript_status as "transcriptStatus", r.summary,
      ${asMoment(query, 'r.created_at')} as "createdMoment",
      coalesce(${asMoment(query, 'r.started_at')}, '') as "startedMoment"
    from ${source.rows}
    where ${scope.visible}
      ${source.where}
      ${filterConditions(query, filter)}
      ${scope.found?.except ?? query``}
    ${source.order}
    limit ${slice.limit + 1}
    offset ${slice.offset}`
}

interface Source {
  /** Rows with the alias `r`. */
  readonly rows: Condition
  readonly where: Condition
  readonly order: Condition
}

function sourceOf(
  query: Query,
  { organizationId, found }: ListScope,
  filter: ListFilter,
  column: 'r.created_at' | 'r.started_at',
  { after }: ListSlice,
): Source {
  const further = behind(query, column, 'r.id', after)
  const newest = query`order by ${query(column)} desc, r.id desc`
  const filed =
    filter.folderId === undefined
      ? query``
      : query`
          and exists (
            select 1
            from recording_folder filed
            where filed.recording_id = r.id
              and filed.folder_id = ${filter.folderId}
          )`
  const scan = { rows: query`recording r`, where: query`${filed} ${further}`, order: newest }
  // A single recording needs no order. With one, PostgreSQL would scan the index of that order.
  if (filter.id !== undefined) return { ...scan, order: query`` }
  const among = found?.among ?? null
  if (among !== null) {
    // Recordings are looked up one by one (`offset 0` ensures it), then ordered. Visibility is checked in that order,
    // and so only for one page.
    const rows = query`(
      select r.*
      from (${among}) as found
      cross join lateral (
        select *
        from recording
        where id = found.recording_id
          and organization_id = ${organizationId}
        offset 0
      ) as r
      where true
        ${further}
      ${newest}
      offset 0
    ) as r`
    return { rows, where: filed, order: newest }
  }
  if (filter.folderId !== undefined && column === 'r.created_at')
    return {
      rows: query`recording_folder listed join recording r on r.id = listed.recording_id`,
      where: query`
        and listed.folder_id = ${filter.folderId}
        ${behind(query, 'listed.recording_created_at', 'listed.recording_id', after)}`,
      order: query`order by listed.recording_created_at desc, listed.recording_id desc`,
    }
  return scan
}

function filterConditions(query: Query, filter: ListFilter): Condition {
  const { id, source, transcriptStatus, assetStatus, startedAfter, startedBefore } = filter
  return query`
    ${id === undefined ? query`` : query`and r.id = ${id}`}
    ${source === undefined ? query`` : query`and r.source = ${source}`}
    ${transcriptStatus === undefined ? query`` : query`and r.transcript_status = ${transcriptStatus}`}
    ${assetStatus === undefined ? query`` : query`and r.asset_status = ${assetStatus}`}
    ${startedAfter === undefined ? query`` : query`and r.started_at >= ${startedAfter}::text::timestamptz`}
    ${startedBefore === undefined ? query`` : query`and r.started_at < ${startedBefore}::text::timestamptz`}`
}
