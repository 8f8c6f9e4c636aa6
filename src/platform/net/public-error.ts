/** Why a request to a URL that a caller gave has failed. */

export type PublicFetchCode =
  | 'url_unreachable'
  | 'url_forbidden'
  | 'url_not_found'
  | 'url_not_allowed'
  | 'too_many_redirects'
  | 'media_too_large'
  | 'unsupported_media_type'
  | 'transfer_timeout'

/** A request failed because of its URL, the server or its answer. Errors of this service have other classes. */
export class PublicFetchError extends Error {
  override readonly name = 'PublicFetchError'

  constructor(
    readonly code: PublicFetchCode,
    /** False if a retry would fail the same way. */
    readonly retryable: boolean,
    message: string,
  ) {
    super(message)
  }
}

/** What was sent has more bytes than the caller takes. */
export const tooLarge = (maxBytes: number) =>
  new PublicFetchError('media_too_large', false, `more than ${maxBytes} bytes`)
