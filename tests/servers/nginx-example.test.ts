/** The example of nginx, as docs/self-hosting.md recommends it: pages, uploads and streams under a path of another server. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { freePort } from '../crash/support/private-postgres.ts'
import { QUICK } from '../support/actors.ts'
import { openAgent, userMessage } from '../support/agents.ts'
import { openStream } from '../support/event-stream.ts'
import { eventually } from '../support/eventually.ts'
import { startNginxWith } from '../support/nginx.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { createTestUpload, noise } from '../support/uploads.ts'

const EXAMPLE = new URL('../../examples/nginx.conf', import.meta.url).pathname
const port = freePort()
const base = `http://127.0.0.1:${port}/earshot`

let server: TestServer
let nginx: Awaited<ReturnType<typeof startNginxWith>>

beforeAll(async () => {
  server = await startTestServer({
    actors: QUICK,
    env: { PUBLIC_BASE_URL: base, TRUSTED_PROXIES: '127.0.0.1/32' },
  })
  let text = readFileSync(EXAMPLE, 'utf8')
  for (const [from, to] of [
    ['listen 127.0.0.1:8080', `listen 127.0.0.1:${port}`],
    ['proxy_pass http://127.0.0.1:3000/;', `proxy_pass ${server.baseUrl}/;`],
  ] as const) {
    expect(text).toContain(from)
    text = text.replace(from, to)
  }
  nginx = await startNginxWith(text, base)
}, 300_000)
afterAll(async () => {
  await nginx?.stop()
  await server?.stop()
})

test('the sign-in page and what it loads are found under the path', async () => {
  const page = await fetch(`${base}/console`, { headers: { accept: 'text/html' } })
  expect(page.status).toBe(200)
  const html = await page.text()
  const found = [...html.matchAll(/(?:src|href)="([^"]+\.(?:js|css|svg|png|ico))"/g)].map(
    ([, path = '']) => path,
  )
  expect(found.length).toBeGreaterThan(1)
  for (const path of found) {
    const { status } = await fetch(new URL(path, page.url))
    expect([path, status]).toEqual([path, 200])
  }
})

test('a file that is larger than what nginx takes by default is uploaded by its URL', async () => {
  const tenant = await server.createTenant()
  const bytes = noise(3_000_001)
  const { uploadUrl } = await createTestUpload(server, tenant, { fileSize: bytes.length })
  expect(uploadUrl).toStartWith(`${base}/`)
  const { status } = await fetch(uploadUrl, { method: 'PUT', body: bytes })
  expect([200, 201, 204]).toContain(status)
})

test('an event arrives while the stream is open', async () => {
  const agent = await openAgent(server)
  const stream = await openStream(base, { apiKey: agent.tenant.apiKey })
  try {
    await eventually(async () => stream.all.length > 0)
    const { sessionId } = await agent.accept([userMessage(1)])
    await eventually(() => stream.events.some(({ data }) => data.sessionId === sessionId))
  } finally {
    await stream.close()
  }
})
