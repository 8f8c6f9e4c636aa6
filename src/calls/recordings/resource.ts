/** Recordings as the REST interface shows them: alone, and in lists. */
import type { PlaybackUrl, PlayerUrls } from './playback.ts'
import type { Found, Listed } from './read.ts'
import { analysisOfRecording, awaitedOf, failureOf } from './rules.ts'

export function resourceOf({ metadata, ...row }: Found, urls: PlayerUrls | null) {
  return {
    id: row.id,
    displayName: row.displayName,
    source: row.source,
    startedAt: row.startedAt,
    completedAt: row.completedAt,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    summary: row.summary,
    folderIds: row.folderIds,
    asset:
      row.assetStatus === null
        ? null
        : {
            status: row.assetStatus,
            url: urls?.url ?? null,
            urlExpiresAt: urls?.expiresAt ?? null,
            errorCode: row.assetErrorCode,
            durationSeconds: row.assetDurationSeconds,
            isAudio: row.assetIsAudio,
            contentType: row.assetContentType,
            fileSize: row.assetFileSize,
            waveformUrl: urls?.waveformUrl ?? null,
            posterUrl: urls?.posterUrl ?? null,
          },
    transcript: {
      status: row.transcriptStatus,
      source: row.transcriptSource,
      ...awaitedOf(row.transcriptStatus, row.assetStatus),
      errorCode: failureOf(row.transcriptStatus, row.transcriptErrorCode),
    },
    meeting:
      row.meetingStatus === null
        ? null
        : {
            platform: row.meetingPlatform,
            status: row.meetingStatus,
            joinedAt: row.meetingJoinedAt,
            endedAt: row.meetingEndedAt,
          },
    ...{ outcome: row.outcome, outcomeBasis: row.outcomeBasis, sentiment: row.sentiment },
    analysis: analysisOfRecording(row),
    participants: row.participants,
    record: metadata.canonical,
    metadata: metadata.all,
  }
}

export function itemOf(row: Listed, playback: PlaybackUrl | null) {
  return {
    id: row.id,
    display_name: row.displayName,
    source: row.source,
    started_at: row.startedAt,
    completed_at: row.completedAt,
    asset_url: playback?.url ?? null,
    asset_duration_seconds: row.assetDurationSeconds,
    transcript_status: row.transcriptStatus,
    transcript_error_code: failureOf(row.transcriptStatus, row.transcriptErrorCode),
    analysis: analysisOfRecording(row),
    summary: row.summary,
    metadata: row.metadata.all.map((record) => ({
      id: record.id,
      source_id: record.sourceId,
      external_entity_name: record.externalEntityName,
      type: record.type,
      is_canonical_recording_source: record.isCanonicalRecordingSource,
      external_id: record.externalId,
      values: record.values.map(({ fieldId, name, type, value }) => ({
        field_id: fieldId,
        name,
        type,
        value,
      })),
    })),
  }
}
