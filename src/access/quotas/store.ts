/** The SQL of quotas. What is used is the sum of the folded counts and of the changes that wait for a fold. */
import type { Query } from '../../platform/db/pool.ts'
import type { QuotaSettings } from './quota.rules.ts'

export type Metric = 'events' | 'media_bytes'

export interface Use {
  readonly used: number
  /** The own limit of the organization. Null: as the settings say. -1: none. */
  readonly own: number | null
}

/** @returns undefined if the organization is gone */
export async function selectUse(
  query: Query,
  organizationId: string,
  metric: Metric,
): Promise<Use | undefined> {
  const [row] = await query<Use[]>`
    select
      case ${metric} when 'events' then o.quota_events else o.quota_media_bytes end as own,
      least(
        coalesce((
          select c.count from usage_count c
          where c.organization_id = o.id and c.metric = ${metric} and c.hour = '-infinity'
        ), 0)
        + coalesce((
          select sum(n.change) from usage_change n where n.organization_id = o.id and n.metric = ${metric}
        ), 0),
        ${Number.MAX_SAFE_INTEGER}
      )::bigint as used
    from organization o
    where o.id = ${organizationId}`
  return row
}

/** An organization and what it uses of a quota. */
export interface QuotaState {
  readonly organizationId: string
  readonly name: string
  readonly metric: Metric
  readonly used: number
  readonly limit: number
}

/** Organizations that use at least `part` of a quota, the fullest first. */
export function selectFull(query: Query, settings: QuotaSettings, part: number, limit: number) {
  return query<QuotaState[]>`
    with used as (
      select organization_id, metric, sum(n) as used
      from (
        select organization_id, metric, count as n from usage_count where hour = '-infinity'
        union all
        select organization_id, metric, change from usage_change where hour = '-infinity'
      ) as counts
      group by 1, 2
    ), limited as (
      select
        o.id as "organizationId", o.name, u.metric, least(u.used, ${Number.MAX_SAFE_INTEGER})::bigint as used,
        case u.metric
          when 'events' then coalesce(o.quota_events, ${settings.events}::bigint)
          else coalesce(o.quota_media_bytes, ${settings.mediaBytes}::bigint)
        end as "limit"
      from used u
      join organization o on o.id = u.organization_id
      where u.metric in ('events', 'media_bytes')
    )
    select "organizationId", name, metric, used, "limit"
    from limited
    where "limit" >= 0 and used >= ${part}::float8 * "limit"
    order by used::float8 / greatest("limit", 1) desc, "organizationId"
    limit ${limit}`
}

/** Sets the own limits. An undefined one stays. */
export async function updateQuotas(
  tx: Query,
  organizationId: string,
  {
    media,
    events,
  }: { readonly media: number | null | undefined; readonly events: number | null | undefined },
): Promise<void> {
  await tx`
    update organization
    set
      quota_media_bytes = case when ${media !== undefined}::boolean then ${media ?? null}::bigint else quota_media_bytes end,
      quota_events = case when ${events !== undefined}::boolean then ${events ?? null}::bigint else quota_events end
    where id = ${organizationId}`
}

/** Counts the events of sessions that were stored before quotas, once. The caller has locked the sessions. */
export async function countOlderEvents(tx: Query, sessionIds: readonly string[]): Promise<void> {
  await tx`
    with session as (
      update agent_session
      set events_counted = true
      where id = any(${sessionIds as string[]}::uuid[])
        and events_counted is null
      returning organization_id, id
    )
    insert into usage_change (organization_id, metric, application_id, hour, change)
    select e.organization_id, 'events', '00000000-0000-0000-0000-000000000000', '-infinity', count(*)
    from session s
    join agent_event e on e.organization_id = s.organization_id and e.session_id = s.id
    where e.counted is null
    group by 1`
}

/** Counts the media of recordings that were stored before quotas. */
export async function countOlderMedia(tx: Query, recordingIds: readonly string[]): Promise<void> {
  await tx`
    update recording
    set media_counted = true
    where id = any(${recordingIds as string[]}::uuid[])
      and media_counted is null`
}

/** Counts the uploads that began before quotas. */
export async function countOlderUploads(tx: Query, uploadIds: readonly string[]): Promise<void> {
  await tx`
    update upload
    set media_counted = true
    where id = any(${uploadIds as string[]}::uuid[])
      and media_counted is null`
}
