/**
 * Use cases of recordings: create, read, list, change, delete.
 *
 * A recording is created completely or not at all. Folders, people, metadata, participants, transcript and the message
 * to its actor are written in one transaction (specification, "Create", rule 1).
 *
 * Errors are reported in the order 401, 404, 403, 400, 409, 422 where possible. A request to create has no address that
 * could be 404, so errors of the request alone (400) come first and cost no connection. Next are missing references
 * (404), then unfit values (422). The conflict (409) is last, because a corrected retry may still find that another
 * request has taken its external id.
 */

import { deleteActors, type Outbox, transactionWithOutbox } from '../../actors/mailbox.ts'
import { insightMessages, insightReanalysisMessages } from '../../kernel/messages/insight.ts'
import { passageMessages } from '../../kernel/messages/passage.ts'
import { recordingMessages } from '../../kernel/messages/recording.ts'
import { transcriptionMessages } from '../../kernel/messages/transcription.ts'
import type { Viewer } from '../../kernel/principal.ts'
import type { Alongside } from '../../platform/db/alongside.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { AppError } from '../../platform/errors.ts'
import { deleteDiscarded, discardMedia } from '../media/service.ts'
import { discardMeeting } from '../meetings/discard.ts'
import { DuplicateExternalId, isTakenMeanwhile } from '../metadata/service.ts'
import { deleteTranscript } from '../transcripts/service.ts'
import { discardUploads } from '../uploads/garbage.ts'
import { applyChange } from './change.ts'
import { type Writing, write } from './create.ts'
import { lockSome } from './erasure.store.ts'
import type { ListSlice } from './list.store.ts'
import type { UpdateRecording } from './model.ts'
import { type Found, find, type ListRequest, list, type RecordingsDeps, throwNoRecording } from './read.ts'
import { changeOf } from './rules.ts'
import * as store from './store.ts'
import type { PreparedRecording } from './work.ts'

export type Recordings = ReturnType<typeof createRecordings>

/** How long a request that deletes a recording waits for the object store. */
const MEDIA_DELETE_MS = 5_000

export function createRecordings(deps: RecordingsDeps) {
  const { sql, reads, folders, newId, log } = deps
  return {
    /**
     * @throws AppError 400; 404 `folder_not_found`, `person_not_found`; 422 of metadata; 409 `recording_external_id_exists`
     */
    async create(viewer: Viewer, prepared: PreparedRecording, also?: Alongside<Found>): Promise<Found> {
      const draft = { ...prepared, assetUrl: assertAssetUrl(deps, prepared.assetUrl) }
      const id = newId()
      try {
        const found = await transactionWithOutbox(deps, async (tx, outbox) => {
          const written = await write(deps, { tx, outbox, viewer }, id, draft)
          await also?.(tx, written)
          return written
        })
        log.info({ organizationId: viewer.organizationId, recordingId: id }, 'recording created')
        return found
      } catch (error) {
        throw error instanceof DuplicateExternalId ? externalIdExists(error.recordingId) : error
      }
    },

    /**
     * Creates the recording of a meeting, without media and transcript, in the caller's transaction. The caller has resolved the
     * folders.
     */
    async createForMeeting(
      writing: Writing,
      id: string,
      draft: Pick<PreparedRecording, 'displayName' | 'folderIds' | 'source'>,
    ): Promise<void> {
      await write(deps, writing, id, { ...EMPTY, ...draft })
    },

    /** @throws AppError 404 */
    async get(viewer: Viewer, id: string): Promise<Found> {
      return (
        (await find(deps, reads, viewer, id, folders.visibleRecording(reads, viewer))) ?? throwNoRecording()
      )
    },

    /** Names of the participants. The caller has checked that the viewer may see the recording. */
    speakersOf: (organizationId: string, id: string) => store.speakersOf(reads, organizationId, id),

    list: (viewer: Viewer, request: ListRequest, slice: ListSlice) => list(deps, viewer, request, slice),

    /**
     * Calls `readBody` once the recording is known to be visible. @throws AppError 404; errors of `readBody`; 400; 422
     */
    async update(
      viewer: Viewer,
      id: string,
      readBody: () => Promise<UpdateRecording>,
      also?: Alongside<Found>,
    ): Promise<Found> {
      await folders.assertVisible(sql, viewer, id)
      const change = changeOf(await readBody(), deps.outbound)
      for (;;) {
        try {
          return await transactionWithOutbox(deps, async (tx, outbox) => {
            const changed = await applyChange(deps, { tx, outbox, viewer }, id, change)
            await also?.(tx, changed)
            return changed
          })
        } catch (error) {
          if (isTakenMeanwhile(error)) continue
          throw error instanceof DuplicateExternalId ? externalIdExists(error.recordingId) : error
        }
      }
    },

    /**
     * Deletes the recording with its transcript, media, uploads, metadata, participants and messages. Its media is
     * deleted before this returns, unless the object store is unavailable. @throws AppError 404
     */
    async remove(viewer: Viewer, id: string, also?: Alongside): Promise<void> {
      await transactionWithOutbox(deps, async (tx, outbox) => {
        if (!(await store.lockRecording(tx, id, folders.visibleRecording(tx, viewer)))) throwNoRecording()
        await deleteRows(tx, outbox, viewer.organizationId, id)
        await deleteActors(tx, actorsOf(id))
        await also?.(tx, id)
      })
      await deleteDiscarded(deps, { organizationId: viewer.organizationId, recordingId: id }, MEDIA_DELETE_MS)
      log.info({ organizationId: viewer.organizationId, recordingId: id }, 'recording deleted')
    },
  }
}

/**
 * Deletes some recordings of an organization that is being erased, as `remove` does. Their objects are left to the lists of what is to
 * be deleted. @returns the number of recordings, at most `limit`
 */
export async function removeSome(
  tx: Tx,
  outbox: Outbox,
  organizationId: string,
  limit: number,
): Promise<number> {
  const ids = await lockSome(tx, organizationId, limit)
  for (const id of ids) await deleteRows(tx, outbox, organizationId, id)
  await deleteActors(tx, ids.flatMap(actorsOf))
  return ids.length
}

/** The caller has locked the recording, and deletes its actors last. */
async function deleteRows(tx: Tx, outbox: Outbox, organizationId: string, id: string): Promise<void> {
  const subject = { organizationId, recordingId: id }
  await deleteTranscript(tx, organizationId, id)
  await discardMeeting(tx, outbox, subject)
  await discardMedia(tx, subject)
  await discardUploads(tx, subject)
  await store.deleteRecording(tx, organizationId, id)
}

const actorsOf = (id: string) =>
  [recordingMessages, transcriptionMessages, passageMessages, insightMessages, insightReanalysisMessages].map(
    (one) => one.key(id),
  )

/** Adds the recording to folders, for the transaction that locks the recording and has resolved the folders. */
export function addToFolders(
  tx: Tx,
  organizationId: string,
  recordingId: string,
  folderIds: readonly string[],
): Promise<void> {
  return store.insertFolders(tx, organizationId, recordingId, folderIds)
}

const EMPTY: Omit<PreparedRecording, 'displayName' | 'folderIds' | 'source'> = {
  startedAt: null,
  completedAt: null,
  summary: null,
  assetUrl: null,
  transcript: null,
  participants: [],
  record: {},
}

/** @throws AppError 400 `url_not_allowed` */
function assertAssetUrl({ outbound }: RecordingsDeps, url: string | null): string | null {
  return url === null ? null : outbound.assertUrl(url, 'assetUrl').href
}

function externalIdExists(recordingId: string): AppError {
  const message = 'Another recording has this record.externalId. Nothing was created or changed.'
  return new AppError('recording_external_id_exists', message, { extra: { recordingId } })
}
