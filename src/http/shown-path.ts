/**
 * The path of a request as logs and error bodies show it.
 *
 * Anything that grants access by being known is removed, even if a proxy changed its position in the path.
 */

/** The token in an upload URL, even in a malformed one. */
const CAPABILITIES = /^(\/uploads\/).+|((?:\/|%2f)uploads(?:\/|%2f)+)[\w-]{43}(?![\w-]).*/i

/** `/uploads/<token>` → `/uploads/…`; any other path stays unchanged. */
export function shownPath(path: string): string {
  return path.replace(CAPABILITIES, '$1$2…')
}
