/**
 * The list of recordings.
 *
 * A page is read from an index that has its order, so its cost depends on the page, not on the table. If a filter names
 * a set of its own (an external id, a folder, a search), the page starts from that set. Other filters and the caller's
 * visibility apply to the rows scanned, whose number is bounded (bounded-scan.ts).
 */

import type { ReadSubject } from '../../analysis/findings/coverage.rules.ts'
import type { AssetStatus } from '../../kernel/asset-status.ts'
import {
  marginOf,
  type Place,
  SCAN_ROWS,
  type Scanned,
  scan,
  wholly,
} from '../../platform/db/bounded-scan.ts'
import { asMoment, behind, type Moment, type Position } from '../../platform/db/keyset.ts'
import type { Query } from '../../platform/db/pool.ts'
import type { Found } from '../transcripts/service.ts'
import type { TranscriptError, TranscriptStatus } from '../transcripts/states.ts'
import { orderOfList } from './rules.ts'
import type { Condition } from './store.ts'

export interface ListFilter {
  /** From an external id: the list has at most this recording. */
  readonly id?: string | undefined
  readonly source?: string | undefined
  readonly transcriptStatus?: TranscriptStatus | undefined
  readonly assetStatus?: AssetStatus | undefined
  readonly startedAfter?: string | undefined
  readonly startedBefore?: string | undefined
  /** Bounds on the start; on the creation of a recording whose start is unknown. As in the counts. */
  readonly began?: { readonly since?: string | undefined; readonly until?: string | undefined }
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
  readonly transcriptErrorCode: TranscriptError | null
  readonly subject: ReadSubject | null
  readonly summary: string | null
  readonly createdMoment: string
  /** Empty if the start is unknown. Such a recording appears in no list that is ordered by it. */
  readonly startedMoment: string
  /** The start; the creation if the start is unknown. */
  readonly beganMoment: string
}

export interface ListScope {
  readonly organizationId: string
  /** A condition on the recording `r` that names the organization. */
  readonly visible: Condition
  /** Result of the search; null without one. */
  readonly found: Found | null
}

/** Rows in the order of `orderOfList`, one more than the limit. */
export async function listRecordings(
  query: Query,
  scope: ListScope,
  filter: ListFilter,
  slice: ListSlice,
): Promise<Scanned<ListRow, string>> {
  const moments = orderOfList(filter)
  const source = sourceOf(query, scope, filter, slice)
  const page = () => query<ListRow[]>`
    select
      r.id, r.display_name as "displayName", r.source, r.started_at as "startedAt", r.completed_at as "completedAt",
      r.asset_status as "assetStatus", r.asset_object_key as "assetObjectKey", r.asset_content_type as "assetContentType",
      r.asset_duration_seconds as "assetDurationSeconds", r.transcript_status as "transcriptStatus",
      r.transcript_error_code as "transcriptErrorCode", r.summary,
      ${asMoment(query, 'r.created_at')} as "createdMoment",
      coalesce(${asMoment(query, 'r.started_at')}, '') as "startedMoment",
      coalesce(${asMoment(query, 'r.started_at')}, ${asMoment(query, 'r.created_at')}) as "beganMoment",
      (
        select json_build_object('state', i.state, 'analyzer', i.analyzer_name, 'version', i.analyzer_version)
        from insight_subject i
        where i.organization_id = r.organization_id and i.recording_id = r.id
      ) as subject
    from ${source.rows}
    where ${scope.visible}
      ${source.where}
      ${filterConditions(query, filter)}
      ${scope.found?.except ?? query``}
    ${source.order}
    limit ${slice.limit + 1}
    offset ${slice.offset}`
  const { scanned } = source
  if (scanned === null) return wholly(await page())
  return scan({
    limit: slice.limit,
    page,
    end: () => endOf(query, scanned),
    placeOf: (row) => [row[moments], row.id],
  })
}

interface Source {
  /** Rows with the alias `r`. */
  readonly rows: Condition
  readonly where: Condition
  readonly order: Condition
  /** What is scanned for the rows, with the columns `id` and `moment`, in their order; null where they are found without. */
  readonly scanned: Condition | null
}

function sourceOf(query: Query, scope: ListScope, filter: ListFilter, { after }: ListSlice): Source {
  const { organizationId } = scope
  const order = orderOfList(filter)
  const moment = momentOf(query, order)
  const newest = query`order by ${moment} desc, r.id desc`
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
  // A single recording needs no order. With one, PostgreSQL would scan the index of that order.
  if (filter.id !== undefined)
    return { rows: query`recording r`, where: filed, order: query``, scanned: null }
  const among = scope.found?.among ?? null
  const further = behind(query, moment, 'r.id', after)
  if (among !== null) {
    // Recordings are looked up one by one (`offset 0` ensures it), then ordered. Visibility is checked in that order,
    // and so only for one page.
    const rows = query`(
      select r.*
      from (${among}) as found
      cross join lateral ${recordingOf(query, organizationId, 'found.recording_id')} as r
      where true
        ${further}
      ${newest}
      offset 0
    ) as r`
    return { rows, where: filed, order: newest, scanned: null }
  }
  if (filter.folderId !== undefined && order === 'createdMoment')
    return sourceOfFolder(query, organizationId, filter.folderId, after)
  const scanned = query`
    select r.id, ${moment} as moment
    from recording r
    where r.organization_id = ${organizationId}
      ${startedWithin(query, filter)}
      ${beganWithin(query, filter)}
      ${further}
    ${newest}`
  const rows = query`(
    select r.*
    from recording r
    where r.organization_id = ${organizationId}
      ${startedWithin(query, filter)}
      ${beganWithin(query, filter)}
      ${further}
    ${newest}
    limit ${marginOf(query, query`${SCAN_ROWS}::int`)}
  ) as r`
  return { rows, where: filed, order: newest, scanned }
}

/** What a list is ordered by, of the recording `r`. The expressions are those of the indexes. */
function momentOf(query: Query, order: ReturnType<typeof orderOfList>): Condition {
  if (order === 'startedMoment') return query`r.started_at`
  return order === 'beganMoment' ? query`coalesce(r.started_at, r.created_at)` : query`r.created_at`
}

function sourceOfFolder(
  query: Query,
  organizationId: string,
  folderId: string,
  after: ListSlice['after'],
): Source {
  const scanned = query`
    select listed.recording_id as id, listed.recording_created_at as moment
    from recording_folder listed
    where listed.folder_id = ${folderId}
      ${behind(query, 'listed.recording_created_at', 'listed.recording_id', after)}
    order by listed.recording_created_at desc, listed.recording_id desc`
  return {
    // The folder's index gives the order. Each recording is looked up by its id.
    rows: query`
      (${scanned} limit ${marginOf(query, query`${SCAN_ROWS}::int`)}) as listed
      cross join lateral ${recordingOf(query, organizationId, 'listed.id')} as r`,
    where: query``,
    order: query`order by listed.moment desc, listed.id desc`,
    scanned,
  }
}

/** One recording by its id. `offset 0` keeps it a look-up, whatever the other conditions are. */
const recordingOf = (query: Query, organizationId: string, id: string) => query`(
  select *
  from recording
  where id = ${query(id)}
    and organization_id = ${organizationId}
  offset 0
)`

async function endOf(query: Query, scanned: Condition): Promise<Place<string> | null> {
  const [row] = await query<{ moment: string; id: string }[]>`
    select ${asMoment(query, 'last.moment')} as moment, last.id
    from (${scanned} limit 1 offset ${SCAN_ROWS}::int) as last`
  return row === undefined ? null : [row.moment, row.id]
}

const startedWithin = (query: Query, { startedAfter, startedBefore }: ListFilter) => query`
  ${startedAfter === undefined ? query`` : query`and r.started_at >= ${startedAfter}::text::timestamptz`}
  ${startedBefore === undefined ? query`` : query`and r.started_at < ${startedBefore}::text::timestamptz`}`

function beganWithin(query: Query, { began }: ListFilter): Condition {
  const [since, until] = [began?.since, began?.until]
  return query`
    ${since === undefined ? query`` : query`and coalesce(r.started_at, r.created_at) >= ${since}::text::timestamptz`}
    ${until === undefined ? query`` : query`and coalesce(r.started_at, r.created_at) < ${until}::text::timestamptz`}`
}

function filterConditions(query: Query, filter: ListFilter): Condition {
  const { id, source, transcriptStatus, assetStatus } = filter
  return query`
    ${id === undefined ? query`` : query`and r.id = ${id}`}
    ${source === undefined ? query`` : query`and r.source = ${source}`}
    ${transcriptStatus === undefined ? query`` : query`and r.transcript_status = ${transcriptStatus}`}
    ${assetStatus === undefined ? query`` : query`and r.asset_status = ${assetStatus}`}
    ${startedWithin(query, filter)}
    ${beganWithin(query, filter)}`
}
