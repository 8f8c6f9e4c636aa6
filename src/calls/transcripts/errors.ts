/** Errors of transcripts that a client can see. `src/platform/errors.ts` describes the parts. */
export const TRANSCRIPT_ERRORS = {
  codes: {
    unsupported_transcript_type: 400,
    transcript_utterance_limit_exceeded: 400,
    transcript_text_limit_exceeded: 400,
    transcript_utterance_text_limit_exceeded: 400,
  },
  details: {
    overlap: 'The utterance overlaps an earlier one of the same speaker.',
    speaker_without_utterance: 'The participant is the speaker of no utterance.',
  },
  members: {
    index: {
      type: 'integer',
      minimum: 0,
      description: 'Where one utterance is refused: its position in the transcript, from 0.',
    },
  },
} as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly transcripts: typeof TRANSCRIPT_ERRORS
  }
}
