/** Errors of themes that a client can see. `src/platform/errors.ts` describes the parts. */
export const THEME_ERRORS = {
  codes: {
    theme_not_found: 404,
    theme_item_not_found: 404,
    too_many_themes: 409,
  },
  rows: { theme: 'theme_not_found' },
} as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly themes: typeof THEME_ERRORS
  }
}
