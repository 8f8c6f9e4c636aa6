/** Providers, recorders and model servers that do not serve the service, and settings of its own. */
import { startOpenIdProvider } from '../../support/openid-provider.ts'
import { FAKES } from '../../support/recorders/drivers.ts'
import type { SetUp, Undo } from './set-up.ts'

const AWAY = 'http://127.0.0.1:1'
const ALLOWED = { OUTBOUND_ALLOW: '127.0.0.1/32' }
const openId = (issuer: string) => ({ ...ALLOWED, OIDC_ISSUER: issuer, OIDC_CLIENT_ID: 'earshot' })

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
      const server = Bun.serve({
        port: 0,
        hostname: '127.0.0.1',
        fetch: () => new Response('', { status: 404 }),
      })
      undo(() => server.stop(true))
      return openId(server.url.origin)
    },
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
