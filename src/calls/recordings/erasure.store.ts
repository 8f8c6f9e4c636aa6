/** The SQL of erasing a person from the names and summaries of recordings. */
import type { Tx } from '../../platform/db/pool.ts'
import { nameWords } from '../../platform/text/words.rules.ts'

export interface RecordingTexts {
  readonly id: string
  /** Null also where the text was received after the erasure was requested. */
  readonly displayName: string | null
  readonly summary: string | null
}

/** Texts that were received until `until`, and automatic summaries. Locks the recordings until the transaction ends. */
export function readTexts(tx: Tx, organizationId: string, until: Date, ids: readonly string[]) {
  return tx<RecordingTexts[]>`
    select id,
      case when coalesce(named_at <= ${until}, true) then display_name end as "displayName",
      case when coalesce(summarized_at <= ${until}, true) or summary_source = 'automatic' then summary end as summary
    from recording
    where organization_id = ${organizationId} and id = any(${ids as string[]}::uuid[])
    order by id
    for no key update`
}

/** Null: the text stays. */
export async function writeTexts(
  tx: Tx,
  organizationId: string,
  rows: readonly RecordingTexts[],
): Promise<void> {
  if (rows.length === 0) return
  const changed = rows.map((row) => ({ ...row, nameWords: nameWords(row.displayName) }))
  await tx`
    update recording r
    set display_name = coalesce(c."displayName", r.display_name), name_words = coalesce(c."nameWords", r.name_words),
      summary = coalesce(c.summary, r.summary), updated_at = now()
    from json_to_recordset(${JSON.stringify(changed)}::text::json) as c (
      id uuid, "displayName" text, "nameWords" text, summary text
    )
    where r.organization_id = ${organizationId} and r.id = c.id`
}

export interface SpeakerName {
  readonly recordingId: string
  readonly speaker: number
  readonly name: string
}

/** Locks the participants of whom only the name is known until the transaction ends. */
export function readSpeakers(tx: Tx, organizationId: string, ids: readonly string[]) {
  return tx<SpeakerName[]>`
    select recording_id as "recordingId", speaker, coalesce(name, '') as name
    from recording_participant
    where organization_id = ${organizationId}
      and recording_id = any(${ids as string[]}::uuid[])
      and name is not null
    order by recording_id, speaker
    for no key update`
}

export async function writeSpeakers(
  tx: Tx,
  organizationId: string,
  rows: readonly SpeakerName[],
): Promise<void> {
  if (rows.length === 0) return
  await tx`
    update recording_participant p
    set name = c.name
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as c ("recordingId" uuid, speaker bigint, name text)
    where p.organization_id = ${organizationId}
      and p.recording_id = c."recordingId"
      and p.speaker = c.speaker`
}

/** Locks some recordings of the organization, in the order of their ids. */
export async function lockSome(tx: Tx, organizationId: string, limit: number): Promise<readonly string[]> {
  const rows = await tx<{ id: string }[]>`
    select id
    from recording
    where organization_id = ${organizationId}
    order by id
    limit ${limit}
    for update`
  return rows.map(({ id }) => id)
}
