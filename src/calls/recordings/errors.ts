/** Errors of recordings that a client can see. `src/platform/errors.ts` describes the parts. */
export const RECORDING_ERRORS = {
  codes: {
    recording_not_found: 404,
    recording_external_id_exists: 409,
  },
  details: {
    same_person: 'Two participants are the same person.',
    same_speaker: 'Two participants are the same speaker.',
  },
  members: {
    recordingId: {
      type: 'string',
      format: 'uuid',
      description: 'With `recording_external_id_exists`: the recording that has the external id.',
    },
  },
  rows: { recording: 'recording_not_found' },
} as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly recordings: typeof RECORDING_ERRORS
  }
}
