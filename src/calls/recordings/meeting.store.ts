/** The SQL of what a meeting tells about its recording: names of speakers, start and end. */
import type { Tx } from '../../platform/db/pool.ts'

/** Adds speakers of whom only the name is known. A speaker that is a participant already stays. */
export async function insertNamedParticipants(
  tx: Tx,
  organizationId: string,
  recordingId: string,
  participants: readonly { readonly speaker: number; readonly name: string }[],
): Promise<void> {
  if (participants.length === 0) return
  await tx`
    insert into recording_participant (organization_id, recording_id, speaker, name)
    select ${organizationId}, ${recordingId}, p.speaker, p.name
    from unnest(
      ${participants.map(({ speaker }) => speaker)}::bigint[],
      ${participants.map(({ name }) => name)}::text[]
    ) as p (speaker, name)
    on conflict (recording_id, speaker) do nothing`
}

/** Sets start and end of the recording where they are not known yet. */
export async function fillTimes(
  tx: Tx,
  organizationId: string,
  recordingId: string,
  { startedAt, completedAt }: { readonly startedAt: Date | null; readonly completedAt: Date | null },
): Promise<void> {
  await tx`
    update recording
    set
      started_at = coalesce(started_at, ${startedAt}),
      completed_at = coalesce(completed_at, greatest(${completedAt}, coalesce(started_at, ${startedAt}))),
      updated_at = now()
    where organization_id = ${organizationId}
      and id = ${recordingId}`
}
