/**
 * The SQL of recordings.
 *
 * Whatever a caller sees is selected under `visibleRecording`. Only rows that the caller has just created or changed in
 * the same transaction are read back without it.
 */
import type { PendingQuery, Row } from 'postgres'
import type { Outcome, Sentiment } from '../../analysis/analyze/insight.ts'
import type { OutcomeBasis } from '../../analysis/findings/basis.rules.ts'
import type { ReadSubject } from '../../analysis/findings/coverage.rules.ts'
import type { AssetStatus } from '../../kernel/asset-status.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import { nameWords } from '../../platform/text/words.rules.ts'
import type { TranscriptError, TranscriptSource, TranscriptStatus } from '../transcripts/states.ts'

/** An SQL condition for one statement. */
export type Condition = PendingQuery<Row[]>

/** Matches every recording `r` of the organization, regardless of who may see it. */
export const ofOrganization = (query: Query, organizationId: string): Condition => query`
  r.organization_id = ${organizationId}`

export interface NewRecording {
  readonly id: string
  readonly organizationId: string
  readonly createdByUserId: string | null
  readonly displayName: string | null
  readonly source: string
  readonly startedAt: string | null
  readonly completedAt: string | null
  readonly summary: string | null
  readonly hasTranscript: boolean
}

export async function insertRecording(tx: Tx, row: NewRecording): Promise<void> {
  await tx`
    insert into recording (
      id, organization_id, created_by_user_id, display_name, name_words, source, started_at, completed_at,
      summary, summary_source, transcript_status, transcript_source
    )
    values (
      ${row.id}, ${row.organizationId}, ${row.createdByUserId}, ${row.displayName}, ${nameWords(row.displayName)}, ${row.source},
      -- As text: the driver writes a timestamptz parameter through Date and would cut its microseconds.
      ${row.startedAt}::text::timestamptz, ${row.completedAt}::text::timestamptz,
      ${row.summary}, ${row.summary === null ? null : 'api'},
      ${row.hasTranscript ? 'completed' : 'waiting'}, ${row.hasTranscript ? 'api' : null}
    )`
}

export async function insertFolders(
  tx: Tx,
  organizationId: string,
  recordingId: string,
  folderIds: readonly string[],
): Promise<void> {
  if (folderIds.length === 0) return
  await tx`
    insert into recording_folder (organization_id, recording_id, folder_id)
    select ${organizationId}, ${recordingId}, unnest(${folderIds as string[]}::uuid[])
    on conflict (recording_id, folder_id) do nothing`
}

/** Removes the recording from folders that the viewer can see, except those in `kept`. */
export async function deleteFolders(
  tx: Tx,
  recordingId: string,
  visibleFolder: Condition,
  kept: readonly string[],
): Promise<void> {
  await tx`
    delete from recording_folder rf
    using folder f
    where rf.recording_id = ${recordingId}
      and f.id = rf.folder_id
      and ${visibleFolder}
      and f.id <> all(${kept as string[]}::uuid[])`
}

export interface ParticipantRow {
  readonly speaker: number
  /** Internal id. */
  readonly personId: number
}

export async function insertParticipants(
  tx: Tx,
  organizationId: string,
  recordingId: string,
  participants: readonly ParticipantRow[],
): Promise<void> {
  if (participants.length === 0) return
  await tx`
    insert into recording_participant (organization_id, recording_id, speaker, person_id)
    select ${organizationId}, ${recordingId}, p.speaker, p.person_id
    from unnest(
      ${participants.map(({ speaker }) => speaker)}::bigint[],
      ${participants.map(({ personId }) => personId)}::bigint[]
    ) as p (speaker, person_id)`
}

export interface RecordingRow {
  readonly id: string
  readonly displayName: string | null
  readonly source: string
  readonly startedAt: Date | null
  readonly completedAt: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly summary: string | null
  readonly assetStatus: AssetStatus | null
  readonly assetErrorCode: string | null
  readonly assetDurationSeconds: number | null
  readonly assetIsAudio: boolean | null
  readonly assetObjectKey: string | null
  readonly assetContentType: string | null
  readonly assetFileSize: number | null
  readonly assetWaveformKey: string | null
  readonly assetPosterKey: string | null
  readonly transcriptStatus: TranscriptStatus
  readonly transcriptSource: TranscriptSource | null
  readonly transcriptErrorCode: TranscriptError | null
  readonly meetingPlatform: string | null
  readonly meetingStatus: string | null
  readonly meetingJoinedAt: Date | null
  readonly meetingEndedAt: Date | null
  readonly outcome: Outcome | null
  readonly outcomeBasis: OutcomeBasis | null
  readonly sentiment: Sentiment | null
  readonly subject: ReadSubject | null
  readonly folderIds: readonly string[]
  readonly participants: readonly {
    readonly speaker: number
    /** null: a speaker of a meeting, of whom only the name is known. */
    readonly personId: string | null
    readonly firstName: string | null
    readonly lastName: string | null
    readonly email: string | null
  }[]
}

/** One recording that meets a condition on `r`, with its folders `f` that meet the other condition. */
export async function findRecording(
  query: Query,
  recordingId: string,
  visible: Condition,
  visibleFolder: Condition,
): Promise<RecordingRow | undefined> {
  const [row] = await query<RecordingRow[]>`
    select
      r.id, r.display_name as "displayName", r.source, r.started_at as "startedAt",
      r.completed_at as "completedAt", r.created_at as "createdAt", r.updated_at as "updatedAt", r.summary,
      r.asset_status as "assetStatus", r.asset_error_code as "assetErrorCode", r.asset_duration_seconds as "assetDurationSeconds", r.asset_is_audio as "assetIsAudio",
      r.asset_object_key as "assetObjectKey", r.asset_content_type as "assetContentType", r.asset_file_size as "assetFileSize",
      r.asset_waveform_key as "assetWaveformKey", r.asset_poster_key as "assetPosterKey",
      r.transcript_status as "transcriptStatus", r.transcript_source as "transcriptSource", r.transcript_error_code as "transcriptErrorCode",
      m.platform as "meetingPlatform", m.status as "meetingStatus", m.joined_at as "meetingJoinedAt", m.ended_at as "meetingEndedAt",
      i.outcome, i.outcome_basis as "outcomeBasis", i.sentiment,
      case when i.id is not null then json_build_object('state', i.state, 'analyzer', i.analyzer_name, 'version', i.analyzer_version) end as subject,
      array(
        select f.id
        from recording_folder rf
        join folder f on f.id = rf.folder_id
        where rf.recording_id = r.id
          and ${visibleFolder}
        order by f.id
      ) as "folderIds",
      coalesce(
        (
          select json_agg(
            json_build_object(
              'speaker', p.speaker, 'personId', person.public_id,
              'firstName', coalesce(person.first_name, p.name), 'lastName', person.last_name, 'email', person.email
            )
            order by p.speaker
          )
          from recording_participant p
          left join person on person.id = p.person_id
          where p.recording_id = r.id
            and p.organization_id = r.organization_id
        ),
        '[]'
      ) as participants
    from recording r
    left join meeting_join m on m.recording_id = r.id
      and m.organization_id = r.organization_id
    left join insight_subject i on i.organization_id = r.organization_id and i.recording_id = r.id
    where ${visible}
      and r.id = ${recordingId}`
  return row
}

/**
 * Whether the recording currently refers to the object of this key. Takes id and key alone, because the caller holds a
 * signed playback URL, which names no organization.
 */
export async function isShown(query: Query, recordingId: string, objectKey: string): Promise<boolean> {
  const { count } = await query`
    select 1
    from recording
    where id = ${recordingId}
      and asset_status = 'completed'
      and ${objectKey} in (asset_object_key, asset_waveform_key, asset_poster_key)`
  return count === 1
}

/** The participants of a recording in the order of their speaker numbers, with their names. */
export function speakersOf(query: Query, organizationId: string, recordingId: string) {
  return query<{ speaker: number; firstName: string | null; lastName: string | null }[]>`
    select p.speaker, coalesce(person.first_name, p.name) as "firstName", person.last_name as "lastName"
    from recording_participant p
    left join person on person.id = p.person_id
    where p.organization_id = ${organizationId}
      and p.recording_id = ${recordingId}
    order by p.speaker`
}

/** Locks the recording until the transaction ends. @returns false if the condition on `r` hides it */
export async function lockRecording(tx: Tx, recordingId: string, visible: Condition): Promise<boolean> {
  const rows = await tx`
    select 1
    from recording r
    where ${visible}
      and r.id = ${recordingId}
    for update of r`
  return rows.length === 1
}

/** Changes the given values. Setting the summary, even to null, prevents an automatic one. */
export async function updateRecording(
  tx: Tx,
  organizationId: string,
  recordingId: string,
  {
    displayName,
    summary,
    startedAt,
    completedAt,
  }: {
    readonly displayName: string | null | undefined
    readonly summary: string | null | undefined
    readonly startedAt: string | null | undefined
    readonly completedAt: string | null | undefined
  },
): Promise<void> {
  await tx`
    update recording
    set
      updated_at = now()
      ${displayName === undefined ? tx`` : tx`, display_name = ${displayName}, name_words = ${nameWords(displayName)}, named_at = now()`}
      ${summary === undefined ? tx`` : tx`, summary = ${summary}, summary_source = 'api', summarized_at = now()`}
      ${startedAt === undefined ? tx`` : tx`, started_at = ${startedAt}::text::timestamptz`}
      ${completedAt === undefined ? tx`` : tx`, completed_at = ${completedAt}::text::timestamptz`}
    where organization_id = ${organizationId}
      and id = ${recordingId}`
}

/** Start and end of the recording in UTC with microseconds. */
export async function findTimes(
  tx: Tx,
  organizationId: string,
  recordingId: string,
): Promise<{ readonly startedAt: string | null; readonly completedAt: string | null }> {
  const utc = (column: string) =>
    tx`to_char(${tx(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
  const [row] = await tx<{ startedAt: string | null; completedAt: string | null }[]>`
    select ${utc('started_at')} as "startedAt", ${utc('completed_at')} as "completedAt"
    from recording
    where organization_id = ${organizationId}
      and id = ${recordingId}`
  return row ?? { startedAt: null, completedAt: null }
}

export async function deleteParticipants(tx: Tx, organizationId: string, recordingId: string): Promise<void> {
  await tx`
    delete from recording_participant
    where organization_id = ${organizationId}
      and recording_id = ${recordingId}`
}

/** Folders, participants and metadata are deleted with the row. */
export async function deleteRecording(tx: Tx, organizationId: string, recordingId: string): Promise<void> {
  await tx`
    delete from recording
    where organization_id = ${organizationId}
      and id = ${recordingId}`
}
