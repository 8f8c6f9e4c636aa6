/**
 * The tus protocol 1.0.0 with its extensions expiration, checksum and termination. Uploads are not created here.
 *
 * The rule: `Upload-Offset` is what is stored durably, never what has merely come.
 */

import { AppError } from '../../platform/errors.ts'
import { invalid } from '../../platform/validation/json.ts'
import { CHECKSUM_ALGORITHMS, type Checksum } from '../receiving.ts'
import { isComplete, offsetHeaders } from './answer.rules.ts'
import { type Exchange, offsetMismatch, present, tooLarge } from './exchange.ts'
import { isOffsetStream, parseBytes, parseChecksum, TUS_VERSION } from './header.rules.ts'

const EXTENSIONS = 'checksum,expiration,termination'

/** Of every answer in this dialect. */
export const TUS_HEADERS = { 'tus-resumable': TUS_VERSION } as const

/** `OPTIONS`: what this server can do. */
export function describeTus({ receiving }: Pick<Exchange, 'receiving'>): Response {
  return new Response(null, {
    status: 204,
    headers: {
      'tus-version': TUS_VERSION,
      'tus-extension': EXTENSIONS,
      'tus-max-size': String(receiving.maxBytes),
      'tus-checksum-algorithm': CHECKSUM_ALGORITHMS.join(','),
    },
  })
}

/**
 * A version that is not spoken here is refused; only `PATCH` has to name one: whoever asks where an upload stands, or ends
 * it, does so without knowing tus, too.
 * @throws AppError 412
 */
export function assertVersion(method: string, headers: Headers): void {
  const version = headers.get('tus-resumable')
  if (version === TUS_VERSION || (version === null && method !== 'PATCH')) return
  throw new AppError('unsupported_tus_version', `Tus-Resumable must be ${TUS_VERSION}.`, {
    headers: { 'tus-version': TUS_VERSION },
  })
}

/** `HEAD`: where to go on; also says that everything is there. Ends whoever is still sending. */
export async function head({ receiving, found }: Exchange): Promise<Response> {
  const state = present(await receiving.settle(found))
  return new Response(null, {
    status: 200,
    headers: { ...offsetHeaders(state), 'upload-length': String(state.fileSize) },
  })
}

/** `PATCH`: bytes from `Upload-Offset` on. @throws AppError 400, 409, 410, 413, 415, 460, 503 */
export async function patch(exchange: Exchange): Promise<Response> {
  const { request, found, length, receiving } = exchange
  if (!isOffsetStream(request.headers.get('content-type')))
    throw new AppError(
      'unsupported_media_type',
      'The bytes must be sent as Content-Type: application/offset+octet-stream.',
    )
  const offset = offsetOf(request.headers)
  const checksum = checksumOf(request.headers)
  present(found)
  // Whatever else is known of an upload that is whole: these bytes cannot be part of it.
  if (isComplete(found) && offset !== found.offset) throw offsetMismatch(found)
  if (isComplete(found) && length !== 0) throw tooLarge(found)
  const state = await receiving.receive(found, {
    offset,
    skip: 0,
    ...exchange.takeBody(),
    ...(length === null ? {} : { length }),
    ...(checksum === null ? {} : { checksum }),
  })
  return new Response(null, { status: 204, headers: offsetHeaders(state) })
}

/** `DELETE`: the upload is cancelled (tus 1.0.0, "Termination"). @throws AppError 409 where it is processed, 410 where it has ended */
export async function terminate({ receiving, found }: Exchange): Promise<Response> {
  present(found)
  await receiving.cancel(found)
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
