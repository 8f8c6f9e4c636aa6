/**
 * Request shapes and limits of recordings (specification, "Recording" and "Recordings").
 *
 * A single recording is in camelCase and a list in snake_case, as the specification requires.
 */
import { type Static, Type } from '@sinclair/typebox'
import { MAX_EMAIL } from '../../platform/validation/email-address.ts'
import { MAX_NAME } from '../../platform/validation/names.ts'
import {
  described,
  moment,
  named,
  orNull,
  STORABLE_NOT_BLANK,
  text,
  trimmedText,
  uuid,
} from '../../platform/validation/schema.ts'
import { MAX_EXTERNAL_ID, RecordInput, ValueInput } from '../metadata/model.ts'
import { MAX_TRANSCRIPT_BYTES, SuppliedTranscript } from '../transcripts/model.ts'

export const DEFAULT_SOURCE = 'api'
/** In code points. */
const MAX_SOURCE = 64
const MAX_SUMMARY = 100_000
const MAX_FOLDERS = 1_000
const MAX_PARTICIPANTS = 1_000
/** The largest transcript plus room for all other members. */
export const MAX_CREATE_BYTES = MAX_TRANSCRIPT_BYTES + 4 * 1024 * 1024

const DisplayName = orNull(
  trimmedText('Name of the recording.', MAX_NAME),
  `Name of the recording, stored trimmed: 1 to ${MAX_NAME} characters; null for none.`,
)
const Name = described(DisplayName, 'An alias of `displayName`.')
const Instant = (description: string) => orNull(moment(description), description)
const Summary = orNull(
  text('A text.', { minLength: 1, maxLength: MAX_SUMMARY }),
  `What the recording is about: 1 to ${MAX_SUMMARY} characters; null for none.`,
)
const FolderId = uuid('Id of a folder that the caller can see.')

/**
 * A participant of the recording. `rules.ts` checks which members may be combined, because it can name the wrong one.
 */
export const ParticipantInput = named(
  'RecordingParticipantInput',
  Type.Object(
    {
      speaker: Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'The number of this person as a speaker of the transcript.',
      }),
      personId: Type.Optional(uuid('The `uuid` of a known person; not together with the other members.')),
      email: Type.Optional(
        Type.String({
          pattern: '^\\s*[^\\s@]+@[^\\s@]+\\s*$',
          words: 'an e-mail address, such as ann@example.com',
          maxLength: MAX_EMAIL,
          description: `Finds the person in the organization (case-insensitively) or creates one. At most ${MAX_EMAIL} characters.`,
          documented: { format: 'email' },
        }),
      ),
      firstName: Type.Optional(
        text(`First name, at most ${MAX_NAME} characters; only with \`email\`.`, { maxLength: MAX_NAME }),
      ),
      lastName: Type.Optional(
        text(`Last name, at most ${MAX_NAME} characters; only with \`email\`.`, { maxLength: MAX_NAME }),
      ),
    },
    {
      description: 'A known person by `personId`, or any person by `email`.',
      documented: {
        oneOf: [
          {
            title: 'By personId',
            required: ['personId'],
            properties: { email: false, firstName: false, lastName: false },
          },
          { title: 'By email', required: ['email'], properties: { personId: false } },
        ],
      },
    },
  ),
)
export type ParticipantInput = Readonly<Static<typeof ParticipantInput>>

export const CreateRecording = Type.Object({
  displayName: Type.Optional(DisplayName),
  name: Type.Optional(Name),
  startedAt: Type.Optional(Instant('When the recording began; null if unknown.')),
  completedAt: Type.Optional(Instant('When the recording ended, not before `startedAt`; null if unknown.')),
  source: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_SOURCE,
      pattern: '\\S',
      words: `a string of 1 to ${MAX_SOURCE} characters that are not all blank`,
      default: DEFAULT_SOURCE,
      description: `The origin of the recording, chosen by the caller: 1 to ${MAX_SOURCE} characters.`,
      documented: { pattern: STORABLE_NOT_BLANK },
    }),
  ),
  record: Type.Optional(described(RecordInput, 'The canonical metadata record of the recording.')),
  folderIds: Type.Optional(
    Type.Array(FolderId, {
      maxItems: MAX_FOLDERS,
      description: `The folders of the recording: at most ${MAX_FOLDERS}. Repeated ids count once.`,
    }),
  ),
  assetUrl: Type.Optional(
    orNull(
      Type.String({
        words: 'an absolute URL',
        documented: { format: 'uri', pattern: '^[hH][tT]{2}[pP][sS]?://' },
      }),
      'URL of the media: HTTP or HTTPS, without credentials, of a public host. It is fetched later with an unauthenticated GET.',
    ),
  ),
  transcript: Type.Optional(SuppliedTranscript),
  participants: Type.Optional(
    Type.Array(ParticipantInput, {
      maxItems: MAX_PARTICIPANTS,
      description: `The speakers: at most ${MAX_PARTICIPANTS} people, each once. With a \`transcript\`, each must speak in it.`,
    }),
  ),
  summary: Type.Optional(Summary),
})
export type CreateRecording = Readonly<Static<typeof CreateRecording>>

export const UpdateRecording = Type.Object(
  {
    displayName: Type.Optional(DisplayName),
    name: Type.Optional(Name),
    folderIds: Type.Optional(
      Type.Array(FolderId, {
        maxItems: MAX_FOLDERS,
        description: `Replaces the folders that the caller can see: at most ${MAX_FOLDERS}. The recording stays in the others.`,
      }),
    ),
    startedAt: Type.Optional(Instant('When the recording began; null if unknown.')),
    completedAt: Type.Optional(Instant('When the recording ended, not before `startedAt`; null if unknown.')),
    participants: Type.Optional(
      Type.Array(ParticipantInput, {
        maxItems: MAX_PARTICIPANTS,
        description: `Replaces the speakers: at most ${MAX_PARTICIPANTS} people, each once. If there is a transcript, each must speak in it.`,
      }),
    ),
    assetUrl: Type.Optional(
      Type.String({
        words: 'an absolute URL',
        documented: { format: 'uri', pattern: '^[hH][tT]{2}[pP][sS]?://' },
        description:
          'URL of media, fetched as for a new recording. Current media stays playable until the new media is ready, and ' +
          'stays if the new media fails; `asset.errorCode` then tells why. 409 while other media is being ingested.',
      }),
    ),
    record: Type.Optional(
      Type.Object(
        {
          externalId: Type.Optional(
            orNull(
              text('An identifier.', { minLength: 1, maxLength: MAX_EXTERNAL_ID }),
              `The caller’s identifier, unique among the recordings of the organization: 1 to ${MAX_EXTERNAL_ID} characters; null for none.`,
            ),
          ),
          values: Type.Optional(
            Type.Array(ValueInput, {
              description: 'Values to set or change; others stay. `null` is a value like any other.',
            }),
          ),
          removeFieldIds: Type.Optional(
            Type.Array(uuid('Id of a field.'), {
              description: 'Fields whose values are removed. A field without a value is ignored.',
            }),
          ),
        },
        { additionalProperties: false, description: 'Changes of the canonical metadata record.' },
      ),
    ),
    summary: Type.Optional(Summary),
  },
  { additionalProperties: false },
)
export type UpdateRecording = Readonly<Static<typeof UpdateRecording>>
