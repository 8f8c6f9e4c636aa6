/** The library of the authorization server matches addresses leniently. Only the addresses of the metadata lead to it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { authorizePath, newProof, register, registered } from '../support/oauth-client.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server?.stop())

/** Sends the path as it stands: `fetch` would resolve dots. @returns the head of the response */
function send(method: string, path: string, body = ''): Promise<string> {
  const { hostname, port } = new URL(server.baseUrl)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const socket = connect(Number(port), hostname)
  let answer = ''
  socket.on('data', (data) => {
    answer += data
  })
  socket.on('end', () => resolve(answer.split('\r\n\r\n', 1)[0] ?? ''))
  socket.on('error', reject)
  const head = [`${method} ${path} HTTP/1.1`, `host: ${hostname}:${port}`, 'connection: close']
  const type = ['content-type: application/json', `content-length: ${body.length}`]
  socket.write([...head, ...type, '', body].join('\r\n'))
  return promise
}

const statusOf = (head: string) => Number(head.split(' ', 2)[1])

/** What a lenient router could take for `/oauth/register`. Bun itself resolves dots before anything else sees the path. */
function variantsOf(path: string): readonly string[] {
  const [, first = '', second = ''] = path.split('/')
  const escaped = (text: string) => `%${text.charCodeAt(0).toString(16)}${text.slice(1)}`
  return [
    path.toUpperCase(),
    `/${first.toUpperCase()}/${second}`,
    `/${first}/${second.toUpperCase()}`,
    `/${first}/${second.toUpperCase()}/`,
    `/${first}/${second[0]?.toUpperCase()}${second.slice(1)}`,
    `/${first}/${escaped(second)}`,
    `/${first}/${escaped(second.toUpperCase())}`,
    `/${first}%2f${second}`,
    `/${first}//${second}`,
    `//${first}/${second}`,
    `/${first}/x/../${second.toUpperCase()}`,
    `/${first}/${second}//`,
    `/${first}/${second}%20`,
    `/${first}/${second};x`,
  ]
}

test.each(variantsOf('/oauth/register'))('POST %s registers no client', async (path) => {
  const metadata = { redirect_uris: ['http://evil.example/'], application_type: 'web' }
  const secret = { token_endpoint_auth_method: 'client_secret_basic' }
  expect(statusOf(await send('POST', path, JSON.stringify({ ...metadata, ...secret })))).toBe(404)
  expect(await server.database.sql`select 1 from oauth_record where kind = 'Client'`).toHaveLength(0)
})

test.each(variantsOf('/oauth/authorize'))('GET %s starts no authorization', async (path) => {
  const query = authorizePath('unknown', newProof().challenge).split('?')[1]
  const head = await send('GET', `${path}?${query}`)
  expect([statusOf(head), /\nlocation:/i.test(head)]).toEqual([404, false])
})

test.each(['/oauth/token', '/oauth/revoke', '/oauth/jwks'].flatMap(variantsOf))(
  '%s does not exist',
  async (path) => {
    expect(statusOf(await send('GET', path))).toBe(404)
    expect(statusOf(await send('POST', path))).toBe(404)
  },
)

test.each([
  ['POST', '/oauth/authorize'],
  ['GET', '/oauth/register'],
  ['GET', '/oauth/register/unknown'],
  ['PUT', '/oauth/register/unknown'],
  ['GET', '/oauth/token'],
  ['GET', '/oauth/revoke'],
  ['POST', '/oauth/jwks'],
  ['POST', '/oauth/end-session/confirm'],
  ['GET', '/oauth/end-session'],
  ['GET', '/oauth/authorize/x/y'],
  ['GET', '/oauth/authorize/%2e%2e'],
  ['POST', '/oauth/authorize/x'],
  ['GET', '/oauth/interaction'],
  ['GET', '/oauth/other'],
  ['GET', '/oauth/'],
])('%s %s does not exist', async (method, path) => {
  expect(statusOf(await send(method, path))).toBe(404)
})

test('HEAD is limited like GET', async () => {
  const env = { RATE_LIMIT_SIGN_IN: '2', PUBLIC_BASE_URL: 'https://earshot.example' }
  const limited = await startTestServer({ beside: server, env })
  try {
    const path = authorizePath('unknown', newProof().challenge)
    const statuses = []
    for (let sent = 0; sent < 3; sent++)
      statuses.push((await fetch(`${limited.baseUrl}${path}`, { method: 'HEAD' })).status)
    expect(statuses).toEqual([400, 400, 429])
  } finally {
    await limited.stop()
  }
})

test('a trailing slash changes neither the limit nor what is stored', async () => {
  const limited = await startTestServer({
    env: { RATE_LIMIT_SIGN_IN: '2', PUBLIC_BASE_URL: 'https://a.example' },
  })
  try {
    const statuses = []
    for (let sent = 0; sent < 3; sent++) {
      const body = JSON.stringify({
        redirect_uris: ['http://127.0.0.1/'],
        token_endpoint_auth_method: 'client_secret_basic',
      })
      const headers = { 'content-type': 'application/json' }
      statuses.push(
        (await fetch(`${limited.baseUrl}/oauth/register/`, { method: 'POST', headers, body })).status,
      )
    }
    expect(statuses).toEqual([201, 201, 429])
    const rows = await limited.database.sql`select 1 from oauth_record where payload ? 'client_secret'`
    expect(rows).toHaveLength(0)
  } finally {
    await limited.stop()
  }
})

test('the addresses of the metadata work, with preflights of browsers', async () => {
  const client_id = await registered(server.baseUrl)
  expect((await register(server.baseUrl)).status).toBe(201)
  for (const path of ['/oauth/token', '/oauth/revoke']) {
    const preflight = await fetch(`${server.baseUrl}${path}`, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
    })
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([
      204,
      'https://app.example',
    ])
    const answer = await fetch(`${server.baseUrl}${path}`, {
      method: 'POST',
      headers: { origin: 'https://app.example' },
      body: new URLSearchParams({ client_id, grant_type: 'refresh_token', refresh_token: 'x', token: 'x' }),
    })
    expect(answer.status).toBe(path === '/oauth/token' ? 400 : 200)
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://app.example')
  }
  const keys = (await (await fetch(`${server.baseUrl}/oauth/jwks`)).json()) as { readonly keys: unknown[] }
  expect(keys.keys).toHaveLength(1)
})
