/** Errors of uploads that a client can see. `src/platform/errors.ts` describes the parts. */
export const UPLOAD_ERRORS = {
  codes: {
    origin_required: 400,
    batch_requires_user: 400,
    upload_length_mismatch: 400,
    upload_not_found: 404,
    upload_not_cancellable: 409,
    upload_offset_mismatch: 409,
    upload_closed: 410,
    unsupported_tus_version: 412,
    upload_too_large: 413,
    too_many_uploads: 429,
    upload_checksum_mismatch: 460,
    upload_busy: 503,
    upload_too_slow: 503,
  },
  members: {
    offset: {
      type: 'integer',
      minimum: 0,
      description: 'With `upload_offset_mismatch`: the byte from which the upload goes on.',
    },
  },
  rows: { upload: 'upload_not_found' },
} as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly uploads: typeof UPLOAD_ERRORS
  }
}
