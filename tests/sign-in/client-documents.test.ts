/** Clients whose id is the address of a document about them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Provider } from 'oidc-provider'
import { createFetchDocument } from '../../src/access/sign-in/oauth/documents.ts'
import { callNode } from '../../src/access/sign-in/oauth/node-bridge.ts'
import { createProvider } from '../../src/access/sign-in/oauth/provider.ts'
import { createSendOutbound } from '../../src/platform/net/outbound-request.ts'
import { createOutboundPolicy } from '../../src/platform/net/outbound-url.ts'
import { authorizePath, newProof, REDIRECT, registered } from '../support/oauth-client.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const ID = 'https://agent.example/client.json'
const DOCUMENT = { client_id: ID, client_name: 'Agent', redirect_uris: [REDIRECT] }

let requests = 0
let documents: ReturnType<typeof Bun.serve>
let served: { status: number; body: string }
let server: TestServer
let provider: Provider
let asked: string[]
let allowed: number

beforeAll(async () => {
  documents = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => {
      requests++
      return new Response(served.body, { status: served.status })
    },
  })
  server = await startTestServer()
})
afterAll(async () => {
  await server?.stop()
  await documents?.stop(true)
})

/** A new server, which has cached no document. The names of the documents lead to the server of this test. */
async function authorize(document: unknown, change: Record<string, string> = {}, id = ID) {
  served = { status: 200, body: typeof document === 'string' ? document : JSON.stringify(document) }
  asked = []
  allowed = 0
  const fetchDocument = createFetchDocument(
    createSendOutbound({ policy: createOutboundPolicy(['127.0.0.0/8']) }),
  )
  const { config, log } = server.deps
  const deps = {
    config,
    log,
    identity: server.features.identity,
    fetchDocument: (url: string) => {
      asked.push(url)
      return fetchDocument(`http://127.0.0.1:${documents.port}/`)
    },
    mayFetch: async () => {
      allowed++
      return true
    },
  }
  provider = await createProvider(deps, 'https://earshot.example')
  const url = authorizePath(id, newProof().challenge, change)
  const headers = { host: 'earshot.example', accept: 'text/html' }
  const request = { method: 'GET', url, originalUrl: url, headers, body: null, isSecure: true }
  const response = await callNode(provider.callback(), request)
  return { status: response.status, location: response.headers.get('location') }
}

describe('the document of a client', () => {
  test('is fetched, and the user is asked', async () => {
    const { status, location } = await authorize(DOCUMENT)
    expect([status, location]).toEqual([303, expect.stringContaining('/oauth/interaction/')])
    expect(asked).toEqual([ID])
    const client = await provider.Client.find(ID)
    expect(client).toMatchObject({ clientName: 'Agent', clientAuthMethod: 'none', applicationType: 'native' })
  })

  test.each([
    ['that is about another client', { ...DOCUMENT, client_id: 'https://agent.example/other.json' }],
    ['without redirect_uris', { ...DOCUMENT, redirect_uris: undefined }],
    ['with http for another host', { ...DOCUMENT, redirect_uris: ['http://evil.example/'] }],
    ['with a script as redirect_uri', { ...DOCUMENT, redirect_uris: ['javascript:alert(1)'] }],
    [
      'of a client that wants to prove itself',
      { ...DOCUMENT, token_endpoint_auth_method: 'private_key_jwt' },
    ],
    ['of a client with a secret', { ...DOCUMENT, token_endpoint_auth_method: 'client_secret_basic' }],
    ['that is no JSON', 'hello'],
    ['that is a list', '[]'],
    ['that is too large', JSON.stringify({ ...DOCUMENT, padding: 'x'.repeat(40_000) })],
  ])('%s is refused without a redirect', async (_, document) => {
    const { status, location } = await authorize(document)
    expect([status, location]).toEqual([400, null])
  })

  test('must name the redirect_uri', async () => {
    const { status, location } = await authorize(DOCUMENT, { redirect_uri: 'https://evil.example/' })
    expect([status, location]).toEqual([400, null])
  })

  test.each([
    'http://agent.example/client.json',
    'https://user@agent.example/client.json',
    'https://agent.example/a/../b',
  ])('is not fetched from %s', async (id) => {
    expect((await authorize({ ...DOCUMENT, client_id: id }, {}, id)).status).toBe(400)
    expect(asked).toEqual([])
  })

  test('is not fetched from a private address, whatever its name', async () => {
    const fetchDocument = createFetchDocument(createSendOutbound({ policy: createOutboundPolicy([]) }))
    for (const url of [
      `https://127.0.0.1:${documents.port}/x`,
      'https://localhost/x',
      'https://169.254.169.254/x',
    ]) {
      const outcome = await fetchDocument(url).then(
        () => 'fetched',
        (error: { readonly code?: unknown }) => error.code,
      )
      expect(outcome).toBe('url_not_allowed')
    }
  })

  test('is fetched once while it is fresh, and only that counts', async () => {
    await authorize(DOCUMENT)
    await provider.Client.find(ID)
    expect([allowed, asked]).toEqual([1, [ID]])
  })

  test.each([
    ['a failure', 404, 'no'],
    ['a text that is no JSON', 200, 'no'],
    ['a document about another client', 200, JSON.stringify({ ...DOCUMENT, client_id: 'https://x.example' })],
  ])('%s is remembered', async (_, status, body) => {
    served = { status, body }
    const policy = createOutboundPolicy(['127.0.0.0/8'])
    const fetchDocument = createFetchDocument(createSendOutbound({ policy }))
    const url = `http://127.0.0.1:${documents.port}/${crypto.randomUUID()}`
    const before = requests
    const fetched = () =>
      fetchDocument(url).then(
        (response) => response.status,
        () => 'failed',
      )
    const outcomes = [...(await Promise.all([fetched(), fetched()])), await fetched()]
    expect(new Set(outcomes).size).toBe(1)
    expect(requests - before).toBe(1)
  })
})

describe('a request of anybody', () => {
  let connections = 0
  let listener: Bun.TCPSocketListener<undefined>

  beforeAll(() => {
    const socket = {
      open(opened: { end(): void }) {
        connections++
        opened.end()
      },
      data() {},
    }
    listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket })
  })
  afterAll(() => listener?.stop(true))

  const idOf = (name: string) => `https://127.0.0.1:${listener.port}/${name}`
  const env = { OUTBOUND_ALLOW: '127.0.0.0/8', PUBLIC_BASE_URL: 'https://earshot.example' }
  const ask = (to: TestServer, path: string, fields: Record<string, string>, headers = {}) =>
    fetch(`${to.baseUrl}${path}`, { method: 'POST', body: new URLSearchParams(fields), headers })

  test('for a token or a revocation opens one connection, however often it is repeated', async () => {
    const open = await startTestServer({ beside: server, env })
    try {
      connections = 0
      for (let sent = 0; sent < 5; sent++)
        for (const path of ['/oauth/token', '/oauth/revoke']) {
          const fields = {
            client_id: idOf('same'),
            grant_type: 'refresh_token',
            refresh_token: 'x',
            token: 'x',
          }
          expect((await ask(open, path, fields)).status).toBe(400)
        }
      expect(connections).toBe(1)
    } finally {
      await open.stop()
    }
  })

  test('is limited by client address as long as a document must be fetched', async () => {
    const limited = await startTestServer({ beside: server, env: { ...env, RATE_LIMIT_SIGN_IN: '3' } })
    try {
      connections = 0
      const client_id = await registered(limited.baseUrl)
      const named = { grant_type: 'refresh_token', refresh_token: 'x', token: 'x' }
      const basic = { authorization: `Basic ${btoa(`${encodeURIComponent(idOf('basic'))}:x`)}` }
      const answers = [
        await ask(limited, '/oauth/token', { ...named, client_id: idOf('a') }),
        await ask(limited, '/oauth/revoke', { ...named, client_id: idOf('b') }),
        await ask(limited, '/oauth/token', { ...named, client_id: idOf('c') }),
        await ask(limited, '/oauth/revoke', { ...named, client_id: idOf('d') }),
        await ask(limited, '/oauth/token', named, basic),
      ]
      expect(answers.map(({ status }) => status)).toEqual([400, 400, 429, 429, 429])
      expect(connections).toBe(2)
      const [, , refused] = answers
      expect(await refused?.json()).toEqual({ error: 'temporarily_unavailable' })
      expect(Number(refused?.headers.get('retry-after'))).toBeWithin(1, 61)
      expect(refused?.headers.get('access-control-allow-origin')).toBe('*')
      expect((await ask(limited, '/oauth/token', { ...named, client_id })).status).toBe(400)
    } finally {
      await limited.stop()
    }
  })

  test('for an authorization counts once', async () => {
    const limited = await startTestServer({ beside: server, env: { ...env, RATE_LIMIT_SIGN_IN: '2' } })
    try {
      const statuses = []
      for (const name of ['e', 'f', 'g']) {
        const path = authorizePath(idOf(name), newProof().challenge)
        statuses.push((await fetch(`${limited.baseUrl}${path}`, { redirect: 'manual' })).status)
      }
      expect(statuses).toEqual([400, 400, 429])
    } finally {
      await limited.stop()
    }
  })
})
