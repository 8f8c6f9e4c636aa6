/** Changes a recording, in the caller's transaction. */

import { passageMessages } from '../../kernel/messages/passage.ts'
import { recordingMessages } from '../../kernel/messages/recording.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { requestMedia } from '../media/service.ts'
import { checkSpeakers } from '../transcripts/rules.ts'
import { readTranscript } from '../transcripts/service.ts'
import type { Writing } from './create.ts'
import { resolveParticipants } from './participants.ts'
import { type Found, type RecordingsDeps, readBack, throwNoRecording } from './read.ts'
import { assertOrder, type RecordingChange } from './rules.ts'
import * as store from './store.ts'

/** @throws AppError 404; 400 if the end would be before the start; errors of folders, people and metadata */
export async function applyChange(
  deps: RecordingsDeps,
  { tx, outbox, viewer }: Writing,
  id: string,
  change: RecordingChange,
): Promise<Found> {
  const { folders, metadata } = deps
  const { organizationId } = viewer
  const { participants } = change
  if (!(await store.lockRecording(tx, id, folders.visibleRecording(tx, viewer)))) throwNoRecording()
  if (change.folderIds !== undefined) {
    const folderIds = await folders.resolve(tx, viewer, change.folderIds)
    await store.deleteFolders(tx, id, folders.visibleFolder(tx, viewer), folderIds)
    await store.insertFolders(tx, organizationId, id, folderIds)
  }
  if (participants !== undefined) await replaceParticipants(deps, tx, organizationId, id, participants)
  if (change.startedAt !== undefined || change.completedAt !== undefined) {
    const present = await store.findTimes(tx, organizationId, id)
    const { startedAt = present.startedAt, completedAt = present.completedAt } = change
    assertOrder(startedAt, completedAt)
  }
  if (change.externalId !== undefined) await metadata.setExternalId(tx, organizationId, id, change.externalId)
  if (change.values !== undefined) {
    const { set, remove } = change.values
    const present = (await metadata.recordsOf(tx, organizationId, [id])).get(id)?.canonical?.values ?? []
    const touched = new Set([...remove, ...set.map(({ fieldId }) => fieldId.toLowerCase())])
    // Values of the request come first, so that findings name their position in the request.
    const kept = present.filter(({ fieldId }) => !touched.has(fieldId))
    await metadata.replaceValues(tx, organizationId, id, [...set, ...kept])
  }
  await store.updateRecording(tx, organizationId, id, change)
  const { assetUrl } = change
  if (assetUrl !== undefined && (await requestMedia(tx, { organizationId, recordingId: id }, assetUrl)))
    await outbox.send([recordingMessages.message(id, 'ingest_url', { organizationId })])
  // What was said is searched by the time at which the recording began.
  if (change.startedAt !== undefined)
    await outbox.send([passageMessages.message(id, 'recording', { organizationId })])
  return readBack(deps, tx, viewer, id)
}

/** Locks people after folders and before the external id, as `write` (create.ts) does. */
async function replaceParticipants(
  { people }: RecordingsDeps,
  tx: Tx,
  organizationId: string,
  id: string,
  participants: NonNullable<RecordingChange['participants']>,
): Promise<void> {
  const utterances = await readTranscript(tx, organizationId, id)
  if (utterances.length > 0) checkSpeakers(utterances, participants)
  const rows = await resolveParticipants(people, tx, organizationId, participants)
  await store.deleteParticipants(tx, organizationId, id)
  await store.insertParticipants(tx, organizationId, id, rows)
}
