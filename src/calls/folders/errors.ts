/** Errors of folders and upload batches that a client can see. `src/platform/errors.ts` describes the parts. */
export const FOLDER_ERRORS = {
  codes: {
    folder_not_found: 404,
    batch_not_found: 404,
  },
  rows: { folder: 'folder_not_found' },
} as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly folders: typeof FOLDER_ERRORS
  }
}
