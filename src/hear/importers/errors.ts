/** Errors of import sources that a client can see. `src/platform/errors.ts` describes the parts. */
export const IMPORTER_ERRORS = {
  codes: {
    import_source_not_found: 404,
    too_many_import_sources: 409,
  },
} as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly importers: typeof IMPORTER_ERRORS
  }
}
