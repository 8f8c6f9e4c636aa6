/**
 * `GET /api`, the API catalogue (RFC 9727, a linkset of RFC 9264) and `/llms.txt` match the mounted routes and contain
 * no dead link.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { startTestServer, type TestServer } from '../support/server.ts'
import { standingOf } from '../support/website.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ env: { RATE_LIMIT_WEBSITE_READS: '300' } })
})
afterAll(() => server?.stop())

const read = (path: string, init?: RequestInit) => fetch(`${server.baseUrl}${path}`, init)
const discover = async () => (await server.as('nobody').get('/api')).body

async function expectLive(urls: readonly string[]): Promise<void> {
  expect(urls.length).toBeGreaterThan(0)
  for (const url of urls) {
    expect(url).toStartWith(`${server.baseUrl}/`)
    const response = await fetch(url)
    await response.arrayBuffer()
    expect([url, response.status]).toEqual([url, 200])
  }
}

describe('GET /api', () => {
  test('lists every operation of the website API with its limit, including itself', async () => {
    const { operations } = await discover()
    const mounted = server.features.website.map(({ id, method, path, summary, limit }) => ({
      id,
      method,
      url: `${server.baseUrl}${path}`,
      summary,
      limit,
    }))
    expect(operations).toEqual(mounted)
    expect(operations.map(({ id }: { id: string }) => id)).toEqual(
      expect.arrayContaining(['discover', 'contact', 'csdemo', 'listContent', 'getContent', 'askAssistant']),
    )
  })

  test('lists the versions, of which exactly one is current', async () => {
    const { versions } = await discover()
    expect(versions.filter(({ status }: { status: string }) => status === 'current')).toEqual([
      { version: '1', status: 'current', released: '2026-01-01' },
    ])
  })

  test('has no dead link', async () => {
    const { links } = await discover()
    await expectLive(Object.values(links))
  })

  test('has operations that answer at their URLs', async () => {
    const { operations } = await discover()
    for (const { url, method } of operations) {
      const path = url.replace('{slug}', 'about')
      const response = await fetch(path, { method: method === 'GET' ? 'GET' : 'OPTIONS' })
      await response.arrayBuffer()
      if (method === 'GET') expect([url, response.status]).toEqual([url, 200])
      else expect([url, response.headers.get('allow')]).toEqual([url, method])
    }
  })

  test('is counted as a read', async () => {
    const { headers } = await read('/api')
    expect(standingOf(headers).policy).toBe('reads')
    expect(headers.get('api-version')).toBe('1')
  })
})

/** RFC 9264 section 4.2: link context objects whose members, but for `anchor`, are relation types with target objects. */
const Target = Type.Object({
  href: Type.String({ minLength: 1 }),
  type: Type.Optional(Type.String({ pattern: '^[\\w.+-]+/[\\w.+-]+' })),
  title: Type.Optional(Type.String()),
  hreflang: Type.Optional(Type.Array(Type.String())),
})
const relation = (schema: TSchema) => Type.Optional(Type.Array(schema, { minItems: 1 }))
const Linkset = Type.Object(
  {
    linkset: Type.Array(
      Type.Object(
        {
          anchor: Type.String({ minLength: 1 }),
          item: relation(Target),
          'service-desc': relation(Target),
          'service-doc': relation(Target),
          'service-meta': relation(Target),
          status: relation(Target),
        },
        { additionalProperties: false },
      ),
      { minItems: 1 },
    ),
  },
  { additionalProperties: false },
)

describe('/.well-known/api-catalog', () => {
  const catalog = async () => (await read('/.well-known/api-catalog')).json()

  test('is a linkset of the profile of RFC 9727', async () => {
    const response = await read('/.well-known/api-catalog')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe(
      'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
    )
    expect([...Value.Errors(Linkset, await response.json())]).toEqual([])
  })

  test('links both APIs to their description, documentation and status', async () => {
    const { linkset } = (await catalog()) as { linkset: Record<string, unknown>[] }
    for (const path of ['/api', '/v3/rest']) {
      const context = linkset.find(({ anchor }) => anchor === `${server.baseUrl}${path}`)
      expect(context).toMatchObject({
        'service-desc': [{ href: `${server.baseUrl}/openapi.json` }],
        'service-doc': [{ href: `${server.baseUrl}/docs` }],
        status: [{ href: `${server.baseUrl}/health` }],
      })
    }
  })

  test('has no dead link, and its targets have the stated types', async () => {
    const { linkset } = (await catalog()) as { linkset: Record<string, unknown>[] }
    const targets = linkset.flatMap(({ anchor: _, ...relations }) =>
      Object.values(relations).flatMap((list) => list as { href: string; type: string }[]),
    )
    await expectLive(targets.map(({ href }) => href))
    for (const { href, type } of targets) {
      const response = await fetch(href)
      await response.arrayBuffer()
      expect(response.headers.get('content-type')).toStartWith(type)
    }
  })

  test('HEAD answers with the links in a header (RFC 9727 section 2)', async () => {
    const response = await read('/.well-known/api-catalog', { method: 'HEAD' })
    expect([response.status, await response.text()]).toEqual([200, ''])
    const link = response.headers.get('link') ?? ''
    expect(link).toContain(`<${server.baseUrl}/.well-known/api-catalog>; rel="api-catalog"`)
    await expectLive([...link.matchAll(/<([^>]+)>/g)].map(([, url = '']) => url))
  })
})

describe('/llms.txt', () => {
  test('has one title, a summary and lists of links, as llmstxt.org specifies', async () => {
    const response = await read('/llms.txt')
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/plain; charset=utf-8',
    ])
    const text = await response.text()
    expect(text).toMatch(/^# \S[^\n]*\n\n> \S[^\n]*\n/)
    expect(text.match(/^# /gm)).toHaveLength(1)
    for (const section of text.split(/^## .*$/m).slice(1))
      for (const line of section.trim().split('\n')) expect(line).toMatch(/^- \[[^\]]+\]\(\S+\): \S/)
  })

  test('lists every page and the API, without a dead link', async () => {
    const text = await (await read('/llms.txt')).text()
    const urls = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, url = '']) => url)
    await expectLive(urls)
    const pages = (await server.as('nobody').get('/api/content')).body.data
    for (const { slug } of pages) expect(urls).toContain(`${server.baseUrl}/api/content/${slug}`)
    expect(urls).toContain(`${server.baseUrl}/openapi.json`)
  })
})

test('with PUBLIC_BASE_URL every URL starts with it, prefix included, whatever Host says', async () => {
  const base = 'https://voice.example.com/earshot'
  const own = await startTestServer({ env: { PUBLIC_BASE_URL: base } })
  try {
    for (const path of ['/api', '/.well-known/api-catalog', '/llms.txt']) {
      const response = await fetch(`${own.baseUrl}${path}`, { headers: { host: 'evil.example' } })
      const urls = (await response.text()).match(/\bhttps?:\/\/[^\s")]+/g) ?? []
      expect(urls.length).toBeGreaterThan(3)
      for (const url of urls) expect(url).toStartWith(`${base}/`)
    }
  } finally {
    await own.stop()
  }
})
