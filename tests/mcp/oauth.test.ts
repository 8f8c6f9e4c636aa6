/** The whole way of a coding agent to the tools: 401, metadata, registration, consent of the user, token, calls. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import { UnauthorizedError as OldUnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { newId } from '../../src/platform/ids.ts'
import { decide, REDIRECT, signedInVisitor } from '../support/oauth-client.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { newClient, oldClient, type ToolClient } from './support.ts'

let server: TestServer
let tenant: TestTenant
beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
})
afterAll(() => server?.stop())

/** What a client keeps, and the address to which it sends its user. */
function createProvider(scope?: string) {
  const kept: Record<string, unknown> = {}
  let sentTo: URL | null = null
  const keep =
    (name: string) =>
    (value: unknown): void => {
      kept[name] = value
    }
  return {
    redirectUrl: REDIRECT,
    clientMetadata: {
      client_name: 'Coding agent',
      redirect_uris: [REDIRECT],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      ...(scope === undefined ? {} : { scope }),
    },
    clientInformation: () => kept.client as never,
    saveClientInformation: keep('client'),
    tokens: () => kept.tokens as never,
    saveTokens: keep('tokens'),
    discoveryState: () => kept.discovery as never,
    saveDiscoveryState: keep('discovery'),
    codeVerifier: () => kept.verifier as string,
    saveCodeVerifier: keep('verifier'),
    redirectToAuthorization: (url: URL) => {
      sentTo = url
    },
    /** The signed-in user allows it. @returns what the client gets back */
    async allow(): Promise<URLSearchParams> {
      if (sentTo === null) throw new Error('the client sent its user nowhere')
      const link = await server.features.identity.createLink(tenant.userId)
      const visitor = await signedInVisitor(server.baseUrl, link)
      const back = await decide(visitor, server.baseUrl, `${sentTo.pathname}${sentTo.search}`)
      return back.searchParams
    },
    get scope() {
      return (kept.tokens as { scope?: string } | undefined)?.scope
    },
    get asked() {
      return sentTo?.searchParams
    },
  }
}

type Provider = ReturnType<typeof createProvider>
const INFO = { name: 'test', version: '1' }
const CAPABILITIES = { capabilities: { elicitation: {} } }

async function refused(connecting: Promise<unknown>, kind: new (...values: never[]) => Error): Promise<void> {
  const error = await connecting.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(kind)
}

const CONNECT = {
  async new(provider: Provider): Promise<ToolClient> {
    const url = new URL(`${server.baseUrl}/mcp`)
    const options = { ...CAPABILITIES, versionNegotiation: { mode: 'auto' as const } }
    const first = new StreamableHTTPClientTransport(url, { authProvider: provider })
    await refused(new Client(INFO, options).connect(first), UnauthorizedError)
    await first.finishAuth(await provider.allow())
    const second = new StreamableHTTPClientTransport(url, { authProvider: provider })
    return newClient(new Client(INFO, options), second, 'accept')
  },
  async old(provider: Provider): Promise<ToolClient> {
    const url = new URL(`${server.baseUrl}/mcp`)
    const first = new OldTransport(url, { authProvider: provider })
    await refused(new OldClient(INFO, CAPABILITIES).connect(first), OldUnauthorizedError)
    await first.finishAuth((await provider.allow()).get('code') ?? '')
    const second = new OldTransport(url, { authProvider: provider })
    return oldClient(new OldClient(INFO, CAPABILITIES), second, 'accept')
  },
}

describe.each(['new', 'old'] as const)('a client of the %s generation without a token', (generation) => {
  test('is led to a token by the 401, and then calls the tools', async () => {
    const provider = createProvider()
    const client = await CONNECT[generation](provider)
    try {
      expect(provider.asked?.get('resource')).toBe(`${server.baseUrl}/mcp`)
      expect(provider.scope?.split(' ').toSorted()).toEqual(
        expect.arrayContaining(['tools:read', 'tools:write']),
      )
      const name = newId()
      expect((await client.call('create-project', { name })).structured).toMatchObject({ name })
      expect(client.asked).toHaveLength(1)
    } finally {
      await client.close()
    }
  })
})
