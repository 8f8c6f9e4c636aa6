/** Wire shapes and limits of transcripts (specification, "Utterance", "Transcript" and "Limits"). */
import { type Static, Type } from '@sinclair/typebox'
import { named, STORABLE_NOT_BLANK, text, uuid } from '../../platform/validation/schema.ts'

export const MAX_UTTERANCES = 10_000
/** Code points of all utterances together. */
export const MAX_TRANSCRIPT_CHARACTERS = 2_000_000
/** Code points of one utterance. */
export const MAX_UTTERANCE_CHARACTERS = 20_000

/**
 * Maximum size of the largest transcript as JSON: 12 bytes for a code point written as two `\u` escapes, plus numbers
 * and member names around 10,000 texts. Operations that take a transcript use it as `maxBodyBytes`.
 */
export const MAX_TRANSCRIPT_BYTES = 12 * MAX_TRANSCRIPT_CHARACTERS + 256 * MAX_UTTERANCES

/** Something said by one speaker, as supplied and as stored. Times are seconds since the recording began. */
export const Utterance = named(
  'Utterance',
  Type.Object({
    startSec: Type.Number({ minimum: 0, description: 'Seconds from the beginning of the recording.' }),
    endSec: Type.Number({
      minimum: 0,
      description: 'Seconds from the beginning of the recording; not before `startSec`.',
    }),
    text: text(`The spoken text: 1 to ${MAX_UTTERANCE_CHARACTERS} characters, not all blank.`, {
      minLength: 1,
      documented: { pattern: STORABLE_NOT_BLANK, maxLength: MAX_UTTERANCE_CHARACTERS },
    }),
    speaker: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Number of the speaker, chosen by the caller, from 0.',
    }),
  }),
)
export type Utterance = Readonly<Static<typeof Utterance>>

const Utterances = Type.Array(Utterance, {
  maxItems: MAX_UTTERANCES,
  description: `In the order of \`startSec\`: at most ${MAX_UTTERANCES}.`,
})

/**
 * A supplied transcript in a request body: the utterances, or an object with them. The schema only documents the value.
 * `checkTranscript` validates it, because only it can name the path and the limit.
 */
export const SuppliedTranscript = Type.Unsafe<unknown>({
  ...Type.Unknown(),
  anyOf: [Utterances, Type.Object({ utterances: Utterances })],
  description:
    `Ordered by \`startSec\`; utterances of one speaker must not overlap. At most ${MAX_UTTERANCES} utterances and ` +
    `${MAX_TRANSCRIPT_CHARACTERS} characters of text. An object \`{utterances: […]}\` is accepted as well.`,
  $id: 'SuppliedTranscript',
})

export const TRANSCRIPT_TYPES = ['utterance', 'monologue'] as const
export type TranscriptType = (typeof TRANSCRIPT_TYPES)[number]

const EXPORT_FORMATS = ['json', 'vtt', 'srt', 'txt'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

const recordingId = uuid('Id of the recording.')

/** One entry of a transcript in a response. */
const TranscriptEntry = named(
  'TranscriptEntry',
  Type.Object({
    recordingId,
    startSec: Type.Number({ minimum: 0, description: 'Seconds from the beginning of the recording.' }),
    endSec: Type.Number({ minimum: 0, description: 'Seconds from the beginning of the recording.' }),
    speaker: Type.Integer({
      minimum: 0,
      description: 'Number of the speaker; the same number is the same speaker.',
    }),
    text: Type.String({ description: 'The spoken text.' }),
  }),
)

export const Transcript = named(
  'Transcript',
  Type.Union([
    named(
      'UtteranceTranscript',
      Type.Object({
        type: Type.Literal('utterance', { description: 'The requested type.' }),
        recordingId,
        utterances: Type.Array(TranscriptEntry, { description: 'In stored order.' }),
      }),
    ),
    named(
      'MonologueTranscript',
      Type.Object({
        type: Type.Literal('monologue', { description: 'The requested type.' }),
        recordingId,
        monologues: Type.Array(TranscriptEntry, {
          description: 'Neighbouring utterances of one speaker, joined, in stored order.',
        }),
      }),
    ),
  ]),
)

export const TranscriptQuery = Type.Object({
  // The schema accepts any text, so that an unsupported type gets its own error code.
  type: Type.Unsafe<string>({
    ...Type.String({
      default: 'utterance',
      description: '`monologue` joins neighbouring utterances of one speaker.',
    }),
    enum: [...TRANSCRIPT_TYPES],
  }),
  format: Type.Optional(
    Type.Unsafe<ExportFormat>(
      Type.Union(
        EXPORT_FORMATS.map((format) => Type.Literal(format)),
        { description: 'Format of the answer. It takes precedence over the header `Accept`.' },
      ),
    ),
  ),
})
