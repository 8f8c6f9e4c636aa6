/** Addresses of the sign-in pages, and where a person goes after the sign-in. Pure. */

export const SIGN_IN_PATH = '/sign-in'
export const LINK_PATH = `${SIGN_IN_PATH}/link`
export const INVITATION_PATH = `${SIGN_IN_PATH}/invitation`
export const OPENID_PATH = `${SIGN_IN_PATH}/openid`
/** Where a person begins who signs in with a link of the banner or of a command: the console. */
export const START_PATH = '/console'
export const OPENID_CALLBACK_PATH = `${OPENID_PATH}/callback`

const MAX_RETURN_PATH = 2_000

/** Any base shows where a path leads. */
const BASE = 'http://base.invalid'

/**
 * The page after the sign-in: a path of this service, or the sign-in page for anything else. Browsers treat `//host`, `/\host`
 * and `/<tab>/host` as other hosts; the comparison with the parsed URL refuses all of them.
 */
export function returnPathOf(text: string | null): string {
  if (text === null || text.length > MAX_RETURN_PATH || !/^\/(?![/\\])/.test(text)) return SIGN_IN_PATH
  const url = URL.parse(text, BASE)
  if (url === null || url.origin !== BASE || url.pathname.startsWith('//')) return SIGN_IN_PATH
  return `${url.pathname}${url.search}`
}

/** `/sign-in` with the page to go to afterwards. */
export function signInPath(returnPath: string): string {
  return `${SIGN_IN_PATH}?${new URLSearchParams({ to: returnPath })}`
}

/** The link that signs in once. `baseUrl` without a trailing slash. */
export function linkUrl(baseUrl: string, token: string, returnPath = SIGN_IN_PATH): string {
  const query = new URLSearchParams({ token })
  if (returnPath !== SIGN_IN_PATH) query.set('to', returnPath)
  return `${baseUrl}${LINK_PATH}?${query}`
}
