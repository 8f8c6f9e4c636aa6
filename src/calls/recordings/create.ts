/** Writes a new recording with everything that belongs to it, in the caller's transaction. */
import type { Outbox } from '../../actors/mailbox.ts'
import { recordingMessages } from '../../kernel/messages/recording.ts'
import type { Viewer } from '../../kernel/principal.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { awaitFromUrl } from '../assets/service.ts'
import { writeColumns } from '../transcripts/service.ts'
import { resolveParticipants } from './participants.ts'
import { type Found, type RecordingsDeps, readBack } from './read.ts'
import * as store from './store.ts'
import type { PreparedRecording } from './work.ts'

export interface Writing {
  readonly tx: Tx
  readonly outbox: Outbox
  readonly viewer: Viewer
}

/**
 * Rows that other requests may also lock are locked in one order: folders, people, external id. The external id comes
 * before the transcript, so that a retry of a successful request writes no utterances.
 */
export async function write(
  deps: RecordingsDeps,
  { tx, outbox, viewer }: Writing,
  id: string,
  draft: PreparedRecording,
): Promise<Found> {
  const { organizationId } = viewer
  const { transcript } = draft
  const folderIds = await deps.folders.resolve(tx, viewer, draft.folderIds)
  const participants = await resolveParticipants(deps.people, tx, organizationId, draft.participants)
  await store.insertRecording(tx, {
    ...draft,
    id,
    organizationId,
    createdByUserId: viewer.kind === 'user' ? viewer.userId : null,
    hasTranscript: transcript !== null,
  })
  await deps.metadata.writeCanonicalRecord(tx, organizationId, id, draft.record)
  await Promise.all([
    store.insertFolders(tx, organizationId, id, folderIds),
    store.insertParticipants(tx, organizationId, id, participants),
    transcript === null ? null : writeColumns(tx, organizationId, id, transcript),
  ])
  // The order matters: a supplied transcript must not wait for media, which may take hours.
  if (transcript !== null)
    await outbox.send([recordingMessages.message(id, 'transcript_completed', { organizationId })])
  if (draft.assetUrl !== null) {
    await awaitFromUrl(tx, { organizationId, recordingId: id }, draft.assetUrl)
    await outbox.send([recordingMessages.message(id, 'ingest_url', { organizationId })])
  }
  return readBack(deps, tx, viewer, id)
}
