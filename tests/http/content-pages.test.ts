/** The pages of the website: list, page, 404, and the configured folder that replaces them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../../src/app/config.ts'
import { createContent } from '../../src/tell/content/service.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { expectProblem, standingOf } from '../support/website.ts'

let server: TestServer
const folder = mkdtempSync(join(tmpdir(), 'earshot-content-'))

beforeAll(async () => {
  server = await startTestServer({ env: { RATE_LIMIT_WEBSITE_READS: '300' } })
})
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const get = (path: string, headers = {}) => server.as('nobody').get(path, headers)

describe('GET /api/content', () => {
  test('lists every file of the folder content, with slug, title and description', async () => {
    const { status, body } = await get('/api/content')
    expect(status).toBe(200)
    const files = [...new Bun.Glob('*.md').scanSync({ cwd: join(import.meta.dir, '../../content') })]
    expect(body.data.map(({ slug }: { slug: string }) => `${slug}.md`).sort()).toEqual(files.sort())
    for (const page of body.data) {
      expect(Object.keys(page)).toEqual(['slug', 'title', 'description'])
      expect(Object.values(page).every((value) => typeof value === 'string' && value !== '')).toBe(true)
    }
    expect(body.data[0].slug).toBe('about')
  })

  test('is counted as a read, under the version of the API', async () => {
    const { headers } = await get('/api/content')
    expect(headers.get('api-version')).toBe('1')
    expect(standingOf(headers)).toMatchObject({ policy: 'reads', limit: 300 })
    expectProblem(
      await get('/api/content', { 'api-version': '99' }),
      400,
      'unsupported_api_version',
      '/api/content',
    )
  })

  test('400 for an unknown parameter', async () => {
    expectProblem(await get('/api/content?page=1'), 400, 'unknown_member', '/api/content')
  })

  test('405 for another method', async () => {
    const answer = await server.as('nobody').post('/api/content', {})
    expectProblem(answer, 405, 'method_not_allowed', '/api/content')
    expect(answer.headers.get('allow')).toBe('GET, HEAD')
  })
})

describe('GET /api/content/{slug}', () => {
  test('returns every listed page with its text, without front matter', async () => {
    for (const page of (await get('/api/content')).body.data) {
      const { status, body } = await get(`/api/content/${page.slug}`)
      expect([status, body]).toEqual([200, { ...page, markdown: expect.any(String) }])
      expect(body.markdown).toStartWith(`# ${page.title}\n\n`)
      expect(body.markdown).not.toContain('description:')
    }
  })

  test.each(['unknown', 'About', '%2e%2e%2fpackage', 'about.md', '__proto__', '%00'])(
    '404 page_not_found for %s',
    async (slug) => {
      expectProblem(await get(`/api/content/${slug}`), 404, 'page_not_found', `/api/content/${slug}`)
    },
  )

  test('HEAD responds like GET, without a body', async () => {
    const response = await fetch(`${server.baseUrl}/api/content/about`, { method: 'HEAD' })
    expect([response.status, await response.text()]).toEqual([200, ''])
    expect(response.headers.get('api-version')).toBe('1')
  })
})

describe('CONTENT_DIR', () => {
  const contentOf = (name: string, files: Readonly<Record<string, string | Uint8Array>>) => {
    const path = join(folder, name)
    mkdirSync(path)
    for (const [file, source] of Object.entries(files)) writeFileSync(join(path, file), source)
    return createContent({ config: loadConfig({ CONTENT_DIR: path }) })
  }
  const PAGE = '---\ntitle: Prices\ndescription: What it costs.\n---\nA horse costs 10 crowns.'

  test('replaces the embedded pages, also for the assistant', async () => {
    contentOf('good', { 'prices.md': PAGE, 'notes.txt': 'no page' })
    const own = await startTestServer({ env: { CONTENT_DIR: join(folder, 'good') } })
    try {
      const client = own.as('nobody')
      expect((await client.get('/api/content')).body.data).toEqual([
        { slug: 'prices', title: 'Prices', description: 'What it costs.' },
      ])
      expect((await client.get('/api/content/about')).status).toBe(404)
      const { body } = await client.post('/api/assistant', { question: 'How much is a horse?' })
      expect(body).toEqual({
        answer: 'A horse costs 10 crowns.',
        sources: [{ slug: 'prices', title: 'Prices', excerpt: 'A horse costs 10 crowns.' }],
      })
    } finally {
      await own.stop()
    }
  })

  test.each([
    ['without pages', {}, 'has no files that end with .md'],
    ['with a page without front matter', { 'a.md': '# Text' }, 'a.md must begin with front matter'],
    ['with a page that is not UTF-8', { 'a.md': new Uint8Array([0xff, 0xfe]) }, 'CONTENT_DIR is'],
  ])('%s ends the start with one line that says so', (name, files, message) => {
    const content = contentOf(name, files)
    expect(() => content.pages()).toThrow(message)
    expect(() => content.pages()).toThrow(/^CONTENT_DIR is "[^\n]+$/)
  })

  test('that does not exist ends the start', () => {
    const content = createContent({ config: loadConfig({ CONTENT_DIR: join(folder, 'missing') }) })
    expect(() => content.pages()).toThrow('CONTENT_DIR is')
  })
})
