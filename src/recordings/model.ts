/**
 * Wire shapes and limits of recordings (specification, "Recording" and "Recordings").
 *
 * The rule: what one recording looks like is camelCase, what a list shows of it is snake_case, as the specification has it.
 */
import { type Static, Type } from '@sinclair/typebox'
import { positionedPageOf, positionQuery } from '../http/paging.ts'
import { momentParameter, uuidParameter } from '../http/parameters.ts'
import { CanonicalRecord, RecordInput, TypedValue, ValueInput } from '../metadata/model.ts'
import { MAX_NAME } from '../platform/names.ts'
import { oneOf, orNull } from '../platform/validation/schema.ts'
import { MAX_TRANSCRIPT_BYTES, SuppliedTranscript } from '../transcripts/model.ts'
import { MAX_SEARCH_LENGTH } from '../transcripts/search.rules.ts'

export const DEFAULT_SOURCE = 'api'
/** Code points. */
export const MAX_SOURCE = 64
export const MAX_SUMMARY = 100_000
const MAX_EMAIL = 320
const MAX_FOLDERS = 1_000
const MAX_PARTICIPANTS = 1_000
/** The largest transcript, and everything else beside it. */
export const MAX_CREATE_BYTES = MAX_TRANSCRIPT_BYTES + 4 * 1024 * 1024

export const ASSET_STATUSES = [
  'waiting',
  'queued',
  'uploading',
  'processing',
  'completed',
  'failed',
  'cancelled',
] as const
export type AssetStatus = (typeof ASSET_STATUSES)[number]

export const TRANSCRIPT_STATUSES = ['waiting', 'queued', 'processing', 'completed', 'failed'] as const
export type TranscriptStatus = (typeof TRANSCRIPT_STATUSES)[number]

export const TRANSCRIPT_SOURCES = ['api', 'automatic'] as const
export type TranscriptSource = (typeof TRANSCRIPT_SOURCES)[number]

const Uuid = Type.String({ format: 'uuid' })
const Moment = Type.String({ format: 'date-time' })
const DisplayName = orNull(Type.String(), `Stored trimmed: 1 to ${MAX_NAME} characters`)
const Name = orNull(Type.String(), 'Another name of `displayName`')
const Instant = (description: string) => orNull(Type.String({ maxLength: 64 }), description)
const Summary = orNull(Type.String({ minLength: 1, maxLength: MAX_SUMMARY }))
const FolderIds = Type.Array(uuidParameter('Of a folder that the caller sees'), {
  maxItems: MAX_FOLDERS,
  description: 'Repeated ids count once',
})

/**
 * A person of the recording. Which members go together is judged by `rules.ts`, which can name the wrong one.
 */
export const ParticipantInput = Type.Object({
  speaker: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  personId: Type.Optional(uuidParameter('A known person; not together with the other members')),
  email: Type.Optional(
    Type.String({
      pattern: '^\\s*[^\\s@]+@[^\\s@]+\\s*$',
      words: 'an e-mail address, such as ann@example.com',
      maxLength: MAX_EMAIL,
      description: 'Finds the person in the organization, by case or not, or makes one',
    }),
  ),
  firstName: Type.Optional(Type.String({ maxLength: MAX_NAME, description: 'Only with `email`' })),
  lastName: Type.Optional(Type.String({ maxLength: MAX_NAME, description: 'Only with `email`' })),
})
export type ParticipantInput = Readonly<Static<typeof ParticipantInput>>

export const CreateRecording = Type.Object({
  displayName: Type.Optional(DisplayName),
  name: Type.Optional(Name),
  startedAt: Type.Optional(Instant('RFC 3339 date-time with offset')),
  completedAt: Type.Optional(Instant('RFC 3339 date-time with offset; not before `startedAt`')),
  source: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_SOURCE,
      pattern: '\\S',
      words: `a string of 1 to ${MAX_SOURCE} characters that are not all blank`,
      default: DEFAULT_SOURCE,
      description: 'Where the recording comes from, in the words of the caller',
    }),
  ),
  record: Type.Optional(RecordInput),
  folderIds: Type.Optional(FolderIds),
  assetUrl: Type.Optional(
    orNull(
      Type.String({
        words: 'an absolute URL',
        documented: { format: 'uri', pattern: '^[hH][tT]{2}[pP][sS]?://' },
      }),
      'HTTP or HTTPS, without credentials, of a public host; fetched later with an unauthenticated GET',
    ),
  ),
  transcript: Type.Optional(SuppliedTranscript),
  participants: Type.Optional(Type.Array(ParticipantInput, { maxItems: MAX_PARTICIPANTS })),
  summary: Type.Optional(Summary),
})
export type CreateRecording = Readonly<Static<typeof CreateRecording>>

export const UpdateRecording = Type.Object(
  {
    displayName: Type.Optional(DisplayName),
    name: Type.Optional(Name),
    folderIds: Type.Optional(
      Type.Array(uuidParameter('Of a folder that the caller sees'), {
        maxItems: MAX_FOLDERS,
        description:
          'Replaces the folders that the caller sees; the recording stays in those the caller does not see',
      }),
    ),
    record: Type.Optional(
      Type.Object(
        {
          values: Type.Optional(
            Type.Array(ValueInput, {
              description: 'Set or changed; other values stay. `null` is a value like any other',
            }),
          ),
          removeFieldIds: Type.Optional(
            Type.Array(uuidParameter('Of a field'), {
              description: 'Values to be removed; a field without a value is passed over',
            }),
          ),
        },
        { additionalProperties: false },
      ),
    ),
    summary: Type.Optional(Summary),
  },
  { additionalProperties: false },
)
export type UpdateRecording = Readonly<Static<typeof UpdateRecording>>

const Asset = Type.Object({
  status: oneOf(ASSET_STATUSES),
  url: orNull(Type.String(), 'A temporary playback URL'),
  urlExpiresAt: orNull(Moment),
  errorCode: orNull(Type.String(), 'Why the media failed, where known'),
  durationSeconds: orNull(Type.Number()),
  isAudio: orNull(Type.Boolean()),
  contentType: orNull(Type.String()),
  fileSize: orNull(Type.Integer()),
  waveformUrl: orNull(
    Type.String(),
    'A temporary URL of the outline of the sound, as JSON of audiowaveform version 2; null where there is none',
  ),
  posterUrl: orNull(
    Type.String(),
    'A temporary URL of a picture of the video, as JPEG; null where there is none',
  ),
})

const Participant = Type.Object({
  speaker: Type.Integer(),
  personId: Uuid,
  firstName: orNull(Type.String()),
  lastName: orNull(Type.String()),
  email: orNull(Type.String()),
})

export const Recording = Type.Object({
  id: Uuid,
  displayName: orNull(Type.String()),
  source: Type.String(),
  startedAt: orNull(Moment),
  completedAt: orNull(Moment),
  createdAt: Moment,
  updatedAt: Moment,
  summary: orNull(Type.String()),
  folderIds: Type.Array(Uuid, { description: 'Those that the caller sees' }),
  asset: orNull(Asset, 'null where no media was ever asked for and none is awaited'),
  transcript: Type.Object({
    status: oneOf(
      TRANSCRIPT_STATUSES,
      '`waiting`: for media, or for something that transcribes it; `completed` without utterances: nothing was said in it',
    ),
    source: orNull(oneOf(TRANSCRIPT_SOURCES), '`api`: supplied; `automatic`: transcribed; null: none yet'),
  }),
  participants: Type.Array(Participant, { description: 'In the order of `speaker`' }),
  record: orNull(CanonicalRecord, 'The canonical metadata record; null for recordings older than it'),
  metadata: Type.Array(
    Type.Object({
      id: Uuid,
      sourceId: Uuid,
      externalEntityName: Type.String(),
      type: Type.String({ description: 'Of the source' }),
      isCanonicalRecordingSource: Type.Boolean(),
      externalId: orNull(Type.String()),
      values: Type.Array(TypedValue),
    }),
    { description: 'Metadata records of every source, the canonical one first' },
  ),
})
export type Recording = Static<typeof Recording>

export const RecordingItem = Type.Object({
  id: Uuid,
  display_name: orNull(Type.String()),
  source: Type.String(),
  started_at: orNull(Moment),
  completed_at: orNull(Moment),
  asset_url: orNull(Type.String(), 'A temporary playback URL'),
  asset_duration_seconds: orNull(Type.Number()),
  transcript_status: oneOf(TRANSCRIPT_STATUSES),
  summary: orNull(Type.String()),
  metadata: Type.Array(
    Type.Object({
      id: Uuid,
      source_id: Uuid,
      external_entity_name: Type.String(),
      type: Type.String({ description: 'Of the source' }),
      is_canonical_recording_source: Type.Boolean(),
      external_id: orNull(Type.String()),
      values: Type.Array(
        Type.Object({
          field_id: Uuid,
          name: Type.String(),
          type: TypedValue.properties.type,
          value: TypedValue.properties.value,
        }),
      ),
    }),
    { description: 'Metadata records of every source, the canonical one first' },
  ),
})

export const RecordingPage = positionedPageOf(RecordingItem)

export const RecordingQuery = Type.Object({
  ...positionQuery,
  external_id: Type.Optional(Type.String({ description: '`record.externalId` of the recording' })),
  source: Type.Optional(Type.String()),
  transcript_status: Type.Optional(oneOf(TRANSCRIPT_STATUSES)),
  asset_status: Type.Optional(oneOf(ASSET_STATUSES)),
  started_after: Type.Optional(momentParameter('`started_at` is this or later.')),
  started_before: Type.Optional(momentParameter('`started_at` is before this.')),
  folder_id: Type.Optional(uuidParameter('Recordings in this folder, which the caller must see')),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_SEARCH_LENGTH,
      description:
        'Words of the transcript or the name, by case or not: `"a phrase"`, `this or that`, `-without`',
    }),
  ),
})
