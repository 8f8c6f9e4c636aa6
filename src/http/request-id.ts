/** `X-Request-Id`: the caller's value if it has 1 to 128 visible ASCII characters, otherwise a new one. */
import type { NewId } from '../platform/ids.ts'

export const REQUEST_ID_HEADER = 'x-request-id'

const ACCEPTABLE = /^[\x21-\x7e]{1,128}$/

export function requestIdOf(request: Request, newId: NewId): string {
  const own = request.headers.get(REQUEST_ID_HEADER)
  return own !== null && ACCEPTABLE.test(own) ? own : newId()
}
