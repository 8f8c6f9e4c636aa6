/** Errors of members, user tokens and agent secrets that a client can see. `src/platform/errors.ts` describes the parts. */
export const IDENTITY_ERRORS = {
  codes: {
    organization_name_mismatch: 400,
    invalid_agent_secret: 401,
    invalid_publishable_key: 401,
    page_not_allowed: 403,
    unbound_credential_required: 403,
    role_required: 403,
    agent_secret_not_found: 404,
    api_key_not_found: 404,
    publishable_key_not_found: 404,
    member_not_found: 404,
    user_token_not_found: 404,
    user_session_not_found: 404,
    invitation_not_found: 404,
    too_many_publishable_keys: 409,
    external_token_issuer: 409,
    invitation_open: 409,
    member_exists: 409,
    last_administrator: 409,
    own_api_key: 409,
  },
  details: {
    not_a_member: 'The user is not a member of the organization.',
  },
  members: {
    requiredRole: {
      type: 'string',
      description: 'Where the role of the user is too low: the lowest role that may do this.',
    },
  },
  rows: { membership: 'member_not_found', user_token: 'user_token_not_found' },
} as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly identity: typeof IDENTITY_ERRORS
  }
}
