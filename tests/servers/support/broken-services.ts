/** Providers, recorders and model servers that do not serve the service, and settings of its own. */
import { createAuthority } from '../../support/authority.ts'
import { startOpenIdProvider } from '../../support/openid-provider.ts'
import { FAKES } from '../../support/recorders/drivers.ts'
import type { SetUp, Undo } from './set-up.ts'

const AWAY = 'http://127.0.0.1:1'
const ALLOWED = { OUTBOUND_ALLOW: '127.0.0.1/32' }
const openId = (issuer: string) => ({ ...ALLOWED, OIDC_ISSUER: issuer, OIDC_CLIENT_ID: 'earshot' })

const tokensOf = (url: string) => ({
  OIDC_ISSUER: 'https://login.example.com',
  OIDC_AUDIENCE: 'earshot',
  OIDC_JWKS_URL: url,
})

/** A server with one answer. @returns its URL */
function startAnswer(undo: (work: Undo) => void, answer: () => Response, tls?: Bun.TLSOptions): string {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: answer,
    ...(tls === undefined ? {} : { tls }),
  })
  undo(() => server.stop(true))
  return server.url.origin
}

/** A key for encryption, a secret, and a public one that is cut. */
const USELESS_KEYS = [
  {
    kty: 'RSA',
    use: 'enc',
    alg: 'RSA-OAEP',
    n: 'wW9TkSbcn5FV3iUJ-812sqTvwTGCFrDm6vD2U-g23gn6rrBdFZQbf2bgEnSk',
    e: 'AQAB',
  },
  { kty: 'oct', k: 'c2VjcmV0' },
  { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' },
]

/** A model server that wants another key. @returns its URL */
export function startModelServer(undo: (work: Undo) => void): string {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ headers }) =>
      headers.get('authorization') === 'Bearer right'
        ? Response.json({ object: 'list', data: [] })
        : Response.json(
            { error: { message: 'Incorrect API key', code: 'invalid_api_key' } },
            { status: 401 },
          ),
  })
  undo(() => server.stop(true))
  return server.url.origin
}

const analyzer = (url: string) => ({ ANALYZE_URL: url, ANALYZE_MODEL: 'small', ANALYZE_API_KEY: 'wrong' })
const recogniser = (url: string) => ({
  ROLE: 'worker',
  TRANSCRIBE_URL: url,
  TRANSCRIBE_MODEL: 'small',
  TRANSCRIBE_API_KEY: 'wrong',
})

export const brokenServices: readonly SetUp[] = [
  {
    name: 'The issuer of OpenID Connect is away',
    check: 'sign-in',
    begin: async () => openId(AWAY),
  },
  {
    name: 'The issuer has a private address that is not allowed',
    check: 'sign-in',
    begin: async () => ({ ...openId(AWAY), OUTBOUND_ALLOW: '' }),
  },
  {
    name: '`OIDC_ISSUER` is not the name that the provider has',
    check: 'sign-in',
    async begin(undo) {
      const provider = await startOpenIdProvider([])
      undo(() => provider.stop())
      provider.discovery = (metadata) => Response.json({ ...metadata, issuer: 'https://elsewhere.example' })
      return openId(provider.issuer)
    },
  },
  {
    name: '`OIDC_ISSUER` leads to a server without discovery',
    check: 'sign-in',
    async begin(undo) {
      return openId(startAnswer(undo, () => new Response('', { status: 404 })))
    },
  },
  {
    name: 'The server of `OIDC_JWKS_URL` is away',
    check: 'tokens',
    begin: async () => tokensOf(AWAY),
  },
  {
    name: 'The certificate of the server of `OIDC_JWKS_URL` is of an unknown authority',
    check: 'tokens',
    async begin(undo) {
      const authority = await createAuthority()
      undo(() => authority.remove())
      const { key, cert } = await authority.issue('localhost')
      const tls = { key: Bun.file(key), cert: Bun.file(cert) }
      const { port } = new URL(startAnswer(undo, () => Response.json({ keys: [] }), tls))
      return tokensOf(`https://localhost:${port}`)
    },
  },
  {
    name: '`OIDC_JWKS_URL` answers with a page',
    check: 'tokens',
    begin: async (undo) => tokensOf(startAnswer(undo, () => new Response('<html>'))),
  },
  {
    name: '`OIDC_JWKS_URL` answers with other JSON',
    check: 'tokens',
    begin: async (undo) => tokensOf(startAnswer(undo, () => Response.json({ issuer: 'x' }))),
  },
  {
    name: '`OIDC_JWKS_URL` answers with an error',
    check: 'tokens',
    begin: async (undo) => tokensOf(startAnswer(undo, () => new Response('', { status: 500 }))),
  },
  {
    name: '`OIDC_JWKS_URL` has no key that the service can use',
    check: 'tokens',
    begin: async (undo) => tokensOf(startAnswer(undo, () => Response.json({ keys: USELESS_KEYS }))),
  },
  {
    name: 'The recorder is away',
    check: 'recorder',
    begin: async () => ({ ...ALLOWED, RECORDER: 'attendee', RECORDER_URL: AWAY, RECORDER_API_KEY: 'key' }),
  },
  ...(['attendee', 'vexa', 'recall'] as const).map(
    (name): SetUp => ({
      name: `The key of the recorder is wrong (\`RECORDER=${name}\`)`,
      check: 'recorder',
      async begin(undo) {
        const fake = FAKES[name]()
        undo(() => fake[Symbol.dispose]())
        const { url } = fake.settings
        return { ...ALLOWED, RECORDER: name, RECORDER_URL: url, RECORDER_API_KEY: 'wrong' }
      },
    }),
  ),
  {
    name: 'The model server is away',
    check: 'analyzer',
    begin: async () => analyzer(AWAY),
  },
  {
    name: 'The key of the model server is wrong',
    check: 'analyzer',
    begin: async (undo) => analyzer(startModelServer(undo)),
  },
  {
    name: 'The speech recogniser is away',
    check: 'transcription',
    begin: async () => recogniser(AWAY),
  },
  {
    name: 'The key of the speech recogniser is wrong',
    check: 'transcription',
    begin: async (undo) => recogniser(startModelServer(undo)),
  },
  {
    name: 'A setting has a value that it may not have',
    check: 'settings',
    begin: async () => ({ PORT: 'eighty' }),
  },
]
