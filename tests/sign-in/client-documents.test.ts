/** Clients whose id is the address of a document about them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Provider } from 'oidc-provider'
import { createSendOutbound } from '../../src/platform/net/outbound-request.ts'
import { createOutboundPolicy } from '../../src/platform/net/outbound-url.ts'
import { createFetchDocument } from '../../src/sign-in/oauth/documents.ts'
import { callNode } from '../../src/sign-in/oauth/node-bridge.ts'
import { createProvider } from '../../src/sign-in/oauth/provider.ts'
import { authorizePath, newProof, REDIRECT } from '../support/oauth-client.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const ID = 'https://agent.example/client.json'
const DOCUMENT = { client_id: ID, client_name: 'Agent', redirect_uris: [REDIRECT] }

let documents: ReturnType<typeof Bun.serve>
let served: { status: number; body: string }
let server: TestServer
let provider: Provider
let asked: string[]

beforeAll(async () => {
  documents = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => new Response(served.body, { status: served.status }),
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
})
