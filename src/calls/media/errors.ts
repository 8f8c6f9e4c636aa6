/** Errors of media that a client can see. `src/platform/errors.ts` describes the parts. */
export const MEDIA_ERRORS = {
  codes: {
    playback_url_invalid: 403,
    media_ingestion_active: 409,
  },
} as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly media: typeof MEDIA_ERRORS
  }
}
