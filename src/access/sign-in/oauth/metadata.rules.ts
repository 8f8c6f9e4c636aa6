/** What the authorization server accepts of the metadata of clients (RFC 7591, client-id metadata documents). Pure. */

/** Scopes of access tokens for the tools of coding agents: reading tools, and tools that change something. */
const TOOL_SCOPES = ['tools:read', 'tools:write'] as const

export const DEFAULT_SCOPE = TOOL_SCOPES.join(' ')

/** The only audience of access tokens (RFC 8707): the tools of coding agents. */
export const audienceOf = (baseUrl: string) => `${baseUrl}/mcp`

const MAX_TEXT = 200
const MAX_URI = 2_000
const MAX_REDIRECT_URIS = 20

type Metadata = Readonly<Record<string, unknown>>

/**
 * Metadata with the members that this server uses. Every client is public and native: public, because the server stores no secrets
 * of clients; native, because only those rules refuse `http` for other hosts than the own machine, and allow any port there
 * (RFC 8252, section 7.3). The library checks the values.
 */
export function usedMetadata(given: unknown): Metadata {
  const source = typeof given === 'object' && given !== null ? (given as Metadata) : {}
  return {
    redirect_uris: redirectUris(source.redirect_uris),
    ...text('client_name', source.client_name, MAX_TEXT),
    ...text('client_uri', source.client_uri, MAX_URI),
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  }
}

/** A document that a `client_id` names: like registered metadata, but a client that wants to prove itself is refused. */
export function usedDocument(given: unknown): Metadata {
  const { client_id, token_endpoint_auth_method = 'none' } = (given ?? {}) as Metadata
  return { ...usedMetadata(given), client_id, token_endpoint_auth_method }
}

/** Too many, or of another type, are left for the library to refuse. */
function redirectUris(given: unknown): unknown {
  if (!Array.isArray(given)) return []
  const isUsable = (uri: unknown) => typeof uri === 'string' && uri.length <= MAX_URI
  return given.length <= MAX_REDIRECT_URIS && given.every(isUsable) ? given : []
}

function text(name: string, value: unknown, max: number): Metadata {
  return typeof value === 'string' && value.trim() !== '' && value.length <= max ? { [name]: value } : {}
}

/** The query of an authorization request. A request without a known scope means all of them. */
export function authorizationQuery(query: URLSearchParams): URLSearchParams {
  const asked = query.get('scope')?.split(' ') ?? []
  const result = new URLSearchParams(query)
  if (!TOOL_SCOPES.some((scope) => asked.includes(scope)))
    result.set('scope', [...asked.filter((scope) => scope !== ''), DEFAULT_SCOPE].join(' '))
  return result
}

/** Where the client gets the answer, for a person: the host, this machine, or the program behind a scheme. */
export function describeRedirect(uri: string): string {
  const { protocol, host, hostname } = new URL(uri)
  if (protocol !== 'http:' && protocol !== 'https:') return `the program that opens ${protocol}`
  return /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname) ? `this computer (${host})` : host
}
