/**
 * The tus protocol 1.0.0 with its extensions expiration, checksum and termination. The REST API creates the uploads.
 *
 * `Upload-Offset` counts durable bytes, never bytes that have merely arrived.
 */

import { AppError } from '../../../platform/errors.ts'
import { invalid } from '../../../platform/validation/json.ts'
import { CHECKSUM_ALGORITHMS, type Checksum } from '../upload-receiver.ts'
import { isComplete, offsetHeaders } from './answer.rules.ts'
import { assertOpen, type Exchange, offsetMismatch, tooLarge } from './exchange.ts'
import { isOffsetStream, parseBytes, parseChecksum, TUS_VERSION } from './header.rules.ts'

const EXTENSIONS = 'checksum,expiration,termination'

/** Headers of every answer in this dialect. */
export const TUS_HEADERS = { 'tus-resumable': TUS_VERSION } as const

/** `OPTIONS`: the capabilities of this server. */
export function describeTus({ uploadReceiver }: Pick<Exchange, 'uploadReceiver'>): Response {
  return new Response(null, {
    status: 204,
    headers: {
      'tus-version': TUS_VERSION,
      'tus-extension': EXTENSIONS,
      'tus-max-size': String(uploadReceiver.maxBytes),
      'tus-checksum-algorithm': CHECKSUM_ALGORITHMS.join(','),
    },
  })
}

/**
 * Refuses unsupported versions. Only `PATCH` must state one, so that a client without tus can also read the state or
 * cancel.
 * @throws AppError 412
 */
export function assertVersion(method: string, headers: Headers): void {
  const version = headers.get('tus-resumable')
  if (version === TUS_VERSION || (version === null && method !== 'PATCH')) return
  throw new AppError('unsupported_tus_version', `Tus-Resumable must be ${TUS_VERSION}.`, {
    headers: { 'tus-version': TUS_VERSION },
  })
}

/** `HEAD`: the current offset. Ends a request that is still sending. */
export async function head({ uploadReceiver, found }: Exchange): Promise<Response> {
  const state = assertOpen(await uploadReceiver.interrupt(found))
  return new Response(null, {
    status: 200,
    headers: { ...offsetHeaders(state), 'upload-length': String(state.fileSize) },
  })
}

/** `PATCH`: bytes starting at `Upload-Offset`. @throws AppError 400, 409, 410, 413, 415, 460, 503 */
export async function patch(exchange: Exchange): Promise<Response> {
  const { request, found, length, uploadReceiver } = exchange
  if (!isOffsetStream(request.headers.get('content-type')))
    throw new AppError(
      'unsupported_media_type',
      'The bytes must be sent as Content-Type: application/offset+octet-stream.',
    )
  const offset = offsetOf(request.headers)
  const checksum = checksumOf(request.headers)
  assertOpen(found)
  // A complete upload takes no bytes, so these are refused before anything else is checked.
  if (isComplete(found) && offset !== found.offset) throw offsetMismatch(found)
  if (isComplete(found) && length !== 0) throw tooLarge(found)
  const state = await uploadReceiver.receive(found, {
    offset,
    skip: 0,
    ...exchange.takeBody(),
    ...(length === null ? {} : { length }),
    ...(checksum === null ? {} : { checksum }),
  })
  return new Response(null, { status: 204, headers: offsetHeaders(state) })
}

/**
 * `DELETE`: cancels the upload (tus 1.0.0, "Termination"). @throws AppError 409 if it is being processed, 410 if it has
 * ended
 */
export async function terminate({ uploadReceiver, found }: Exchange): Promise<Response> {
  assertOpen(found)
  await uploadReceiver.cancel(found)
  return new Response(null, { status: 204 })
}

function offsetOf(headers: Headers): number {
  const offset = parseBytes(headers.get('upload-offset'))
  if (offset !== null) return offset
  throw invalid([{ path: 'Upload-Offset', code: 'format', message: 'must be a number of bytes' }])
}

function checksumOf(headers: Headers): Checksum | null {
  const text = headers.get('upload-checksum')
  if (text === null) return null
  const checksum = parseChecksum(text)
  if (checksum !== null) return checksum
  const message = `must be one of ${CHECKSUM_ALGORITHMS.join(', ')}, a space, and the digest in base64`
  throw invalid([{ path: 'Upload-Checksum', code: 'format', message }])
}
