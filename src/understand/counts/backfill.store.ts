/** The SQL that marks rows of older versions as counted. The triggers of the migrations 0060 and 0119 then count them, once. */
import type { Tx } from '../../platform/db/pool.ts'

type Counted = 'agent_signal' | 'agent_session' | 'feedback_record' | 'recording' | 'insight_subject'

/** `keys`: ids of rows that the caller has locked. */
export async function countRowsOf(tx: Tx, table: Counted, keys: readonly string[]): Promise<void> {
  switch (table) {
    // A signal gets the area and the version of its session.
    case 'agent_signal':
      await tx`
        update agent_signal g
        set counted = true,
          product_area = coalesce(g.product_area, s.context ->> 'productArea'),
          agent_version = coalesce(g.agent_version, s.agent_version)
        from unnest(${keys as string[]}::text[]::uuid[]) as k (id)
        join agent_signal own on own.id = k.id
        left join agent_session s on s.organization_id = own.organization_id and s.id = own.session_id
        where g.organization_id = own.organization_id and g.id = k.id and g.counted is null`
      return
    case 'agent_session':
      await tx`update agent_session set counted = true where id = any(${keys as string[]}::text[]::uuid[]) and counted is null`
      return
    case 'feedback_record':
      await tx`update feedback_record set counted = true where id = any(${keys as string[]}::text[]::bigint[]) and counted is null`
      return
    case 'recording':
      await tx`update recording set counted = true where id = any(${keys as string[]}::text[]::uuid[]) and counted is null`
      return
    case 'insight_subject':
      await tx`
        update insight_subject i
        set counted = true, product_area = s.context ->> 'productArea', agent_version = s.agent_version
        from unnest(${keys as string[]}::text[]::uuid[]) as k (id)
        join insight_subject own on own.id = k.id
        left join agent_session s on s.organization_id = own.organization_id and s.id = own.session_id
        where i.organization_id = own.organization_id and i.id = k.id and i.counted is null`
  }
}

/** `keys`: ids of rows that the caller has locked. The triggers of migration 0119 write the coverage when they see the row. */
export async function coverRowsOf(
  tx: Tx,
  table: 'agent_session' | 'recording' | 'insight_subject',
  keys: readonly string[],
): Promise<void> {
  const ids = tx`${keys as string[]}::text[]::uuid[]`
  switch (table) {
    case 'agent_session':
      await tx`
        update agent_session
        set processing_status = processing_status
        where id = any(${ids}) and coverage is distinct from session_coverage(processing_status)`
      return
    case 'recording':
      await tx`
        update recording
        set transcript_status = transcript_status
        where id = any(${ids}) and coverage is distinct from recording_coverage(transcript_status, asset_status)`
      return
    case 'insight_subject':
      await tx`
        update insight_subject i
        set state = i.state,
          product_area = coalesce(i.product_area, s.context ->> 'productArea'),
          agent_version = coalesce(i.agent_version, s.agent_version)
        from unnest(${ids}) as k (id)
        join insight_subject own on own.id = k.id
        left join agent_session s on s.organization_id = own.organization_id and s.id = own.session_id
        where i.organization_id = own.organization_id and i.id = k.id and i.coverage is null and i.state <> 'pending'`
  }
}
