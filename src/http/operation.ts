/**
 * What one operation of the REST API is: its place, who may call it, what it takes, answers and refuses.
 *
 * One declaration feeds both the router and the OpenAPI document, so the two cannot differ. Validation happens when
 * the handler asks for the body or the query, not before: the specification orders 401 before 404 before 400, and
 * some 404s are only known after a look into the database.
 */
import type { Static, TObject, TSchema } from '@sinclair/typebox'
import type { Principal } from '../identity/principal.ts'
import type { ErrorCode } from '../platform/errors.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Which credential opens the operation. The kinds of `Principal` that its handler can meet follow from it. */
export type Access = 'public' | 'agent' | 'organization' | 'user' | 'organizationOrUser'

type PrincipalOf<A extends Access> = A extends 'public'
  ? null
  : A extends 'agent'
    ? Extract<Principal, { kind: 'agent' }>
    : A extends 'organization'
      ? Extract<Principal, { kind: 'organization' }>
      : A extends 'user'
        ? Extract<Principal, { kind: 'user' }>
        : Extract<Principal, { kind: 'organization' | 'user' }>

/** One request on its way through an operation. */
export interface Call<A extends Access, B extends TSchema, Q extends TObject> {
  readonly request: Request
  readonly requestId: string
  readonly principal: PrincipalOf<A>
  /** A path parameter as sent. */
  param(name: string): string
  /** A path parameter that is a UUID. @throws AppError 404 `code` where it is not one. */
  id(name: string, code: ErrorCode): string
  /**
   * Reads the body up to the operation's limit, parses and validates it. May be called once.
   * @throws AppError 415, 400 `payload_too_large`, `too_many_values`, `malformed_json`, `validation_failed`, `unknown_member`, 408
   */
  body(): Promise<Static<B>>
  /**
   * The first half of `body`: read and parsed, not yet validated. Most members that the schema does not know are gone. Instead
   * of `body`.
   */
  parsedBody(): Promise<unknown>
  /** Instead of `body`: the bytes of a JSON body, for work that parses them itself. */
  bodyBytes(): Promise<Uint8Array>
  /** The validated query. @throws AppError 400 on an unknown, repeated or malformed parameter. */
  query(): Static<Q>
}

export interface Reply {
  readonly status: number
  /** A value, to be sent as JSON. */
  readonly body?: unknown
  /** Instead of `body`: sent as it is. */
  readonly text?: { readonly mediaType: string; readonly content: string }
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
  /** What is in those braces. */
  readonly params?: Readonly<Record<string, TSchema>>
  readonly tag: string
  readonly summary: string
  readonly description?: string
  readonly access: A
  /** Counted against this limit of the organization, together with the others of the same; else by its method. */
  readonly limit?: 'feedback'
  readonly body?: B
  /** Bytes; 1 MiB unless told. */
  readonly maxBodyBytes?: number
  /** An example of the body that works against the demo data. */
  readonly example?: unknown
  /** Paths of members of the example that must be new each time, such as `record.externalId`. */
  readonly unique?: readonly string[]
  readonly query?: Q
  readonly success: {
    readonly status: 200 | 201 | 202 | 204
    readonly description: string
    readonly schema?: TSchema
    /** An answer as it may be; made from the schema unless given. */
    readonly example?: unknown
    /** Media types other than JSON in which it is given where asked for, with an example each. */
    readonly texts?: Readonly<Record<string, string>>
  }
  /** Codes beyond those that follow from `access`, `body` and `query`. */
  readonly errors?: readonly ErrorCode[]
  readonly handler: (call: Call<A, B, Q>) => Promise<Reply>
}

/** Keeps the types of one declaration while it is put into a list with others. */
export function operation<A extends Access, B extends TSchema = TSchema, Q extends TObject = TObject>(
  declaration: Operation<A, B, Q>,
): Operation {
  // The router only ever calls the handler with the principal and schemas of the same declaration.
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
/** 202: what was asked for goes on in the background, and `location` says how far it is. */
export const accepted = (location: string, body: unknown): Reply => ({
  status: 202,
  body,
  headers: { location },
})
