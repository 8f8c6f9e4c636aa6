/** Names of settings are resolved as the machine does, names of customers by DNS only. The outbound policy judges the addresses of both. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { lookup } from 'node:dns/promises'
import { hostname } from 'node:os'
import { createSendOutbound } from '../../src/platform/net/outbound-request.ts'
import { createOutboundPolicy } from '../../src/platform/net/outbound-url.ts'
import { createResolve, createSystemResolve } from '../../src/platform/net/resolve.ts'
import { type DnsServer, startDns } from '../support/dns.ts'
import { CLIENT } from '../support/openid-provider.ts'
import { startTestServer } from '../support/server.ts'
import { createVisitor } from '../support/visitor.ts'

/** The machine knows its own name without DNS. */
const NAME = hostname().toLowerCase()
const addresses = await lookup(NAME, { all: true }).catch(() => [])
// The policy refuses names that end so.
const isKnown = addresses.length > 0 && !/\.(?:local|internal)$/.test(NAME)
const ALLOW = addresses.map(({ address, family }) => `${address}/${family === 4 ? 32 : 128}`)

let dns: DnsServer
let provider: Bun.Server<undefined>
beforeAll(async () => {
  dns = await startDns()
  provider = Bun.serve({
    port: 0,
    hostname: '::',
    fetch: () => {
      const issuer = `http://${NAME}:${provider.port}`
      const [authorization_endpoint, token_endpoint, jwks_uri] = ['a', 't', 'k'].map(
        (one) => `${issuer}/${one}`,
      )
      return Response.json({ issuer, authorization_endpoint, token_endpoint, jwks_uri })
    },
  })
})
afterAll(async () => {
  dns?.stop()
  await provider?.stop(true)
})

const request = { signal: new AbortController().signal, deadlineMs: 10_000, maxAnswerBytes: 1_000 }

test.skipIf(!isKnown)('a name that only the machine knows', async () => {
  const url = `http://${NAME}:${provider.port}/`
  const policy = createOutboundPolicy(ALLOW)
  const send = createSendOutbound({ policy, resolve: createSystemResolve() })
  expect((await send(url, request)).status).toBe(200)
  const ofCustomers = createSendOutbound({ policy, resolve: createResolve({ servers: [dns.address] }) })
  await expect(ofCustomers(url, request)).rejects.toMatchObject({ code: 'url_unreachable', retryable: false })
  const strict = createSendOutbound({ policy: createOutboundPolicy([]), resolve: createSystemResolve() })
  await expect(strict(url, request)).rejects.toMatchObject({ code: 'url_not_allowed' })
})

test('a name that nobody knows, and a request that ends', async () => {
  const send = createSendOutbound({ policy: createOutboundPolicy([]), resolve: createSystemResolve() })
  await expect(send('http://nothing.invalid/', request)).rejects.toMatchObject({ code: 'url_unreachable' })
  const reason = new Error('the service stops')
  const resolved = createSystemResolve()('nothing.invalid', AbortSignal.abort(reason))
  await expect(resolved).rejects.toBe(reason)
})

test.skipIf(!isKnown)(
  'people sign in with a provider that only the machine knows',
  async () => {
    const env = {
      ...CLIENT,
      PUBLIC_BASE_URL: 'http://earshot.localhost',
      OIDC_ISSUER: `http://${NAME}:${provider.port}`,
      OUTBOUND_ALLOW: ALLOW.join(','),
    }
    const server = await startTestServer({ env })
    try {
      const { status, location } = await createVisitor(server.baseUrl).get('/sign-in/openid')
      expect([status, location?.split('?')[0]]).toEqual([303, `${env.OIDC_ISSUER}/a`])
    } finally {
      await server.stop()
    }
  },
  120_000,
)
