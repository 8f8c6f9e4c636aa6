/** REST operations on recordings. Each parses the request, calls the service and builds the answer. */

import { Type } from '@sinclair/typebox'
import { recorded } from '../../access/audit/change.ts'
import { created, noContent, type Operation, ok, operation } from '../../http/operation.ts'
import { keyset, positionOf, toPage } from '../../http/paging.ts'
import { moment, uuidOf } from '../../http/parameters.ts'
import { CreateRecording, MAX_CREATE_BYTES, UpdateRecording } from './model.ts'
import type { Playback } from './playback.ts'
import type { Found, Listed } from './read.ts'
import { Recording, RecordingPage, RecordingQuery } from './resource.model.ts'
import { itemOf, resourceOf } from './resource.ts'
import { orderOfList } from './rules.ts'
import type { Recordings } from './service.ts'
import { prepareRecordingWork } from './work.ts'

const RECORDINGS = '/v3/rest/recordings'
const RECORDING = `${RECORDINGS}/{recordingId}`
const TAG = 'Recordings'

const NOT_FOUND = 'recording_not_found'

const orders = {
  createdMoment: keyset('recordings', ['moment', 'uuid']),
  startedMoment: keyset('recordings_by_start', ['moment', 'uuid']),
  beganMoment: keyset('recordings_by_beginning', ['moment', 'uuid']),
}

const VISIBILITY_NOTE =
  'A recording without folders, or in a shared folder, is visible to the whole organization. Otherwise only the owners of ' +
  'its private folders can see it. The organization key can see shared recordings.'

/** Works in an empty organization. */
const CREATE_EXAMPLE: CreateRecording = {
  displayName: 'Onboarding call with Ada',
  startedAt: '2026-01-02T09:00:00Z',
  completedAt: '2026-01-02T09:30:00Z',
  source: 'crm',
  record: { externalId: 'call-2041' },
  transcript: [
    { startSec: 0, endSec: 2.5, speaker: 0, text: 'Good morning! How did the import go?' },
    { startSec: 2.5, endSec: 6, speaker: 1, text: 'It took a while, but everything is there.' },
  ],
  participants: [{ speaker: 1, email: 'ada@example.com', firstName: 'Ada' }],
}

/** `GET`, `POST /v3/rest/recordings` and `GET`, `PATCH`, `DELETE /v3/rest/recordings/{recordingId}`. */
export function recordingOperations(recordings: Recordings, playback: Playback): readonly Operation[] {
  return [
    listRecordings(recordings, playback),
    createRecording(recordings, playback),
    getRecording(recordings, playback),
    updateRecording(recordings, playback),
    deleteRecording(recordings),
  ]
}

const listRecordings = (recordings: Recordings, playback: Playback) =>
  operation({
    id: 'listRecordings',
    method: 'GET',
    path: RECORDINGS,
    tag: TAG,
    summary: 'List recordings',
    description: `Newest first, by \`page\` or by \`cursor\`. With \`started_after\` or \`started_before\`, the list is ordered by start time; with \`since\` or \`until\`, too, and a recording without \`started_at\` by its creation. ${VISIBILITY_NOTE}`,
    access: 'organizationOrUser',
    role: 'viewer',
    reads: { action: 'recording.listed' },
    query: RecordingQuery,
    success: { status: 200, description: 'A page of recordings', schema: RecordingPage },
    errors: ['folder_not_found'],
    async handler({ request, principal, query }) {
      const { page, limit, cursor, ...filter } = query()
      const wanted = {
        externalId: filter.external_id,
        source: filter.source,
        transcriptStatus: filter.transcript_status,
        assetStatus: filter.asset_status,
        startedAfter: moment('started_after', filter.started_after),
        startedBefore: moment('started_before', filter.started_before),
        began: { since: moment('since', filter.since), until: moment('until', filter.until) },
        folderId: filter.folder_id,
        text: filter.q,
      }
      const moments = orderOfList(wanted)
      const order = orders[moments]
      const position = positionOf(order, { page, limit, cursor })
      const { rows, end } = await recordings.list(principal, wanted, position)
      const next = (row: Listed) => order.encode([row[moments], row.id])
      const { data, ...rest } = toPage(rows, limit, next, (row) => row, end && order.encode(end))
      const items = await Promise.all(
        data.map(async (row) => itemOf(row, await playback.urlOf(row, request))),
      )
      return ok({ data: items, ...rest, page: position.page })
    },
  })

const createRecording = (recordings: Recordings, playback: Playback) =>
  operation({
    id: 'createRecording',
    method: 'POST',
    path: RECORDINGS,
    tag: TAG,
    summary: 'Create a recording',
    description: [
      'Creates the recording with its folders, metadata record, values, participants and transcript: all or nothing. After a',
      'failure, correct the request and send it again. After a success `record.externalId` is taken: the same request is 409 with the',
      '`recordingId` of the existing recording. A caller whose answer was lost finds the recording by it.',
      '',
      'A supplied `transcript` is authoritative: nothing is transcribed. Every participant must speak in it; not',
      'every speaker needs a participant. Media of `assetUrl` is fetched later.',
      '',
      'Without one, media is transcribed if the service has a transcriber: `transcript.status` is `waiting` until the',
      'media is ready, then `queued`, `processing` and `completed` or `failed`. Without a transcriber it stays `waiting`, and',
      '`transcript.waitingFor` is `transcriber`: do not poll for it.',
    ].join('\n'),
    access: 'organizationOrUser',
    role: 'analyst',
    body: CreateRecording,
    maxBodyBytes: MAX_CREATE_BYTES,
    example: CREATE_EXAMPLE,
    unique: ['record.externalId'],
    success: { status: 201, description: 'The recording', schema: Recording },
    errors: [
      'unknown_member',
      'url_not_allowed',
      'transcript_utterance_limit_exceeded',
      'transcript_text_limit_exceeded',
      'transcript_utterance_text_limit_exceeded',
      'folder_not_found',
      'person_not_found',
      'recording_external_id_exists',
      'metadata_value_type_mismatch',
      'metadata_field_not_canonical',
      'metadata_field_duplicate',
    ],
    async handler(call) {
      const { request, principal } = call
      const also = recorded(call, 'recording.created', ({ id }: Found) => id)
      const found = await recordings.create(principal, await call.bodyThrough(prepareRecordingWork), also)
      return created(`${RECORDINGS}/${found.id}`, resourceOf(found, await playback.urlsOf(found, request)))
    },
  })

const getRecording = (recordings: Recordings, playback: Playback) =>
  operation({
    id: 'getRecording',
    method: 'GET',
    path: RECORDING,
    params: { recordingId: uuidOf('recording') },
    tag: TAG,
    summary: 'Read a recording',
    description: VISIBILITY_NOTE,
    access: 'organizationOrUser',
    role: 'viewer',
    reads: { action: 'recording.read', object: 'recordingId' },
    query: Type.Object({}),
    success: { status: 200, description: 'The recording', schema: Recording },
    errors: [NOT_FOUND],
    async handler({ request, principal, id, query }) {
      const found = await recordings.get(principal, id('recordingId', NOT_FOUND))
      query()
      return ok(resourceOf(found, await playback.urlsOf(found, request)))
    },
  })

const updateRecording = (recordings: Recordings, playback: Playback) =>
  operation({
    id: 'updateRecording',
    method: 'PATCH',
    path: RECORDING,
    params: { recordingId: uuidOf('recording') },
    tag: TAG,
    summary: 'Change a recording',
    description: [
      'Changes only the given members. `folderIds` replaces the folders that the caller can see. `record.values` are set or',
      'changed one by one; `null` is a value. `record.removeFieldIds` removes values. A given `summary` (or `null` for none) is',
      'kept from then on, and no summary is created automatically. `participants` replaces the speakers. `record.externalId` (or `null` for none),',
      '`startedAt` and `completedAt` can be corrected. `assetUrl` fetches media, which replaces current media once',
      'it is ready.',
    ].join('\n'),
    access: 'organizationOrUser',
    role: 'analyst',
    body: UpdateRecording,
    example: { displayName: 'Onboarding call with Ada, second part', summary: 'The import is done.' },
    success: { status: 200, description: 'The changed recording', schema: Recording },
    errors: [
      NOT_FOUND,
      'unknown_member',
      'folder_not_found',
      'person_not_found',
      'url_not_allowed',
      'media_ingestion_active',
      'recording_external_id_exists',
      'metadata_value_type_mismatch',
      'metadata_field_not_canonical',
      'metadata_field_duplicate',
    ],
    async handler(call) {
      const { request, principal } = call
      const id = call.id('recordingId', NOT_FOUND)
      const also = recorded(call, 'recording.updated', () => id)
      const found = await recordings.update(principal, id, call.body, also)
      return ok(resourceOf(found, await playback.urlsOf(found, request)))
    },
  })

const deleteRecording = (recordings: Recordings) =>
  operation({
    id: 'deleteRecording',
    method: 'DELETE',
    path: RECORDING,
    params: { recordingId: uuidOf('recording') },
    tag: TAG,
    summary: 'Delete a recording',
    description:
      'Deletes the recording with its transcript, participants and metadata. Its `record.externalId` becomes available again.',
    access: 'organizationOrUser',
    role: 'analyst',
    success: { status: 204, description: 'The recording is deleted' },
    errors: [NOT_FOUND],
    async handler(call) {
      const id = call.id('recordingId', NOT_FOUND)
      const also = recorded(call, 'recording.deleted', () => id)
      await recordings.remove(call.principal, id, also)
      return noContent()
    },
  })
