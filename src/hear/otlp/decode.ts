/**
 * Decodes the body of a trace request. Values are counted first: decoded ones take many times the memory of their bytes. The binary
 * decoder is generated from the published .proto files (scripts/otlp-decoder.ts).
 */
import { type TSchema, Type } from '@sinclair/typebox'
import { Reader } from 'protobufjs/minimal.js'
import { parseBounded } from '../../http/parse-body.ts'
import { AppError } from '../../platform/errors.ts'
import { validate } from '../../platform/validation/json.ts'
import { optionalOrNull } from '../../platform/validation/schema.ts'
import { MAX_REQUEST_VALUES, type TraceRequest } from './model.ts'
import root from './trace-request.generated.js'

const request = root.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest

export type Encoding = 'json' | 'protobuf'

/**
 * @throws AppError 400 `malformed_protobuf`, `malformed_json`, `too_many_values`, `validation_failed` where the body is no trace
 * request
 */
export function decodeRequest(bytes: Uint8Array, encoding: Encoding): TraceRequest {
  if (encoding === 'json') return jsonRequest(bytes)
  try {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    countValues(Reader.create(buffer), buffer.length, MESSAGES, { values: MAX_REQUEST_VALUES }, 0)
    const reader = Reader.create(buffer)
    reader.discardUnknown = true
    // Native code, which takes a fifth of the time. It replaces what is not UTF-8 instead of refusing it.
    reader.stringVerify = reader.string
    return request.decode(reader)
  } catch (error) {
    if (error instanceof AppError) throw error
    throw new AppError('malformed_protobuf', 'The request body is not an ExportTraceServiceRequest.')
  }
}

const listOf = (members: Record<string, TSchema>) => optionalOrNull(Type.Array(Type.Object(members)))
const attributes = listOf({})

/**
 * The lists and objects that are read. Ids and times are judged where they are read, because a wrong one rejects only its span, and
 * values of attributes of other types are ignored.
 */
const JSON_REQUEST = Type.Object({
  resourceSpans: listOf({
    resource: optionalOrNull(Type.Object({ attributes })),
    scopeSpans: listOf({ spans: listOf({ attributes, events: listOf({ attributes }) }) }),
  }),
})

/** An empty body is an empty request, as in the binary encoding. */
function jsonRequest(bytes: Uint8Array): TraceRequest {
  return bytes.byteLength === 0
    ? {}
    : (validate(JSON_REQUEST, parseBounded(bytes, parseAnyText)) as TraceRequest)
}

const utf8 = new TextDecoder()

/**
 * Unlike a body of the REST interface, a batch of spans of many conversations may hold text that cannot be stored: it is cleaned where
 * it is read. Bytes that are no UTF-8 become U+FFFD, as in the binary encoding.
 */
function parseAnyText(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes))
  } catch {
    throw new AppError('malformed_json', 'The request body is not valid JSON.')
  }
}

/** A message type: field number → type of the message in it. Other fields are skipped. */
interface MessageType {
  readonly [field: number]: MessageType
}

const ANY: Record<number, MessageType> = {}
const KEY_VALUE: MessageType = { 2: ANY }
ANY[5] = { 1: ANY }
ANY[6] = { 1: KEY_VALUE }
const SPAN: MessageType = { 9: KEY_VALUE, 11: { 3: KEY_VALUE }, 13: { 4: KEY_VALUE }, 15: {} }
const MESSAGES: MessageType = { 1: { 1: { 1: KEY_VALUE }, 2: { 1: { 3: KEY_VALUE }, 2: SPAN } } }

/** The decoder has a limit of its own, which is higher. */
const MAX_DEPTH = 64

/** Counts messages down from `left`. @throws AppError 400 where there are too many; Error where the bytes are no message */
function countValues(
  reader: Reader,
  end: number,
  type: MessageType,
  left: { values: number },
  depth: number,
): void {
  if (depth > MAX_DEPTH) throw new Error('too deep')
  while (reader.pos < end) {
    const tag = reader.uint32()
    const inner = type[tag >>> 3]
    if (inner === undefined || (tag & 7) !== 2) {
      reader.skipType(tag & 7)
      continue
    }
    if (--left.values < 0)
      throw new AppError(
        'too_many_values',
        `The request has more than ${MAX_REQUEST_VALUES} spans, events, links and attributes.`,
        { extra: { limit: MAX_REQUEST_VALUES } },
      )
    const length = reader.uint32()
    const innerEnd = reader.pos + length
    if (innerEnd > end) throw new Error('index out of range')
    countValues(reader, innerEnd, inner, left, depth + 1)
  }
}
