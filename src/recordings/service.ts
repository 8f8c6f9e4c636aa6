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

import { deleteActors, type Outbox, transactionWithOutbox } from '../actors/mailbox.ts'
import { awaitFromUrl } from '../assets/service.ts'
import type { Deps } from '../container.ts'
import type { Folders, Viewer } from '../folders/service.ts'
import { deleteDiscarded, discardMedia, requestMedia } from '../media/service.ts'
import { discardMeeting } from '../meetings/discard.ts'
import { insightMessages } from '../messages/insight.ts'
import { passageMessages } from '../messages/passage.ts'
import { recordingMessages } from '../messages/recording.ts'
import { transcriptionMessages } from '../messages/transcription.ts'
import {
  DuplicateExternalId,
  isTakenMeanwhile,
  type Metadata,
  type RecordingMetadata,
} from '../metadata/service.ts'
import type { People } from '../people/service.ts'
import type { Alongside } from '../platform/db/alongside.ts'
import { assertReached, type Scanned, wholly } from '../platform/db/bounded-scan.ts'
import type { Query, Tx } from '../platform/db/pool.ts'
import { AppError } from '../platform/errors.ts'
import { checkSpeakers } from '../transcripts/rules.ts'
import { deleteTranscript, readTranscript, recordingsFound, writeColumns } from '../transcripts/service.ts'
import { discardUploads } from '../uploads/garbage.ts'
import * as lists from './list.store.ts'
import type { UpdateRecording } from './model.ts'
import { resolveParticipants } from './participants.ts'
import { assertOrder, changeOf, type RecordingChange } from './rules.ts'
import * as store from './store.ts'
import type { PreparedRecording } from './work.ts'

export type Recordings = ReturnType<typeof createRecordings>

export type RecordingsDeps = Pick<
  Deps,
  'sql' | 'reads' | 'notifier' | 'newId' | 'log' | 'storage' | 'outbound'
> & {
  readonly folders: Folders
  readonly people: People
  readonly metadata: Metadata
}

/** A recording with its metadata. */
export type Found = store.RecordingRow & { readonly metadata: RecordingMetadata }
export type Listed = lists.ListRow & { readonly metadata: RecordingMetadata }

/** Filters of a list, including those that are not columns. */
export interface ListRequest extends Omit<lists.ListFilter, 'id'> {
  readonly externalId?: string | undefined
  readonly text?: string | undefined
}

/** How long a request that deletes a recording waits for the object store. */
const MEDIA_DELETE_MS = 5_000

export function createRecordings(deps: RecordingsDeps) {
  const { sql, reads, folders, newId, log } = deps
  return {
    /**
     * @throws AppError 400; 404 `folder_not_found`, `person_not_found`; 422 of metadata; 409 `recording_external_id_exists`
     */
    async create(viewer: Viewer, prepared: PreparedRecording): Promise<Found> {
      const draft = { ...prepared, assetUrl: assertAssetUrl(deps, prepared.assetUrl) }
      const id = newId()
      try {
        const found = await transactionWithOutbox(deps, (tx, outbox) =>
          write(deps, { tx, outbox, viewer }, id, draft),
        )
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

    list: (viewer: Viewer, request: ListRequest, slice: lists.ListSlice) =>
      list(deps, viewer, request, slice),

    /**
     * Calls `readBody` once the recording is known to be visible. @throws AppError 404; errors of `readBody`; 400; 422
     */
    async update(viewer: Viewer, id: string, readBody: () => Promise<UpdateRecording>): Promise<Found> {
      await folders.assertVisible(sql, viewer, id)
      const change = changeOf(await readBody(), deps.outbound)
      for (;;) {
        try {
          return await transactionWithOutbox(deps, (tx, outbox) =>
            applyChange(deps, { tx, outbox, viewer }, id, change),
          )
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
        await deleteTranscript(tx, viewer.organizationId, id)
        await discardMeeting(tx, outbox, { organizationId: viewer.organizationId, recordingId: id })
        await discardMedia(tx, { organizationId: viewer.organizationId, recordingId: id })
        await discardUploads(tx, { organizationId: viewer.organizationId, recordingId: id })
        await store.deleteRecording(tx, viewer.organizationId, id)
        await deleteActors(
          tx,
          [recordingMessages, transcriptionMessages, passageMessages, insightMessages].map((one) =>
            one.key(id),
          ),
        )
        await also?.(tx, id)
      })
      await deleteDiscarded(deps, { organizationId: viewer.organizationId, recordingId: id }, MEDIA_DELETE_MS)
      log.info({ organizationId: viewer.organizationId, recordingId: id }, 'recording deleted')
    },
  }
}

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

export interface Writing {
  readonly tx: Tx
  readonly outbox: Outbox
  readonly viewer: Viewer
}

/**
 * Rows that other requests may also lock are locked in one order: folders, people, external id. The external id comes
 * before the transcript, so that a retry of a successful request writes no utterances.
 */
async function write(
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

async function applyChange(
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

/** Locks people after folders and before the external id, as `write` does. */
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

/** One page with the metadata of its recordings, in two statements. */
async function list(
  { reads, folders, metadata }: RecordingsDeps,
  viewer: Viewer,
  { externalId, text, ...filter }: ListRequest,
  slice: lists.ListSlice,
): Promise<Scanned<Listed, string>> {
  const { organizationId } = viewer
  if (filter.folderId !== undefined) await folders.get(viewer, filter.folderId)
  const holder =
    externalId === undefined ? null : await metadata.recordingWith(reads, organizationId, externalId)
  if (externalId !== undefined && holder === null) return wholly([])
  const scope = {
    organizationId,
    visible: folders.visibleRecording(reads, viewer),
    found: text === undefined ? null : recordingsFound(reads, organizationId, text),
  }
  const { rows, end } = await lists.listRecordings(
    reads,
    scope,
    { ...filter, id: holder ?? undefined },
    slice,
  )
  if (end !== null && rows.length === 0) assertReached(slice)
  if (rows.length === 0) return { rows: [], end }
  const records = await metadata.recordsOf(
    reads,
    organizationId,
    rows.map(({ id }) => id),
  )
  return { rows: rows.map((row) => ({ ...row, metadata: records.get(row.id) ?? NO_METADATA })), end }
}

const NO_METADATA: RecordingMetadata = { canonical: null, all: [] }

async function find(
  { folders, metadata }: RecordingsDeps,
  query: Query,
  viewer: Viewer,
  id: string,
  visible: store.Condition,
): Promise<Found | undefined> {
  const row = await store.findRecording(query, id, visible, folders.visibleFolder(query, viewer))
  if (row === undefined) return undefined
  const records = await metadata.recordsOf(query, viewer.organizationId, [id])
  return { ...row, metadata: records.get(id) ?? NO_METADATA }
}

/** Reads what this transaction has written, even if the viewer can no longer see the recording. */
async function readBack(deps: RecordingsDeps, tx: Tx, viewer: Viewer, id: string): Promise<Found> {
  return (
    (await find(deps, tx, viewer, id, store.ofOrganization(tx, viewer.organizationId))) ?? throwNoRecording()
  )
}

function throwNoRecording(): never {
  throw new AppError('recording_not_found', 'There is no such recording.')
}

function externalIdExists(recordingId: string): AppError {
  const message = 'Another recording has this record.externalId. Nothing was created or changed.'
  return new AppError('recording_external_id_exists', message, { extra: { recordingId } })
}
