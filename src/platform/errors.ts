/**
 * `AppError`, the only error that a client sees in full, and the errors that belong to no feature. Each feature declares
 * its own errors in `src/<feature>/errors.ts`. `src/app/error-catalogue.ts` merges the declarations.
 *
 * Clients branch on a code, so a code is never renamed. Its HTTP status is fixed. Messages are for people and may change.
 * An `AppError` contains nothing internal: no SQL text, no stack, no secret, no file path.
 */

/** The errors that one feature declares. */
export interface ErrorDeclaration {
  /** Code → HTTP status. */
  readonly codes: Readonly<Record<string, number>>
  /** `details[].code` → its meaning. */
  readonly details?: Readonly<Record<string, string>>
  /** Additional members of an error body, as JSON Schema. */
  readonly members?: Readonly<Record<string, MemberSchema>>
  /** Table → the 404 code of its rows, for requests whose row is deleted at the same moment. */
  readonly rows?: Readonly<Record<string, string>>
}

interface MemberSchema {
  readonly type: 'string' | 'integer'
  readonly description: string
  readonly format?: string
  readonly minimum?: number
}

export const PLATFORM_ERRORS = {
  codes: {
    invalid_host: 400,
    validation_failed: 400,
    malformed_json: 400,
    malformed_encoding: 400,
    unknown_member: 400,
    payload_too_large: 400,
    too_many_values: 400,
    request_too_costly: 400,
    unsupported_api_version: 400,
    url_not_allowed: 400,
    unauthenticated: 401,
    user_required: 403,
    csrf_check_failed: 403,
    not_found: 404,
    method_not_allowed: 405,
    body_too_slow: 408,
    name_exists: 409,
    not_empty: 409,
    session_required: 409,
    unsupported_media_type: 415,
    rate_limited: 429,
    internal_error: 500,
    object_busy: 503,
    unavailable: 503,
    storage_full: 507,
  },
  details: {
    type: 'The value is of another JSON type.',
    required: 'The member is missing.',
    unknown_member: 'There is no such member or parameter.',
    not_allowed: 'The value is none of those allowed, or the member does not belong here.',
    length: 'The text is too short or too long, or the array has too few or too many items.',
    blank: 'The text is blank.',
    range: 'The number or the moment is out of range.',
    pattern: 'The text does not have the required form.',
    format: 'The text is not in the required format, such as an e-mail address.',
    date_time: 'The text is not an RFC 3339 date-time with offset.',
    time_zone: 'There is no such time zone.',
    uuid: 'The text is not a UUID.',
    cursor: 'The text is not a cursor of this list.',
    too_deep: 'The page is too far from the start of the list: go on with `next_cursor`.',
    repeated: 'The parameter is given more than once.',
    not_storable:
      'The value cannot be stored: U+0000, an unpaired surrogate, an infinite number, or too deep.',
    contradiction: 'The member contradicts another one.',
    duplicate: 'The same thing is given twice with different values.',
    order: 'The item stands before the one that it follows.',
    not_found: 'There is no such object.',
    url_not_allowed: 'The URL is malformed, or its host is not public.',
  },
  members: {
    limit: {
      type: 'integer',
      description: 'Where there are too many items or characters: how many are allowed.',
    },
    actual: {
      type: 'integer',
      description: 'Where there are too many items or characters: how many there are.',
    },
    limitBytes: {
      type: 'integer',
      description: 'Where the body, an event or a file is too large: the most bytes it may have.',
    },
    actualBytes: {
      type: 'integer',
      description: 'Where the body or an event is too large: its bytes, as far as they were counted.',
    },
  },
} as const

/**
 * Owner → type of its declaration. Each `src/<feature>/errors.ts` adds its feature with `declare module`. So the compiler
 * accepts declared codes only, and this folder names no feature.
 */
export interface DeclaredErrors {
  readonly platform: typeof PLATFORM_ERRORS
}

type Declared = DeclaredErrors[keyof DeclaredErrors]
type KeysOf<T> = T extends unknown ? keyof T : never
type DetailsOf<T> = T extends { readonly details: infer D } ? D : never
type MembersOf<T> = T extends { readonly members: infer M } ? M : never

export type ErrorCode = KeysOf<Declared['codes']>
export type DetailCode = KeysOf<DetailsOf<Declared>>
type ErrorMember = KeysOf<MembersOf<Declared>>

type MemberType<Name, T = MembersOf<Declared>> =
  T extends Record<Name & string, { readonly type: infer Type }>
    ? Type extends 'string'
      ? string
      : number
    : never

/** Additional members of an error body. */
export type ErrorMembers = { readonly [Name in ErrorMember]?: MemberType<Name> }

/** The errors of all owners, merged. */
export interface ErrorCatalogue {
  /** Code → HTTP status, in the order of the statuses. */
  readonly codes: Readonly<Record<ErrorCode, number>>
  /** `details[].code` → its meaning. */
  readonly details: Readonly<Record<DetailCode, string>>
  /** Additional members of an error body, as JSON Schema. */
  readonly members: Readonly<Record<ErrorMember, MemberSchema>>
  /** Table → the 404 code of its rows. */
  readonly rows: Readonly<Record<string, ErrorCode>>
}

/** A finding about one value of the input. `path` has the form `items[3].name`. */
export interface ErrorDetail {
  readonly path: string
  readonly code: DetailCode
  readonly message: string
}

export interface AppErrorOptions {
  readonly details?: readonly ErrorDetail[]
  /** Members such as the id of the object that already exists. */
  readonly extra?: ErrorMembers
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

/** An error that the client sees. Services throw it, the error hook renders it, routes never catch it. */
export class AppError extends Error {
  override readonly name = 'AppError'
  readonly details: readonly ErrorDetail[]
  readonly extra: ErrorMembers
  readonly headers: Readonly<Record<string, string>>

  constructor(
    readonly code: ErrorCode,
    message: string,
    options: AppErrorOptions = {},
  ) {
    super(message, { cause: options.cause })
    this.details = options.details ?? []
    this.extra = options.extra ?? {}
    this.headers = options.headers ?? {}
  }
}

/**
 * A setting, or another server, must be changed by an operator before the work can be done. A turn that throws it waits: it is tried
 * again every few minutes, without end. `message` is a sentence for operators, with the remedy and without secrets.
 */
export class NeedsOperator extends Error {
  override readonly name = 'NeedsOperator'
}

/** The 503 for a part of the service that does not answer or refuses the service. `what`: a sentence that names it. */
export const unavailable = (what: string, cause: unknown): AppError =>
  new AppError('unavailable', `${what} Try again shortly.`, { headers: { 'retry-after': '1' }, cause })

/** The 507 for a part of the service without room. `what`: a sentence that names it. */
export const storageFull = (what: string, cause: unknown): AppError =>
  new AppError('storage_full', `${what} Try again later.`, { headers: { 'retry-after': '30' }, cause })
