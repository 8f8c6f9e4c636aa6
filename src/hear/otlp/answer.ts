/**
 * Answers of the trace receiver, in the encoding of the request (opentelemetry-proto, docs/specification.md, "OTLP/HTTP Response"):
 * `ExportTraceServiceResponse`, or `google.rpc.Status` for errors.
 */
import { Writer } from 'protobufjs/minimal.js'
import type { AppError, ErrorCatalogue, ErrorCode } from '../../platform/errors.ts'
import type { Encoding } from './decode.ts'

const CONTENT_TYPES = { json: 'application/json', protobuf: 'application/x-protobuf' } as const

/** Spans that were refused, and why. Without any, the message is a warning; without a message there is nothing to say. */
export interface Rejection {
  readonly spans: number
  readonly message: string
}

/** 200. The answer is empty where there is nothing to say: clients show any `partialSuccess` as a warning. */
export function success(encoding: Encoding, { spans, message }: Rejection): Response {
  const headers = { 'content-type': CONTENT_TYPES[encoding] }
  if (encoding === 'json') {
    const body =
      spans === 0 && message === ''
        ? {}
        : { partialSuccess: { rejectedSpans: String(spans), errorMessage: message } }
    return new Response(JSON.stringify(body), { headers })
  }
  const writer = Writer.create()
  if (spans > 0 || message !== '')
    writer.uint32(10).fork().uint32(8).int64(spans).uint32(18).string(message).ldelim()
  return new Response(writer.finish(), { headers })
}

/** Codes of google.rpc.Code. Clients decide by the HTTP status; these are for people. */
const RPC_CODES: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  403: 7,
  404: 5,
  408: 4,
  413: 8,
  415: 3,
  429: 8,
  503: 14,
  507: 8,
}
const UNKNOWN = 2

/** Retried by clients: 429 and 503, after `Retry-After`. */
export function failure(encoding: Encoding, error: AppError, errors: ErrorCatalogue): Response {
  const status = statusOf(error.code, errors)
  const code = RPC_CODES[status] ?? UNKNOWN
  const retry: Record<string, string> = status === 503 ? { 'retry-after': '1' } : {}
  const headers = { ...retry, ...error.headers, 'content-type': CONTENT_TYPES[encoding] }
  const message = `${error.code}: ${error.message}`
  const body =
    encoding === 'json'
      ? JSON.stringify({ code, message })
      : Writer.create().uint32(8).int32(code).uint32(18).string(message).finish()
  return new Response(body, { status, headers })
}

/** Unlike the REST interface, OTLP answers 413 for a body that is too large, and 503 for a full disk. */
function statusOf(code: ErrorCode, errors: ErrorCatalogue): number {
  if (code === 'payload_too_large') return 413
  // Clients send again after 503, but not after 507.
  return code === 'storage_full' ? 503 : errors.codes[code]
}
