/** Requests whose client has left before it had sent everything: no failure of ours, and nobody sees the answer but the log. */

/** nginx's number for them. */
export const CLIENT_GONE = 499

export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}
