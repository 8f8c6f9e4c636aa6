/** Errors of `/mcp` before the protocol takes over, in the shape of JSON-RPC 2.0 (section 5.1) with the HTTP status of the REST API. */
import type { AppError, ErrorCatalogue } from '../../../platform/errors.ts'

const PARSE_ERROR = -32_700
const INVALID_REQUEST = -32_600
const INTERNAL_ERROR = -32_603

export function rpcError(error: AppError, errors: ErrorCatalogue, requestId: string): Response {
  const status = errors.codes[error.code]
  const { code: word, message } = error
  const code = word === 'malformed_json' ? PARSE_ERROR : status < 500 ? INVALID_REQUEST : INTERNAL_ERROR
  const body = { jsonrpc: '2.0', id: null, error: { code, message, data: { code: word, requestId } } }
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...error.headers, 'content-type': 'application/json' },
  })
}
