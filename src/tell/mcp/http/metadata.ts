/** How clients find out where to get a token (RFC 9728, "OAuth 2.0 Protected Resource Metadata"). */
import { Elysia } from 'elysia'
import { baseUrlOf } from '../../../http/base-url.ts'
import type { Config } from '../../../kernel/config.ts'
import { readOnly } from '../../../platform/net/methods.ts'
import { trimEndOf } from '../../../platform/validation/trim.ts'

export const MCP_PATH = '/mcp'
const WELL_KNOWN = '/.well-known/oauth-protected-resource'

export const READ_SCOPE = 'tools:read'
export const WRITE_SCOPE = 'tools:write'

type MetadataConfig = Pick<Config, 'publicBaseUrl' | 'oidc'>

/** The resource that a token must be issued for (RFC 8707). */
export const resourceOf = (request: Request, config: MetadataConfig) =>
  `${baseUrlOf(request, config)}${MCP_PATH}`

export const metadataUrlOf = (request: Request, config: MetadataConfig) =>
  `${baseUrlOf(request, config)}${WELL_KNOWN}${MCP_PATH}`

/** Another issuer does not know the scopes of this service; a token of it must name the user's e-mail address. */
export const scopesOf = ({ oidc }: MetadataConfig): readonly string[] =>
  oidc === null ? [READ_SCOPE, WRITE_SCOPE] : ['openid', 'email']

function documentOf(request: Request, config: MetadataConfig) {
  const base = baseUrlOf(request, config)
  return {
    resource: resourceOf(request, config),
    authorization_servers: [config.oidc?.issuer ?? base],
    scopes_supported: scopesOf(config),
    bearer_methods_supported: ['header'],
    resource_name: 'Earshot',
  }
}

/**
 * The document, at the address with the path of the resource and at the root, where some clients look. RFC 9728 puts the path of
 * `PUBLIC_BASE_URL` behind the well-known part, so that address is served, too, for proxies that pass it on.
 */
export function protectedResourceMetadata(config: MetadataConfig) {
  const hidden = { detail: { hide: true } }
  const headers = {
    'access-control-allow-origin': '*',
    'cache-control': 'no-cache',
    'content-type': 'application/json',
  }
  const answer = ({ request }: { readonly request: Request }) =>
    new Response(JSON.stringify(documentOf(request, config)), { headers })
  const app = new Elysia({ name: 'protected-resource' })
  const prefix = config.publicBaseUrl === null ? '' : trimEndOf(new URL(config.publicBaseUrl).pathname, '/')
  for (const path of new Set([`${prefix}${MCP_PATH}`, MCP_PATH, ''])) {
    app.get(`${WELL_KNOWN}${path}`, answer, hidden)
    app.all(`${WELL_KNOWN}${path}`, readOnly, hidden)
  }
  return app
}
