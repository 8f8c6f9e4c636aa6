/**
 * Requests whose client disconnected before it had sent everything. This is not a failure of the service, and the
 * answer appears only in the log.
 */

/** The status that nginx uses for such requests. */
export const CLIENT_GONE = 499

export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}
