/** Who is calling. Every principal belongs to exactly one organization; every query names it. */
export type Principal =
  | { readonly kind: 'organization'; readonly organizationId: string; readonly apiKeyId: string }
  | { readonly kind: 'user'; readonly organizationId: string; readonly userId: string }
  | {
      readonly kind: 'agent'
      readonly organizationId: string
      readonly applicationId: string
      readonly secretId: string
    }
