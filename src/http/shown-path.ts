/**
 * The path of a request as logs and error bodies show it.
 *
 * The rule: whatever grants access by being known is left out, wherever a proxy may have put it.
 */

/** What follows is all that the sender of an upload's bytes has to know; also where the address was written wrongly. */
const CAPABILITIES = /^(\/uploads\/).+|((?:\/|%2f)uploads(?:\/|%2f)+)[\w-]{43}(?![\w-]).*/i

/** `/uploads/<token>` → `/uploads/…`; any other path as it is. */
export function shownPath(path: string): string {
  return path.replace(CAPABILITIES, '$1$2…')
}
