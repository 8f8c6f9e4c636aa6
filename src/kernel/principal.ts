import type { Role } from './roles.rules.ts'

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

export type OrganizationPrincipal = Extract<Principal, { kind: 'organization' }>
export type AgentPrincipal = Extract<Principal, { kind: 'agent' }>
export type UserPrincipal = Extract<Principal, { kind: 'user' }>

/**
 * A web page with a publishable key. It is no `Principal`, so that the compiler keeps it out of every operation: it can only send what
 * the widget sends.
 */
export interface PagePrincipal {
  readonly organizationId: string
  readonly applicationId: string
  readonly keyId: string
  /** Origins of the pages that may use the key. */
  readonly origins: readonly string[]
}

/** One sentence for the caller: why a token was refused. */
export interface Refusal {
  readonly refused: string
  /** True for a good token that is bound to an organization, where a person is asked for. */
  readonly isBound?: boolean
}

export interface Authentication {
  /** Null if the key is unknown or revoked. */
  byApiKey(key: string): Promise<OrganizationPrincipal | null>
  /** Null if the secret is unknown or revoked. */
  byAgentSecret(secret: string): Promise<AgentPrincipal | null>
  /** Null if the key is unknown or revoked. The caller checks the origin. */
  byPublishableKey(key: string): Promise<PagePrincipal | null>
  /**
   * `wanted` is the id of the organization that the caller names. With null, the user must be a member of exactly one.
   * @throws AppError 503 if the keys of the token issuer cannot be read
   */
  byToken(token: string, wanted: string | null): Promise<UserPrincipal | Refusal>
  /** The secret of a browser session, from its cookie. `wanted` as for `byToken`. */
  bySession(secret: string, wanted: string | null): Promise<UserPrincipal | Refusal>
  /** Refuses tokens that are bound: to an organization, or to a resource. @throws AppError as `byToken` */
  personByToken(token: string): Promise<PersonPrincipal | Refusal>
  personBySession(secret: string): Promise<PersonPrincipal | Refusal>
}

/** The user of what belongs to a user alone. The role does not matter. */
export type Owner = Omit<UserPrincipal, 'role'>

/** The caller who looks at what is shared in folders. Neither the API key nor the role of a user matters. */
export type Viewer = Omit<OrganizationPrincipal, 'apiKeyId'> | Owner
