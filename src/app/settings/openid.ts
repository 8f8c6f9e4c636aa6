/** Settings of OpenID Connect: who makes user tokens, and with whom people sign in. */
import type { OpenIdConfig } from '../../kernel/config.ts'
import { isUuid } from '../../platform/ids.ts'
import { asciiDomain } from '../../platform/validation/user-address.ts'
import { ConfigError, fail, type reader } from './reader.ts'
import { SETTINGS } from './table.ts'

/** @throws ConfigError */
export function openIdConfig(read: ReturnType<typeof reader>): OpenIdConfig {
  const issuer = read.url('OIDC_ISSUER')
  const audience = read.text('OIDC_AUDIENCE')
  const jwksUrl = read.url('OIDC_JWKS_URL')
  const clientId = read.text('OIDC_CLIENT_ID')
  const clientSecret = read.text('OIDC_CLIENT_SECRET')
  const trustEmail = read.oneOf('OIDC_TRUST_EMAIL', SETTINGS.OIDC_TRUST_EMAIL.default) === 'true'
  const newUsers = newUsersOf(read.text('OIDC_ALLOWED_DOMAINS'), read.text('OIDC_ORGANIZATION'))
  if (issuer === null) {
    if (clientId !== null)
      throw new ConfigError('OIDC_ISSUER is not set, but must be the issuer when OIDC_CLIENT_ID is set')
    return { tokens: null, signIn: null }
  }
  return {
    tokens: audience === null && clientId !== null ? null : tokens(issuer, audience, jwksUrl),
    signIn: clientId === null ? null : { issuer, clientId, clientSecret, trustEmail, newUsers },
  }
}

function tokens(issuer: string, audience: string | null, jwksUrl: string | null) {
  if (audience === null)
    throw new ConfigError(
      'OIDC_AUDIENCE is not set, but must be the expected audience when OIDC_ISSUER is set',
    )
  if (jwksUrl === null)
    throw new ConfigError('OIDC_JWKS_URL is not set, but must be the key set URL when OIDC_ISSUER is set')
  return { issuer, audience, jwksUrl }
}

const DOMAIN = /^[a-z\d-]+(?:\.[a-z\d-]+)+$/

function newUsersOf(list: string | null, organizationId: string | null) {
  if (list === null) return null
  const domains = list.split(',').map((text) => {
    const domain = asciiDomain(text.trim())
    if (domain !== null && DOMAIN.test(domain)) return domain
    return fail('OIDC_ALLOWED_DOMAINS', text.trim(), 'a comma-separated list of domains, such as example.com')
  })
  if (organizationId === null)
    throw new ConfigError(
      'OIDC_ORGANIZATION is not set, but must be the id of the organization that new users join when OIDC_ALLOWED_DOMAINS is set',
    )
  if (!isUuid(organizationId)) fail('OIDC_ORGANIZATION', organizationId, 'the id of an organization')
  return { domains, organizationId: organizationId.toLowerCase() }
}
