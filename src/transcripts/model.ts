/** Wire shapes and limits of transcripts (specification, "Utterance", "Transcript" and "Limits"). */
import { type Static, Type } from '@sinclair/typebox'

export const MAX_UTTERANCES = 10_000
/** Code points, of all utterances together. */
export const MAX_TRANSCRIPT_CHARACTERS = 2_000_000
/** Code points of one utterance. */
export const MAX_UTTERANCE_CHARACTERS = 20_000

/**
 * Bytes that the largest allowed transcript can take as JSON: 12 for a code point that is written as two `\u` escapes, and the
 * numbers and member names around 10,000 texts. For the `maxBodyBytes` of operations that take one.
 */
export const MAX_TRANSCRIPT_BYTES = 12 * MAX_TRANSCRIPT_CHARACTERS + 256 * MAX_UTTERANCES

/** What somebody said, as supplied and as stored. Seconds since the recording began. */
export const Utterance = Type.Object({
  startSec: Type.Number({ minimum: 0, description: 'Seconds since the beginning of the recording' }),
  endSec: Type.Number({ minimum: 0, description: 'Not before `startSec`' }),
  text: Type.String({
    minLength: 1,
    description: `Not blank, at most ${MAX_UTTERANCE_CHARACTERS} characters`,
  }),
  speaker: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
})
export type Utterance = Readonly<Static<typeof Utterance>>

const Utterances = Type.Array(Utterance, { maxItems: MAX_UTTERANCES })

/**
 * A supplied transcript in a request body: the utterances, or an object that holds them. The schema is there to be
 * read; `checkTranscript` judges the value, because only it can name the place and the limit.
 */
export const SuppliedTranscript = Type.Unsafe<unknown>({
  ...Type.Unknown(),
  anyOf: [Utterances, Type.Object({ utterances: Utterances })],
  description:
    `Ordered by \`startSec\`; utterances of one speaker must not overlap. At most ${MAX_UTTERANCES} utterances and ` +
    `${MAX_TRANSCRIPT_CHARACTERS} characters of text. An object \`{utterances: […]}\` is taken as well.`,
})

export const TRANSCRIPT_TYPES = ['utterance', 'monologue'] as const
export type TranscriptType = (typeof TRANSCRIPT_TYPES)[number]

export const EXPORT_FORMATS = ['json', 'vtt', 'srt', 'txt'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

/** One entry of a transcript as it is read. */
export const TranscriptEntry = Type.Object({
  recordingId: Type.String({ format: 'uuid' }),
  startSec: Type.Number(),
  endSec: Type.Number(),
  speaker: Type.Integer(),
  text: Type.String(),
})

export const Transcript = Type.Union([
  Type.Object({
    type: Type.Literal('utterance'),
    recordingId: Type.String({ format: 'uuid' }),
    utterances: Type.Array(TranscriptEntry),
  }),
  Type.Object({
    type: Type.Literal('monologue'),
    recordingId: Type.String({ format: 'uuid' }),
    monologues: Type.Array(TranscriptEntry),
  }),
])

export const TranscriptQuery = Type.Object({
  // Any text passes, so that an unsupported one gets a code of its own.
  type: Type.Unsafe<string>({
    ...Type.String({
      default: 'utterance',
      description: '`monologue` joins neighbouring utterances of one speaker',
    }),
    enum: [...TRANSCRIPT_TYPES],
  }),
  format: Type.Optional(
    Type.Unsafe<ExportFormat>(
      Type.Union(
        EXPORT_FORMATS.map((format) => Type.Literal(format)),
        { description: 'Goes before the `Accept` header' },
      ),
    ),
  ),
})
