/**
 * `PUT`: a whole file at once, or chunks with `Content-Range`, as UpChunk and clients of Google's resumable uploads
 * send them.
 *
 * A chunk may begin before the end of the stored bytes, but not behind it. Status 308 states the stored range, and the
 * client continues from there, whatever it has sent.
 */
import { invalid } from '../../../platform/validation/json.ts'
import { OffsetMismatch, type UploadState } from '../upload-receiver.ts'
import { isComplete, rangeHeaders, representation } from './answer.rules.ts'
import { assertOpen, busy, type Exchange, tooLarge, wrongLength } from './exchange.ts'
import { type ContentRange, parseContentRange } from './header.rules.ts'

type Chunk = Extract<ContentRange, { kind: 'bytes' }>

/**
 * `PUT` without `Content-Range`: 201 once the file is complete, 200 if it already was. @throws AppError 400, 410, 413,
 * 503
 */
export async function putWhole(exchange: Exchange): Promise<Response> {
  const { found, length, uploadReceiver } = exchange
  assertOpen(found)
  if (length !== null && length > found.fileSize) throw tooLarge({ ...found, offset: 0 })
  if (length !== null && length < found.fileSize)
    throw wrongLength(`The body has ${length} bytes, but the file has ${found.fileSize}.`)
  if (isComplete(found)) return json(200, found)
  const state = await uploadReceiver.receive(found, {
    offset: null,
    skip: 0,
    ...exchange.takeBody(),
    ...(length === null ? {} : { length }),
  })
  if (isComplete(state)) return json(201, state)
  if (length !== null) throw busy('The body could not be received completely.')
  throw wrongLength(`The body ended after ${state.offset} bytes, but the file has ${state.fileSize}.`)
}

/**
 * `PUT` with `Content-Range`: 200 if the file is complete, else 308 with the stored range. @throws AppError 400, 410,
 * 413, 503
 */
export async function putRange(exchange: Exchange): Promise<Response> {
  const { request, found, length, uploadReceiver } = exchange
  const range = rangeOf(request.headers)
  if (range.total !== null && range.total !== found.fileSize)
    throw wrongLength(`Content-Range states ${range.total} bytes, but the file has ${found.fileSize}.`)
  if (range.kind === 'bytes') assertFits(range, exchange)
  else if (length !== 0)
    throw invalid([
      {
        path: 'Content-Range',
        code: 'range',
        message: 'asks for the stored range, so the request must have no body',
      },
    ])
  const state = assertOpen(await uploadReceiver.interrupt(found))
  if (range.kind === 'probe' || isComplete(state) || !isNext(range, state)) return progress(state)
  return progress(await receiveChunk(exchange, range, state))
}

/** Whether the chunk brings new bytes and leaves no gap before them. */
function isNext({ first, last }: Chunk, { offset }: UploadState): boolean {
  return first <= offset && offset <= last
}

async function receiveChunk(exchange: Exchange, chunk: Chunk, state: UploadState): Promise<UploadState> {
  const { found, uploadReceiver } = exchange
  const size = chunk.last - chunk.first + 1
  const taken = exchange.takeBody()
  try {
    return await uploadReceiver.receive(found, {
      offset: state.offset,
      skip: state.offset - chunk.first,
      length: size,
      ...taken,
      ...(exchange.length === null ? { body: firstOf(taken.body, size) } : {}),
    })
  } catch (error) {
    // Another request was faster. The client continues from the current offset.
    if (error instanceof OffsetMismatch) return error.state
    throw error
  }
}

/** At most `size` bytes of a body without a stated length. Bytes after them are not part of the range. */
function firstOf(body: ReadableStream<Uint8Array> | null, size: number): ReadableStream<Uint8Array> | null {
  if (body === null) return null
  let left = size
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        controller.enqueue(chunk.subarray(0, left))
        left -= Math.min(left, chunk.byteLength)
        if (left === 0) controller.terminate()
      },
    }),
  )
}

function rangeOf(headers: Headers): ContentRange {
  const range = parseContentRange(headers.get('content-range') ?? '')
  if (range !== null) return range
  const message = 'must read like "bytes 0-524287/2000000", or "bytes */2000000" to ask for the stored range'
  throw invalid([{ path: 'Content-Range', code: 'format', message }])
}

function assertFits({ first, last }: Chunk, { found, length }: Exchange): void {
  if (last >= found.fileSize) throw tooLarge({ ...found, offset: Math.min(first, found.fileSize) })
  if (length !== null && length !== last - first + 1)
    throw wrongLength(`Content-Range covers ${last - first + 1} bytes, but the body has ${length}.`)
}

function progress(state: UploadState): Response {
  if (isComplete(state)) return json(200, state)
  return new Response(null, { status: 308, headers: rangeHeaders(state) })
}

function json(status: number, state: UploadState): Response {
  return Response.json(representation(state), { status })
}
