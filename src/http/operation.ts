/**
 * The declaration of one REST operation: address, access, input, answer and errors.
 *
 * One declaration feeds both the router and the OpenAPI document, so the two cannot differ. Validation runs when the
 * handler asks for the body or the query: the specification orders 401 before 404 before 400, and some 404s need the
 * database.
 */
import type { Static, TObject, TSchema } from '@sinclair/typebox'
import type { Read } from '../kernel/audit-actions.ts'
import type { PersonPrincipal, Principal } from '../kernel/principal.ts'
import type { Role } from '../kernel/roles.rules.ts'
import type { Work } from '../platform/concurrency/work.ts'
import type { ErrorCode } from '../platform/errors.ts'
import type { BodyInput } from './parse-body.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/**
 * The credentials that the operation accepts. They determine the kinds of `Principal` that its handler gets. An operation acts in one
 * organization, or on the person: then a credential that is bound to an organization does not open it.
 */
export type Access = 'public' | 'agent' | 'organization' | 'user' | 'organizationOrUser' | 'person'

type PrincipalOf<A extends Access> = A extends 'public'
  ? null
  : A extends 'agent'
    ? Extract<Principal, { kind: 'agent' }>
    : A extends 'organization'
      ? Extract<Principal, { kind: 'organization' }>
      : A extends 'user'
        ? Extract<Principal, { kind: 'user' }>
        : A extends 'person'
          ? PersonPrincipal
          : Extract<Principal, { kind: 'organization' | 'user' }>

/** One request to an operation. */
export interface Call<A extends Access, B extends TSchema, Q extends TObject> {
  readonly request: Request
  readonly requestId: string
  readonly principal: PrincipalOf<A>
  /** A path parameter as sent. */
  param(name: string): string
  /** A path parameter that is a UUID. @throws AppError 404 `code` if it is not one */
  id(name: string, code: ErrorCode): string
  /**
   * Reads the body up to the operation's limit, parses and validates it. Call it once.
   * @throws AppError 415, 400 `payload_too_large`, `too_many_values`, `malformed_json`, `validation_failed`,
   * `unknown_member`, 408
   */
  body(): Promise<Static<B>>
  /** Alternative to `body`: read and parsed, but not validated. Most unknown members are removed. */
  parsedBody(): Promise<unknown>
  /** Alternative to `body`: what `reader` makes of a JSON body, in a thread if the body is large. */
  bodyThrough<O>(reader: Work<BodyInput, O>): Promise<O>
  /** Alternative to `body`: the parts of a JSON body as they arrived, for work that parses them itself. */
  bodyParts(): Promise<Uint8Array[]>
  /** The validated query. @throws AppError 400 for an unknown, repeated or malformed parameter */
  query(): Static<Q>
}

export interface Reply {
  readonly status: number
  /** A value to send as JSON. */
  readonly body?: unknown
  /** Alternative to `body`: text to send unchanged. */
  readonly text?: { readonly mediaType: string; readonly content: string }
  /** Alternative to `body`: bytes to send as they come. */
  readonly stream?: { readonly mediaType: string; readonly content: ReadableStream<Uint8Array> }
  readonly headers?: Readonly<Record<string, string>>
}

export interface Operation<
  A extends Access = Access,
  B extends TSchema = TSchema,
  Q extends TObject = TObject,
> {
  readonly id: string
  readonly method: Method
  /** With parameters in braces, as in OpenAPI: `/v3/rest/signals/{signalId}`. */
  readonly path: string
  /** Schemas of the parameters in braces. */
  readonly params?: Readonly<Record<string, TSchema>>
  readonly tag: string
  readonly summary: string
  readonly description?: string
  readonly access: A
  /** True if a token that is bound to the organization is refused (403 `unbound_credential_required`), as for operations on the person. */
  readonly isUnbound?: boolean
  /** True if the query parameter `organization` may stand for the header, for clients that send no headers. */
  readonly organizationInQuery?: boolean
  /** The lowest role of a user that may use it. Present if and only if `access` accepts users of an organization. */
  readonly role?: Role
  /** Makes successful requests of users part of the audit log. `object`: the path parameter with the id; absent: a list. */
  readonly reads?: { readonly action: Read; readonly object?: string }
  /** A limit other than that by method: `feedback` of the organization, which operations share; `meetingJoins` of the user. */
  readonly limit?: 'feedback' | 'meetingJoins'
  readonly body?: B
  /** In bytes; default 1 MiB. */
  readonly maxBodyBytes?: number
  /** An example of the body that works with the demo data. */
  readonly example?: unknown
  /** Paths of example members that must be new each time, such as `record.externalId`. */
  readonly unique?: readonly string[]
  readonly query?: Q
  readonly success: {
    readonly status: 200 | 201 | 202 | 204
    readonly description: string
    readonly schema?: TSchema
    /** An example answer; default: created from the schema. */
    readonly example?: unknown
    /** Media types other than JSON that a client may request, with an example each. */
    readonly texts?: Readonly<Record<string, string>>
  }
  /** Codes in addition to those implied by `access`, `body` and `query`. */
  readonly errors?: readonly ErrorCode[]
  readonly handler: (call: Call<A, B, Q>) => Promise<Reply>
}

/** Makes the compiler require a role where users have access, and refuse one elsewhere. */
type RoleOf<A extends Access> = A extends 'user' | 'organizationOrUser'
  ? { readonly role: Role }
  : { readonly role?: never }

/** Keeps the types of one declaration while it is put into a list with others. */
export function operation<A extends Access, B extends TSchema = TSchema, Q extends TObject = TObject>(
  declaration: Operation<A, B, Q> & RoleOf<A>,
): Operation {
  // The router calls the handler only with the principal and schemas of the same declaration.
  return declaration as unknown as Operation
}

export const ok = (body: unknown): Reply => ({ status: 200, body })
/** 200 with text in UTF-8. */
export const text = (mediaType: string, content: string): Reply => ({
  status: 200,
  text: { mediaType, content },
})
export const noContent = (): Reply => ({ status: 204 })
/** 201 with `Location` (RFC 9110 section 10.2.2). */
export const created = (location: string, body: unknown): Reply => ({
  status: 201,
  body,
  headers: { location },
})
/** 202: the work continues in the background. `location` returns its progress. */
export const accepted = (location: string, body: unknown): Reply => ({
  status: 202,
  body,
  headers: { location },
})
