/**
 * The catalogue of every error that a caller can see, and the one class that carries it.
 *
 * A code is stable: clients branch on it, so it is never renamed. The status belongs to the code. Messages are
 * for people and may change. Nothing internal (SQL text, stack, secret, path of a machine) goes into an `AppError`.
 */

import type { DetailCode, ErrorMembers } from './error-details.ts'

/** Code → HTTP status. The closed enumeration of the OpenAPI document. */
export const ERROR_STATUS = {
  invalid_host: 400,
  validation_failed: 400,
  malformed_json: 400,
  malformed_encoding: 400,
  unknown_member: 400,
  payload_too_large: 400,
  too_many_values: 400,
  request_too_costly: 400,
  too_many_events: 400,
  event_too_large: 400,
  environment_not_allowed: 400,
  invalid_feedback_target: 400,
  unsupported_api_version: 400,
  unsupported_transcript_type: 400,
  url_not_allowed: 400,
  origin_required: 400,
  batch_requires_user: 400,
  transcript_utterance_limit_exceeded: 400,
  transcript_text_limit_exceeded: 400,
  transcript_utterance_text_limit_exceeded: 400,
  upload_length_mismatch: 400,
  unauthenticated: 401,
  invalid_agent_secret: 401,
  source_read_only: 403,
  user_required: 403,
  playback_url_invalid: 403,
  not_found: 404,
  agent_chats_disabled: 404,
  agent_application_not_found: 404,
  agent_secret_not_found: 404,
  agent_session_not_found: 404,
  agent_event_not_found: 404,
  agent_signal_not_found: 404,
  metadata_source_not_found: 404,
  metadata_field_not_found: 404,
  member_not_found: 404,
  user_token_not_found: 404,
  folder_not_found: 404,
  batch_not_found: 404,
  recording_not_found: 404,
  person_not_found: 404,
  person_erasure_not_found: 404,
  page_not_found: 404,
  feedback_source_not_found: 404,
  feedback_record_not_found: 404,
  upload_not_found: 404,
  method_not_allowed: 405,
  body_too_slow: 408,
  name_exists: 409,
  not_empty: 409,
  external_token_issuer: 409,
  external_id_exists: 409,
  recording_external_id_exists: 409,
  event_changed: 409,
  event_sequence_moved: 409,
  event_type_changed: 409,
  sequence_occupied: 409,
  event_finalized: 409,
  media_ingestion_active: 409,
  upload_not_cancellable: 409,
  upload_offset_mismatch: 409,
  upload_closed: 410,
  unsupported_tus_version: 412,
  upload_too_large: 413,
  unsupported_media_type: 415,
  metadata_value_type_mismatch: 422,
  metadata_field_not_canonical: 422,
  metadata_field_duplicate: 422,
  rate_limited: 429,
  too_many_uploads: 429,
  upload_checksum_mismatch: 460,
  internal_error: 500,
  unavailable: 503,
  upload_busy: 503,
  upload_too_slow: 503,
} as const

export type ErrorCode = keyof typeof ERROR_STATUS

/** One finding about one place of the input. `path` reads like `events[3].sequence`. */
export interface ErrorDetail {
  readonly path: string
  readonly code: DetailCode
  readonly message: string
}

export interface AppErrorOptions {
  readonly details?: readonly ErrorDetail[]
  /** Additional members of the error body, such as the id of the object that already exists. */
  readonly extra?: ErrorMembers
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

/** An error that the caller is told about. Services throw it, the error hook renders it, routes never catch it. */
export class AppError extends Error {
  override readonly name = 'AppError'
  readonly status: number
  readonly details: readonly ErrorDetail[]
  readonly extra: ErrorMembers
  readonly headers: Readonly<Record<string, string>>

  constructor(
    readonly code: ErrorCode,
    message: string,
    options: AppErrorOptions = {},
  ) {
    super(message, { cause: options.cause })
    this.status = ERROR_STATUS[code]
    this.details = options.details ?? []
    this.extra = options.extra ?? {}
    this.headers = options.headers ?? {}
  }
}
