import type { Role } from '../../http/roles.rules.ts'

/** Who is calling. Every principal belongs to exactly one organization; every query names it. */
export type Principal =
  | { readonly kind: 'organization'; readonly organizationId: string; readonly apiKeyId: string }
  | {
      readonly kind: 'user'
      readonly organizationId: string
      readonly userId: string
      /** What the user may do in the organization. Operations check it: see `role` of `Operation`. */
      readonly role: Role
      /** True for a token that the organization issued for itself alone. */
      readonly isBound?: true
      /** The browser session that made the request; absent for tokens. */
      readonly sessionId?: string
      /**
       * The only resource that the access token is good for (RFC 8707), such as `https://earshot.example.com/mcp`. Absent for
       * sessions and for user tokens, which are good everywhere.
       */
      readonly audience?: string
      /** What the user allowed the OAuth client to do: `tools:read`, `tools:write`. Absent where `audience` is absent. */
      readonly scopes?: readonly string[]
    }
  | {
      readonly kind: 'agent'
      readonly organizationId: string
      readonly applicationId: string
      readonly secretId: string
    }

/**
 * A person, whatever organizations they belong to. Only a credential that is bound to no organization makes one, so the compiler keeps
 * bound credentials out of every operation on the person.
 */
export interface PersonPrincipal {
  readonly kind: 'person'
  readonly userId: string
  /** The browser session that made the request; absent for tokens. */
  readonly sessionId?: string
}
