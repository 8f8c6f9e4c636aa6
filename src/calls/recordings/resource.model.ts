/** Response shapes of recordings: single in camelCase, in lists in snake_case (specification, "Recordings"). */
import { type Static, Type } from '@sinclair/typebox'
import { OUTCOMES, SENTIMENTS } from '../../analysis/analyze/insight.ts'
import { AnalysisShape, OutcomeBasisShape } from '../../analysis/findings/coverage.model.ts'
import { positionedPageOf, positionQuery } from '../../http/paging.ts'
import { momentParameter } from '../../http/parameters.ts'
import { ASSET_STATUSES } from '../../kernel/asset-status.ts'
import {
  createdAt,
  described,
  moment,
  named,
  oneOf,
  orNull,
  updatedAt,
  uuid,
} from '../../platform/validation/schema.ts'
import { Meeting } from '../meetings/model.ts'
import { CanonicalRecord, TypedValue } from '../metadata/model.ts'
import { MAX_SEARCH_LENGTH } from '../transcripts/search.rules.ts'
import { AWAITED, TRANSCRIPT_ERRORS, TRANSCRIPT_SOURCES, TRANSCRIPT_STATUSES } from '../transcripts/states.ts'

const PLAYBACK_URL = 'A temporary URL to play the media from; null if there is none.'
const DURATION = 'Duration of the media in seconds; null if unknown.'

const Asset = named(
  'RecordingAsset',
  Type.Object({
    status: oneOf(
      ASSET_STATUSES,
      '`waiting` and `uploading`: bytes are missing; `queued`: will be fetched; `processing`: playback formats are created. The final statuses are ' +
        '`completed`, `failed` and `cancelled`.',
    ),
    url: orNull(Type.String({ format: 'uri' }), PLAYBACK_URL),
    urlExpiresAt: orNull(moment('A moment.'), 'When the URLs stop working, in UTC; null without a URL.'),
    errorCode: orNull(Type.String(), 'Why the media failed, if known; null if it did not.'),
    durationSeconds: orNull(Type.Number({ minimum: 0 }), DURATION),
    isAudio: orNull(Type.Boolean(), 'Whether the media is audio only; null if unknown.'),
    contentType: orNull(Type.String(), 'Media type of the file at `url`; null if unknown.'),
    fileSize: orNull(Type.Integer({ minimum: 0 }), 'Size of the original file in bytes; null if unknown.'),
    waveformUrl: orNull(
      Type.String({ format: 'uri' }),
      'A temporary URL of the waveform, as JSON of audiowaveform version 2; null if there is none.',
    ),
    posterUrl: orNull(
      Type.String({ format: 'uri' }),
      'A temporary URL of the poster, as JPEG; null if there is none.',
    ),
  }),
)

const Participant = named(
  'RecordingParticipant',
  Type.Object({
    speaker: Type.Integer({
      minimum: 0,
      description: 'The number of this person as a speaker of the transcript.',
    }),
    personId: orNull(
      uuid('The `uuid` of the person.'),
      'The `uuid` of the person; null for a speaker of a meeting, of whom only the name is known.',
    ),
    firstName: orNull(
      Type.String(),
      'First name; null if unknown. Without a `personId`: the whole name that the meeting shows.',
    ),
    lastName: orNull(Type.String(), 'Last name; null if unknown.'),
    email: orNull(Type.String(), 'E-mail address; null if unknown.'),
  }),
)

const NAME = 'Name of the recording; null if it has none.'
const SOURCE = 'The origin of the recording, chosen by the caller.'
const STARTED = 'When the recording began, in UTC; null if unknown.'
const COMPLETED = 'When the recording ended, in UTC; null if unknown.'
const SUMMARY = 'What the recording is about; null if there is no summary.'
const Instants = (description: string) => orNull(moment('A moment.'), description)

const TranscriptStatus = named(
  'TranscriptStatus',
  oneOf(
    TRANSCRIPT_STATUSES,
    '`waiting`: media or a transcriber is missing; `completed` without utterances: the media has no speech.',
  ),
)

const METADATA = 'Metadata records of every source, the canonical one first.'
const recordMembers = {
  id: uuid('Id of the metadata record.'),
  type: Type.String({ description: 'Type of its source: `api`, or the provider of an integration.' }),
}

const TranscriptFailure = Type.Optional(
  described(
    oneOf(TRANSCRIPT_ERRORS),
    'Only of a `failed` transcript, where the reason is known. `audio_unreadable`: the sound of the media cannot be read. ' +
      '`transcriber_refused`: the transcription server refuses this sound. `transcriber_failed`: every attempt of the ' +
      'server or program failed; the log of Earshot says why.',
  ),
)

export const Recording = named(
  'Recording',
  Type.Object({
    id: uuid('Id of the recording.'),
    displayName: orNull(Type.String(), NAME),
    source: Type.String({ description: SOURCE }),
    startedAt: Instants(STARTED),
    completedAt: Instants(COMPLETED),
    createdAt,
    updatedAt,
    summary: orNull(Type.String(), SUMMARY),
    folderIds: Type.Array(uuid('Id of a folder.'), { description: 'Folders that the caller can see.' }),
    asset: orNull(Asset, 'The media; null if none was ever requested.'),
    transcript: Type.Object(
      {
        status: TranscriptStatus,
        source: orNull(
          oneOf(TRANSCRIPT_SOURCES),
          '`api`: supplied by a caller; `automatic`: transcribed; null: none yet.',
        ),
        waitingFor: Type.Optional(
          described(
            oneOf(AWAITED),
            'Only of a `waiting` transcript. `media`: the media is not ready. `transcriber`: the media is ready, but ' +
              'no transcriber is configured; an operator has to start the transcription.',
          ),
        ),
        errorCode: TranscriptFailure,
      },
      { description: 'Status of the transcript.' },
    ),
    meeting: orNull(
      Meeting,
      'The meeting that a recorder joins for this recording; null for other recordings.',
    ),
    outcome: orNull(
      oneOf(
        OUTCOMES,
        '`resolved`: the customer’s matter is visibly settled; `unresolved`: it visibly stands open or failed; `unclear`: the ' +
          'transcript does not say it.',
      ),
      'How the conversation ended, as the analysis reads it; null: not analysed, or in a language that is not.',
    ),
    outcomeBasis: OutcomeBasisShape,
    sentiment: orNull(
      oneOf(SENTIMENTS, 'Polite phrases alone are `neutral`.'),
      'How the customer felt at the end; null as for `outcome`, and where it cannot be told surely enough.',
    ),
    analysis: AnalysisShape,
    participants: Type.Array(Participant, { description: 'The speakers, in the order of `speaker`.' }),
    record: orNull(
      CanonicalRecord,
      'The canonical metadata record; null for recordings created before there was one.',
    ),
    metadata: Type.Array(
      named(
        'MetadataRecord',
        Type.Object({
          ...recordMembers,
          sourceId: uuid('Id of its source.'),
          externalEntityName: Type.String({ description: 'Name of its source.' }),
          isCanonicalRecordingSource: Type.Boolean({
            description: 'Whether its source is the canonical one.',
          }),
          externalId: orNull(Type.String(), 'The caller’s identifier; null if there is none.'),
          values: Type.Array(TypedValue, { description: 'Values of its fields.' }),
        }),
      ),
      { description: METADATA },
    ),
  }),
)
export type Recording = Static<typeof Recording>

const RecordingItem = named(
  'RecordingItem',
  Type.Object({
    id: uuid('Id of the recording.'),
    display_name: orNull(Type.String(), NAME),
    source: Type.String({ description: SOURCE }),
    started_at: Instants(STARTED),
    completed_at: Instants(COMPLETED),
    asset_url: orNull(Type.String({ format: 'uri' }), PLAYBACK_URL),
    asset_duration_seconds: orNull(Type.Number({ minimum: 0 }), DURATION),
    transcript_status: TranscriptStatus,
    transcript_error_code: TranscriptFailure,
    analysis: AnalysisShape,
    summary: orNull(Type.String(), SUMMARY),
    metadata: Type.Array(
      named(
        'MetadataRecordItem',
        Type.Object({
          ...recordMembers,
          source_id: uuid('Id of its source.'),
          external_entity_name: Type.String({ description: 'Name of its source.' }),
          is_canonical_recording_source: Type.Boolean({
            description: 'Whether its source is the canonical one.',
          }),
          external_id: orNull(Type.String(), 'The caller’s identifier; null if there is none.'),
          values: Type.Array(
            named(
              'MetadataValueItem',
              Type.Object({
                field_id: uuid('Id of the field.'),
                name: TypedValue.properties.name,
                type: TypedValue.properties.type,
                value: TypedValue.properties.value,
              }),
            ),
            { description: 'Values of its fields.' },
          ),
        }),
      ),
      { description: METADATA },
    ),
  }),
)

export const RecordingPage = positionedPageOf(RecordingItem)

export const RecordingQuery = Type.Object({
  ...positionQuery,
  external_id: Type.Optional(Type.String({ description: 'The exact `record.externalId` of the recording.' })),
  source: Type.Optional(Type.String({ description: 'The exact `source` of the recording.' })),
  transcript_status: Type.Optional(described(TranscriptStatus, 'Status of the transcript.')),
  asset_status: Type.Optional(oneOf(ASSET_STATUSES, 'Status of the media.')),
  started_after: Type.Optional(momentParameter('`started_at` is this or later.')),
  started_before: Type.Optional(momentParameter('`started_at` is before this.')),
  since: Type.Optional(
    momentParameter(
      'The recording began at this moment or later; without `started_at`, it was created then.',
    ),
  ),
  until: Type.Optional(
    momentParameter('The recording began before this moment; without `started_at`, it was created then.'),
  ),
  folder_id: Type.Optional(uuid('Recordings in this folder. The caller must be able to see the folder.')),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_SEARCH_LENGTH,
      description:
        'Words of the transcript or the name, ignoring case: `"a phrase"`, `this or that`, `-without`',
    }),
  ),
})
