/** What other features do with a meeting in their own transactions: end it with its recording, have the recorder's copy deleted. */
import { deleteActors, type Outbox } from '../../actors/mailbox.ts'
import { meetingMessages } from '../../kernel/messages/meeting.ts'
import { type ErasureReach, overRecordings } from '../../people/erasure.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { discarded } from './plan.rules.ts'
import * as store from './store.ts'

/**
 * The recording is being deleted: the bot leaves, and the recorder deletes its copy. The row of the join stays until then. Runs in the
 * transaction that has locked the recording.
 */
export async function discardMeeting(
  tx: Tx,
  outbox: Outbox,
  { organizationId, recordingId }: { readonly organizationId: string; readonly recordingId: string },
): Promise<void> {
  const join = await store.lockJoinOf(tx, organizationId, recordingId)
  if (join === null) return
  const left = discarded(join)
  await store.saveJoin(tx, join, left)
  if (left.duty !== null) await outbox.send([meetingMessages.message(join.id, 'check', { organizationId })])
}

/**
 * Deletes the joins of an organization that is being erased, except those whose bot is in a meeting or whose copy the recorder still
 * has. @returns how many were deleted, and whether there are such that stay
 */
export async function removeJoins(
  tx: Tx,
  organizationId: string,
): Promise<{ readonly deleted: number; readonly areLeft: boolean }> {
  const ids = await store.deleteDiscardedOf(tx, organizationId)
  const areLeft = await store.hasJoins(tx, organizationId)
  await deleteActors(
    tx,
    ids.map((id) => meetingMessages.key(id)),
  )
  return { deleted: ids.length, areLeft }
}

/** Part of the erasure of a person: recorders delete their copies of the person's recordings, even if they are kept otherwise. */
export const recorderErasure: ErasureReach = {
  ...overRecordings('recorders', async (tx, person, ids) => {
    await store.requestDeletion(tx, person.organizationId, ids)
    return {}
  }),
  /** A recorder that hangs does not hold up the erasure of people who were in no meeting with it. */
  async ownActors(tx, { organizationId, recordingIds }) {
    const ids = await store.joinsOf(tx, organizationId, recordingIds)
    return { kinds: [meetingMessages.kind], keys: new Set(ids.map((id) => meetingMessages.key(id))) }
  },
}
