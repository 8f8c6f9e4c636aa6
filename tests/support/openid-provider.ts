/** A real OpenID Connect provider: `oidc-provider` on the loopback interface. Its login page has one button. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Configuration } from 'oidc-provider'

export interface OpenIdProvider {
  readonly issuer: string
  /** Claims of the person who presses the button. */
  claims: Record<string, unknown>
  /** Claims that only the userinfo endpoint gives. */
  userInfo: Record<string, unknown>
  /** What discovery answers instead of the metadata of the provider; null: that. */
  discovery: ((metadata: Record<string, unknown>) => Response) | null
  stop(): Promise<void>
}

const DISCOVERY = '/.well-known/openid-configuration'

export const CLIENT = { OIDC_CLIENT_ID: 'earshot', OIDC_CLIENT_SECRET: 'a secret of this client' }

/** `redirectUris` is read at the first request, because the service listens later. `client`: metadata of the client at the provider. */
export async function startOpenIdProvider(
  redirectUris: string[],
  client: Readonly<Record<string, string>> = {},
): Promise<OpenIdProvider> {
  const { Provider } = await import('oidc-provider')
  const { generateKeyPair, exportJWK } = await import('jose')
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const started: OpenIdProvider = {
    issuer,
    claims: {},
    userInfo: {},
    discovery: null,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  const configuration: Configuration = {
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'k', alg: 'RS256', use: 'sig' }] } as never,
    cookies: { keys: ['test'] },
    features: { devInteractions: { enabled: false }, encryption: { enabled: true } },
    enabledJWA: { idTokenSigningAlgValues: ['RS256', 'HS256'], idTokenEncryptionAlgValues: ['dir'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    // In the ID token, not only at the userinfo endpoint.
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    findAccount: async (_, sub) => ({
      accountId: sub,
      claims: async (use) => ({ sub, ...started.claims, ...(use === 'userinfo' ? started.userInfo : {}) }),
    }),
  }
  const create = () =>
    new Provider(issuer, {
      ...configuration,
      clients: [
        {
          client_id: CLIENT.OIDC_CLIENT_ID,
          client_secret: CLIENT.OIDC_CLIENT_SECRET,
          redirect_uris: redirectUris,
          response_types: ['code'],
          grant_types: ['authorization_code'],
          ...client,
        },
      ],
    })
  let provider: ReturnType<typeof create> | null = null
  server.on('request', async (request, response) => {
    provider ??= create()
    const { discovery } = started
    if (discovery !== null && request.url === DISCOVERY) {
      started.discovery = null
      const metadata = (await (await fetch(`${issuer}${DISCOVERY}`)).json()) as Record<string, unknown>
      const answer = discovery(metadata)
      started.discovery = discovery
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
      return
    }
    if (!request.url?.startsWith('/interaction/')) return provider.callback()(request, response)
    if (request.method !== 'POST') {
      response.setHeader('content-type', 'text/html')
      response.end('<title>Provider</title><form method="post"><button>I am Ada</button></form>')
      return
    }
    const { params } = await provider.interactionDetails(request, response)
    const grant = new provider.Grant({ accountId: 'ada', clientId: String(params.client_id) })
    grant.addOIDCScope(String(params.scope))
    const result = { login: { accountId: 'ada', remember: false }, consent: { grantId: await grant.save() } }
    await provider.interactionFinished(request, response, result)
  })
  return started
}
