/** The SQL of the recordings of people: look-up, merge and erasure. */
import type { Tx } from '../../platform/db/pool.ts'

/** Ids of the recordings in which the person takes part. */
export async function recordingsOfPerson(
  tx: Tx,
  organizationId: string,
  personId: number,
): Promise<readonly string[]> {
  const rows = await tx<{ id: string }[]>`
    select recording_id as id
    from recording_participant
    where organization_id = ${organizationId}
      and person_id = ${personId}
    order by recording_id`
  return rows.map(({ id }) => id)
}

/** Gives at most `limit` places among participants of one person to another. A recording may have both. @returns how many */
export async function moveParticipations(
  tx: Tx,
  organizationId: string,
  from: number,
  to: number,
  limit: number,
): Promise<number> {
  const { count } = await tx`
    update recording_participant
    set person_id = ${to}
    where organization_id = ${organizationId}
      and (recording_id, speaker) in (
        select recording_id, speaker
        from recording_participant
        where organization_id = ${organizationId} and person_id = ${from}
        limit ${limit}
      )`
  return count
}

/** @returns the number of deleted rows */
export async function deleteParticipationsOf(
  tx: Tx,
  organizationId: string,
  personId: number,
): Promise<number> {
  const { count } = await tx`
    delete from recording_participant
    where organization_id = ${organizationId}
      and person_id = ${personId}`
  return count
}

/** Writes when the recordings began, where participants were stored before the column existed. */
export async function fillParticipantTimes(tx: Tx, recordingIds: readonly string[]): Promise<void> {
  await tx`
    update recording_participant p
    set occurred_at = coalesce(r.started_at, r.created_at)
    from recording r
    where r.id = any(${recordingIds as string[]}::uuid[])
      and p.organization_id = r.organization_id
      and p.recording_id = r.id
      and p.occurred_at is null`
}
