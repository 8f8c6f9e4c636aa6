/** Names of settings are resolved as the machine does, names of customers by DNS only. The outbound policy judges the addresses of both. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { lookup } from 'node:dns/promises'
import { hostname } from 'node:os'
import { createFetchPublic } from '../../src/platform/net/fetch-public.ts'
import { toOperatorServers } from '../../src/platform/net/operator-servers.ts'
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
const isKnown = addresses.length > 0
const ALLOW = addresses.map(({ address, family }) => `${address}/${family === 4 ? 32 : 128}`)

let dns: DnsServer
let issuer = ''
let provider: Bun.Server<undefined>
beforeAll(async () => {
  dns = await startDns()
  provider = Bun.serve({
    port: 0,
    hostname: '::',
    fetch: () => {
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
  const send = createSendOutbound(toOperatorServers(policy))
  expect((await send(url, request)).status).toBe(200)
  const ofCustomers = createSendOutbound({ policy, resolve: createResolve({ servers: [dns.address] }) })
  // A name such as that of a Mac is refused before it is looked for.
  const code = /\.(?:local|internal)$/.test(NAME) ? 'url_not_allowed' : 'url_unreachable'
  await expect(ofCustomers(url, request)).rejects.toMatchObject({ code, retryable: false })
  const strict = createSendOutbound(toOperatorServers(createOutboundPolicy([])))
  await expect(strict(url, request)).rejects.toMatchObject({ code: 'url_not_allowed' })
})

test('localhost is for settings, where its address is allowed, and not for customers', async () => {
  const url = `http://localhost:${provider.port}/`
  const policy = createOutboundPolicy(['127.0.0.1/32', '::1/128'])
  const refusal = { code: 'url_not_allowed' }
  expect((await createSendOutbound(toOperatorServers(policy))(url, request)).status).toBe(200)
  const fetched = await createFetchPublic(toOperatorServers(policy))(url, { ...request, maxBytes: 1_000 })
  expect(fetched.status).toBe(200)
  await fetched.close()
  const strict = createSendOutbound(toOperatorServers(createOutboundPolicy([])))
  await expect(strict(url, request)).rejects.toMatchObject({
    ...refusal,
    message: 'localhost has a private or reserved address',
  })
  await expect(createSendOutbound({ policy })(url, request)).rejects.toMatchObject({
    ...refusal,
    message: 'url: must not name a local host',
  })
})

test('a name that nobody knows, and a request that ends', async () => {
  const send = createSendOutbound(toOperatorServers(createOutboundPolicy([])))
  await expect(send('http://nothing.invalid/', request)).rejects.toMatchObject({ code: 'url_unreachable' })
  const reason = new Error('the service stops')
  const resolved = createSystemResolve()('nothing.invalid', AbortSignal.abort(reason))
  await expect(resolved).rejects.toBe(reason)
})

test.each(isKnown ? [NAME, 'localhost'] : ['localhost'])(
  'people sign in with a provider that only the machine knows: %s',
  async (name) => {
    issuer = `http://${name}:${provider.port}`
    const env = {
      ...CLIENT,
      PUBLIC_BASE_URL: 'http://earshot.localhost',
      OIDC_ISSUER: issuer,
      OUTBOUND_ALLOW: [...ALLOW, '127.0.0.1/32', '::1/128'].join(','),
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
