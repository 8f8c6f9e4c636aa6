/** The SQL that finds what another analyser has read, or none. */

import type { Channel } from '../../kernel/channel.ts'
import type { Query } from '../../platform/db/pool.ts'
import type { NewId } from '../../platform/ids.ts'
import type { Version } from './finding.rules.ts'

/** Enters completed sessions, feedback records or transcripts that were never analysed, as such. The caller has locked them. */
export async function enterUnread(
  tx: Query,
  channel: Channel,
  keys: readonly string[],
  newId: NewId,
): Promise<void> {
  await tx`
    insert into insight_subject (
      id, organization_id, channel, session_id, feedback_record_id, recording_id, application_id, occurred_at, state
    )
    select k.id, s.organization_id, ${channel}, s.session_id, s.feedback_record_id, s.recording_id, s.application_id, s.occurred_at, 'pending'
    from unnest(${keys.map(() => newId())}::text[]::uuid[], ${keys as string[]}::text[]) as k (id, key)
    join (${sourcesOf(tx, channel, keys)}) s on s.key = k.key
    on conflict do nothing`
}

function sourcesOf(tx: Query, channel: Channel, keys: readonly string[]) {
  if (channel === 'conversation')
    return tx`
      select
        id::text as key, organization_id, id as session_id, null::bigint as feedback_record_id, null::uuid as recording_id,
        application_id, coalesce(started_at, created_at) as occurred_at
      from agent_session
      where id = any(${keys as string[]}::text[]::uuid[]) and processing_status = 'completed'`
  if (channel === 'feedback')
    return tx`
      select
        id::text as key, organization_id, null::uuid as session_id, id as feedback_record_id, null::uuid as recording_id,
        null::uuid as application_id, display_ts as occurred_at
      from feedback_record
      where id = any(${keys as string[]}::text[]::bigint[])`
  return tx`
    select
      r.id::text as key, r.organization_id, null::uuid as session_id, null::bigint as feedback_record_id, r.id as recording_id,
      null::uuid as application_id, coalesce(r.started_at, r.created_at) as occurred_at
    from recording r
    where r.id = any(${keys as string[]}::text[]::uuid[])
      and exists (select from transcript_utterance u where u.organization_id = r.organization_id and u.recording_id = r.id)`
}

export interface DueSubject {
  readonly channel: Channel
  readonly organizationId: string
  /** Of the session, feedback record or recording. */
  readonly id: string
}

/**
 * Locks subjects that another analyser has read, or none, but those that are being deleted, whose actors go with them: `share` of each organization, and `limit` in total. Organizations take turns. Of what
 * one analyser has read the newest come first. Each organization costs two look-ups in an index.
 * @param without organizations that have to wait
 */
export function findDue(
  tx: Query,
  { name, version }: Version,
  without: readonly string[],
  share: number,
  limit: number,
) {
  const some = (isOther: ReturnType<typeof tx>) => tx`
    (
      select i.id, i.occurred_at
      from insight_subject i
      where i.organization_id = o.id and ${isOther}
      order by i.analyzer_name, i.analyzer_version, i.occurred_at desc
      limit ${share}
    )`
  return tx<DueSubject[]>`
    select
      s.channel, s.organization_id as "organizationId",
      coalesce(s.session_id::text, s.feedback_record_id::text, s.recording_id::text) as id
    from (
      select
        o.id as organization_id, i.id, row_number() over (partition by o.id order by i.occurred_at desc, i.id) as place
      from organization o
      cross join lateral (
        ${some(tx`(i.analyzer_name, i.analyzer_version) < (${name}, ${version})`)}
        union all
        ${some(tx`(i.analyzer_name, i.analyzer_version) > (${name}, ${version})`)}
      ) i
      where o.id <> all(${without as string[]}::text[]::uuid[])
    ) d
    join insight_subject s on s.organization_id = d.organization_id and s.id = d.id
    where d.place <= ${share}
    order by d.place, random()
    limit ${limit}
    for key share of s skip locked`
}

export interface Progress {
  /** Subjects that the analyser has read. */
  readonly read: number
  /** Subjects that another one has read, or none. */
  readonly waiting: number
}

/** Of the whole service. */
export async function readProgress(query: Query, { name, version }: Version): Promise<Progress> {
  const [row] = await query<Progress[]>`
    select
      count(*) filter (where analyzer_name = ${name} and analyzer_version = ${version}) as read,
      count(*) filter (where analyzer_name <> ${name} or analyzer_version <> ${version}) as waiting
    from insight_subject`
  return row ?? { read: 0, waiting: 0 }
}
