/** The SQL of the queue of subjects whose findings changed, and of these findings. Triggers write the queue (0059). */

import type { Channel } from '../../kernel/channel.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import type { Finding } from './items.rules.ts'
import { VECTOR_VERSION } from './vector.rules.ts'

export interface ChangeRow {
  readonly id: number
  readonly channel: Channel
  readonly subjectId: string
}

export interface SubjectKey {
  readonly channel: Channel
  readonly subjectId: string
}

/** The first changes in their order. `gone`: those by deleted findings, or the others. */
export const readChanges = (tx: Query, organizationId: string, gone: boolean, limit: number) => tx<
  ChangeRow[]
>`
  select id, channel, subject_id as "subjectId"
  from theme_change
  where organization_id = ${organizationId} and gone = ${gone}
  order by id
  limit ${limit}`

export async function deleteChanges(tx: Tx, organizationId: string, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  await tx`
    delete from theme_change
    where organization_id = ${organizationId} and id = any(${ids as number[]}::bigint[])`
}

export async function hasChanges(tx: Query, organizationId: string, gone: boolean): Promise<boolean> {
  const [row] = await tx<{ found: boolean }[]>`
    select exists (select from theme_change where organization_id = ${organizationId} and gone = ${gone}) as found`
  return row?.found ?? false
}

/**
 * Findings of the subjects, shown or not. One part for each channel, so that each uses the index of its own column: a single condition
 * with `or` reads all findings of the organization. So does `organization_id =` in a plan that was made while the table was empty; no
 * index serves `is not distinct from`.
 */
export function readFindings(tx: Query, organizationId: string, subjects: readonly SubjectKey[]) {
  const of = (channel: Channel) =>
    subjects.filter((one) => one.channel === channel).map(({ subjectId }) => subjectId)
  const columns = tx`
    g.id as "signalId", g.channel, coalesce(g.session_id::text, g.feedback_record_id::text, g.recording_id::text) as "subjectId",
    g.kind, g.comment, g.confidence, g.rating, g.language, g.occurred_at as "occurredAt"`
  const inferred = tx`
    g.organization_id is not distinct from ${organizationId} and g.source = 'qualitative_inference' and g.tier is not null`
  return tx<Finding[]>`
    select ${columns} from agent_signal g
    where ${inferred} and g.session_id = any(${of('conversation')}::text[]::uuid[])
    union all
    select ${columns} from agent_signal g
    where ${inferred} and g.feedback_record_id = any(${of('feedback')}::text[]::bigint[])
    union all
    select ${columns} from agent_signal g
    where ${inferred} and g.recording_id = any(${of('recording')}::text[]::uuid[])`
}

export interface WaitingRow {
  readonly organizationId: string
  readonly gone: boolean
}

/** Organizations with changes, at most `limit`. Takes one step down the index for each. */
export const waitingOrganizations = (sql: Query, limit: number) => sql<WaitingRow[]>`
  with recursive waiting as (
    (select organization_id, gone from theme_change order by organization_id, gone limit 1)
    union all
    select next.organization_id, next.gone
    from waiting w
    cross join lateral (
      select c.organization_id, c.gone
      from theme_change c
      where (c.organization_id, c.gone) > (w.organization_id, w.gone)
      order by c.organization_id, c.gone
      limit 1
    ) next
  )
  select organization_id as "organizationId", gone
  from waiting
  limit ${limit}`

/** Puts the subjects of these findings into the queue, for those that were there before the triggers. */
export async function enqueueFindings(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx`
    insert into theme_change (organization_id, channel, subject_id, gone)
    select distinct g.organization_id, g.channel, coalesce(g.session_id::text, g.feedback_record_id::text, g.recording_id::text), false
    from agent_signal g
    where g.id = any(${ids as string[]}::text[]::uuid[])
      and g.source = 'qualitative_inference'
      and g.tier is not null`
}

/** Puts the subjects of those of these items into the queue that have a vector of another version. */
export async function enqueueOutdated(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx`
    insert into theme_change (organization_id, channel, subject_id, gone)
    select distinct organization_id, channel, subject_id, false
    from theme_item
    where id = any(${ids as string[]}::text[]::bigint[]) and vector_version <> ${VECTOR_VERSION}::int`
}
