/** The console as HTTP sees it: where it stands, what the browser may load, and how large the first page is. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startTestServer, type TestServer } from '../support/server.ts'

/** Compressed bytes of the first page: its HTML, script and style sheet. */
const LARGEST_FIRST_PAGE = 100_000

let server: TestServer
let behindProxy: TestServer

beforeAll(async () => {
  server = await startTestServer()
  behindProxy = await startTestServer({
    beside: server,
    env: { PUBLIC_BASE_URL: 'https://earshot.example/voice' },
  })
})
afterAll(async () => {
  await behindProxy?.stop()
  await server?.stop()
})

const get = (path: string, headers: Record<string, string> = {}, from = server) =>
  fetch(`${from.baseUrl}${path}`, { headers, redirect: 'manual' })

/** The files that the page names. */
async function filesOf(from: TestServer): Promise<readonly string[]> {
  const html = await (await get('/console', {}, from)).text()
  return [...html.matchAll(/(?:src|href)="([^"]*\/assets\/[^"]+)"/g)].map(([, path = '']) => path)
}

test('/ leads a browser to the console, and tells other clients where things are', async () => {
  const browser = await get('/', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' })
  expect([browser.status, browser.headers.get('location')]).toEqual([303, '/console'])
  const client = await get('/', { accept: 'application/json' })
  expect(await client.json()).toMatchObject({
    console: '/console',
    documentation: '/docs',
    openapi: '/openapi.json',
  })
})

describe('the page', () => {
  test('is the same at every address of the console, and loads scripts and styles from this service only', async () => {
    const [first, deep] = await Promise.all([get('/console'), get('/console/conversations/any')])
    expect([first.status, deep.status]).toEqual([200, 200])
    expect(await first.text()).toBe(await deep.text())
    const policy = first.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("script-src 'self';")
    expect(policy).toContain("style-src 'self';")
    expect(policy).not.toContain('unsafe')
  })

  test('names its files with hashes, so that browsers keep them, and they are small', async () => {
    const files = await filesOf(server)
    expect(files.map((path) => path.split('.').at(-1)).sort()).toEqual(['css', 'js'])
    let size = (await (await get('/console')).arrayBuffer()).byteLength
    for (const path of files) {
      const response = await fetch(`${server.baseUrl}${path}`, {
        headers: { 'accept-encoding': 'gzip' },
        decompress: false,
      })
      expect(response.headers.get('content-encoding')).toBe('gzip')
      expect(response.headers.get('cache-control')).toContain('immutable')
      size += (await response.arrayBuffer()).byteLength
    }
    expect(size).toBeLessThan(LARGEST_FIRST_PAGE)
    expect(size).toBeGreaterThan(5_000)
  })

  test('works below the path of PUBLIC_BASE_URL', async () => {
    const files = await filesOf(behindProxy)
    expect(files).toHaveLength(2)
    expect(files.every((path) => path.startsWith('/voice/console/assets/'))).toBe(true)
    const response = await get('/', { accept: 'text/html' }, behindProxy)
    expect(response.headers.get('location')).toBe('/voice/console')
  })
})

test('an unknown file is 404, and a page takes no other method', async () => {
  expect((await get('/console/assets/none.js')).status).toBe(404)
  expect((await fetch(`${server.baseUrl}/console`, { method: 'POST' })).status).toBe(405)
})
