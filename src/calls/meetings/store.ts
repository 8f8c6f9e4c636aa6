/** The SQL of meeting joins. A transaction that also locks the recording locks it first. */
import type { Query, Tx } from '../../platform/db/pool.ts'
import type { JoinState } from './plan.rules.ts'
import type { RecorderName } from './recorder.ts'
import { isActive, MEETING_STATUSES, type MeetingStatus } from './status.rules.ts'
import type { Platform } from './url.rules.ts'

const ACTIVE = MEETING_STATUSES.filter(isActive)

export interface JoinRow extends JoinState {
  readonly id: string
  readonly organizationId: string
  readonly recordingId: string
  readonly platform: Platform
  readonly sealedUrl: Uint8Array | null
  readonly botName: string
}

export interface NewJoin {
  readonly id: string
  readonly organizationId: string
  readonly recordingId: string
  readonly recorder: RecorderName
  readonly platform: Platform
  readonly identity: string
  readonly status: MeetingStatus
  readonly sealedUrl: Uint8Array
  readonly botName: string
  /** null: at once. */
  readonly joinAt: Date | null
}

export interface JoinRef {
  readonly id: string
  readonly organizationId: string
}

/** Waits for concurrent requests for the same meeting. @returns false if one of them is active */
export async function insertJoin(tx: Tx, row: NewJoin): Promise<boolean> {
  const { count } = await tx`
    insert into meeting_join (
      id, organization_id, recording_id, recorder, platform, identity, status, sealed_url, bot_name, join_at, next_check_at
    )
    values (
      ${row.id}, ${row.organizationId}, ${row.recordingId}, ${row.recorder}, ${row.platform}, ${row.identity},
      ${row.status}, ${row.sealedUrl}, ${row.botName}, ${row.joinAt}, now()
    )
    on conflict (organization_id, identity)
      where status in ('scheduled', 'joining', 'waiting_room', 'recording', 'processing')
      do nothing`
  return count === 1
}

/** The active join of a meeting. */
export async function findActive(
  query: Query,
  organizationId: string,
  identity: string,
): Promise<{ readonly id: string; readonly recordingId: string } | null> {
  const [row] = await query<{ id: string; recordingId: string }[]>`
    select id, recording_id as "recordingId"
    from meeting_join
    where organization_id = ${organizationId}
      and identity = ${identity}
      and status = any(${ACTIVE}::text[])`
  return row ?? null
}

const columns = (query: Query) => query`
  id, organization_id as "organizationId", recording_id as "recordingId", recorder, platform, status,
  status_since as "statusSince", error_code as "errorCode", sealed_url as "sealedUrl", bot_name as "botName",
  join_at as "joinAt", joined_at as "joinedAt", ended_at as "endedAt", join_sent_at as "joinSentAt", bot_id as "botId",
  leave_requested_at as "leaveRequestedAt", leave_sent_at as "leaveSentAt", duty, must_delete as "mustDelete", failures,
  next_check_at as "nextCheckAt", clock_timestamp() as now`

/** Takes the id alone, because the actor's message has nothing else. */
export async function findJoin(tx: Tx, id: string): Promise<JoinRow | null> {
  const [row] = await tx<JoinRow[]>`
    select ${columns(tx)}
    from meeting_join
    where id = ${id}`
  return row ?? null
}

/** Locks the join until the transaction ends. */
export async function lockJoin(tx: Tx, { id, organizationId }: JoinRef): Promise<JoinRow | null> {
  const [row] = await tx<JoinRow[]>`
    select ${columns(tx)}
    from meeting_join
    where organization_id = ${organizationId}
      and id = ${id}
    for update`
  return row ?? null
}

/** Locks the join of a recording until the transaction ends. @returns null if the recording is not of a meeting */
export async function lockJoinOf(
  tx: Tx,
  organizationId: string,
  recordingId: string,
): Promise<JoinRow | null> {
  const [row] = await tx<JoinRow[]>`
    select ${columns(tx)}
    from meeting_join
    where organization_id = ${organizationId}
      and recording_id = ${recordingId}
    for update`
  return row ?? null
}

/** Writes everything that changes. The link goes as soon as no request to the recorder needs it. */
export async function saveJoin(tx: Tx, ref: JoinRef, join: JoinState): Promise<void> {
  const needsUrl = isActive(join.status) || (join.duty !== null && join.botId === null)
  await tx`
    update meeting_join
    set
      status = ${join.status}, status_since = ${join.statusSince}, error_code = ${join.errorCode},
      sealed_url = case when ${needsUrl} then sealed_url end,
      joined_at = ${join.joinedAt}, ended_at = ${join.endedAt}, join_sent_at = ${join.joinSentAt},
      bot_id = ${join.botId}, leave_requested_at = ${join.leaveRequestedAt}, leave_sent_at = ${join.leaveSentAt},
      duty = ${join.duty}, must_delete = ${join.mustDelete}, failures = ${join.failures},
      next_check_at = ${join.nextCheckAt}
    where organization_id = ${ref.organizationId}
      and id = ${ref.id}`
}

/** Joins of every organization that are due, oldest first. Each becomes due again in a while if its actor does not get to it. */
export function takeDue(query: Query, limit: number) {
  return query<JoinRef[]>`
    with due as (
      select id
      from meeting_join
      where next_check_at <= now()
      order by next_check_at
      limit ${limit}
      for update skip locked
    )
    update meeting_join j
    set next_check_at = now() + interval '30 seconds'
    from due
    where j.id = due.id
    returning j.id, j.organization_id as "organizationId"`
}

/** The join that a webhook is about. Takes the recorder's ids, because a webhook has nothing else. */
export async function findNudged(
  query: Query,
  recorder: RecorderName,
  { botId, joinId }: { readonly botId: string | null; readonly joinId: string | null },
): Promise<JoinRef | null> {
  const [row] = await query<JoinRef[]>`
    select id, organization_id as "organizationId"
    from meeting_join
    where recorder = ${recorder}
      and (id = ${joinId}::uuid or bot_id = ${botId})
      and next_check_at is not null
    limit 1`
  return row ?? null
}

/** The recorder's copies of these recordings are to be deleted, whatever the settings say. @returns joins with something to do now */
export function requestDeletion(tx: Tx, organizationId: string, recordingIds: readonly string[]) {
  return tx<JoinRef[]>`
    update meeting_join
    set
      must_delete = true,
      duty = case
        when duty is null and bot_id is not null and status in ('ended', 'failed') then 'delete'
        else duty
      end,
      next_check_at = case
        when duty is null and bot_id is not null and status in ('ended', 'failed') then now()
        else next_check_at
      end
    where organization_id = ${organizationId}
      and recording_id = any(${[...recordingIds]}::uuid[])
      and not must_delete
    returning id, organization_id as "organizationId"`
}

/** Removes finished joins of every organization whose recordings were deleted. @returns their ids */
export async function deleteDiscarded(tx: Tx, limit: number): Promise<readonly string[]> {
  const rows = await tx<{ id: string }[]>`
    delete from meeting_join
    where id in (
      select j.id
      from meeting_join j
      where j.must_delete
        and j.duty is null
        and j.next_check_at is null
        and not exists (select from recording r where r.id = j.recording_id)
      limit ${limit}
    )
    returning id`
  return rows.map(({ id }) => id)
}

/** The same for an organization that is being erased, whose recordings are deleted. */
export async function deleteDiscardedOf(tx: Tx, organizationId: string): Promise<readonly string[]> {
  const rows = await tx<{ id: string }[]>`
    delete from meeting_join j
    where j.organization_id = ${organizationId}
      and j.duty is null
      and not exists (select from recording r where r.id = j.recording_id)
    returning j.id`
  return rows.map(({ id }) => id)
}

export async function hasJoins(tx: Tx, organizationId: string): Promise<boolean> {
  const rows = await tx`select 1 from meeting_join where organization_id = ${organizationId} limit 1`
  return rows.length > 0
}

/** Joins by platform and active status, for metrics. */
export function countActive(query: Query) {
  return query<{ platform: string; status: string; count: number }[]>`
    select platform, status, count(*) as count
    from meeting_join
    where status = any(${ACTIVE}::text[])
    group by platform, status`
}

/** Ids of the joins of these recordings. */
export async function joinsOf(
  tx: Tx,
  organizationId: string,
  recordingIds: readonly string[],
): Promise<readonly string[]> {
  const rows = await tx<{ id: string }[]>`
    select id
    from meeting_join
    where organization_id = ${organizationId}
      and recording_id = any(${recordingIds as string[]}::uuid[])`
  return rows.map(({ id }) => id)
}
