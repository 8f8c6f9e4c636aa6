/**
 * Playback of completed media over HTTP, by the URLs of the recording and of the list, from the folder of a real
 * service.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { createApp } from '../../src/app/app.ts'
import type { ServiceDeps } from '../../src/app/container.ts'
import { eventually } from '../support/eventually.ts'
import { createRecording, RECORDINGS } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

const CONTENT = '0123456789'

describe('playback of a recording', () => {
  let server: TestServer
  let key: Client
  let organizationId: string
  let apiKey: string
  beforeAll(async () => {
    server = await startTestServer()
    const tenant = await server.createTenant()
    organizationId = tenant.organizationId
    apiKey = tenant.apiKey
    key = server.as({ apiKey: tenant.apiKey })
  })
  afterAll(() => server.stop())

  /** A recording whose media is where its actor would have left it. */
  const withMedia = async (status = 'completed', displayName: string | null = 'Call: Ada/Grace') => {
    const { id } = await createRecording(key, { assetUrl: 'https://media.example.com/a.mp3', displayName })
    const objectKey = `recordings/${id}/1/source`
    const file = join(server.deps.config.dataDir, `${id}.mp3`)
    writeFileSync(file, CONTENT)
    const signal = new AbortController().signal
    await server.deps.storage.putFile(objectKey, file, { contentType: 'audio/mpeg', signal })
    await server.deps.sql`
      update recording
      set asset_status = ${status}, asset_object_key = ${objectKey}, asset_content_type = 'audio/mpeg'
      where organization_id = ${organizationId}
        and id = ${id}`
    return id as string
  }
  const assetOf = async (id: string) => (await key.get(`${RECORDINGS}/${id}`)).body.asset
  const itemOf = async (id: string) => {
    const { body } = await key.get(RECORDINGS)
    return body.data.find((item: { id: string }) => item.id === id)
  }

  test('asset.url plays completed media without a credential, under the recording name', async () => {
    const { url, urlExpiresAt } = await assetOf(await withMedia())
    expect(url).toStartWith(`${server.baseUrl}/media/`)
    const left = Date.parse(urlExpiresAt) - Date.now()
    expect(left).toBeGreaterThan(60 * 60 * 1_000)
    expect(left).toBeLessThanOrEqual(6 * 60 * 60 * 1_000)
    const answer = await fetch(url)
    expect([answer.status, await answer.text()]).toEqual([200, CONTENT])
    expect(answer.headers.get('content-type')).toBe('audio/mpeg')
    expect(answer.headers.get('content-disposition')).toContain('filename="Call Ada Grace.mp3"')
    expect(answer.headers.get('accept-ranges')).toBe('bytes')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  })

  test('Range gets 206, and HEAD gets only the headers', async () => {
    const { url } = await assetOf(await withMedia())
    const part = await fetch(url, { headers: { range: 'bytes=3-5' } })
    expect([part.status, await part.text(), part.headers.get('content-range')]).toEqual([
      206,
      '345',
      'bytes 3-5/10',
    ])
    expect(part.headers.get('access-control-allow-origin')).toBe('*')
    const head = await fetch(url, { method: 'HEAD' })
    expect([head.status, await head.text(), head.headers.get('content-length')]).toEqual([200, '', '10'])
  })

  test('the log records what was sent: parts, the whole file, and failed requests', async () => {
    const { url } = await assetOf(await withMedia())
    const lines: { readonly path: string; readonly status: number }[] = []
    const log = pino({}, { write: (line) => void lines.push(JSON.parse(line)) })
    await using logging = listening({ ...server.deps, log })
    const here = url.replace(server.baseUrl, logging.baseUrl)
    const { headers } = await fetch(here)
    const etag = headers.get('etag') ?? ''
    const asked: readonly [headers: Record<string, string>, status: number, body: string][] = [
      [{ range: 'bytes=0-' }, 206, CONTENT],
      [{ range: 'bytes=-3' }, 206, '789'],
      [{ range: 'bytes=8-99' }, 206, '89'],
      [{ range: 'bytes = 1-2' }, 206, '12'],
      [{ range: 'bytes=2-3', 'if-range': etag }, 206, '23'],
      [{ range: 'bytes=2-3', 'if-range': '"another"' }, 200, CONTENT],
      [{ range: 'bytes=10-' }, 416, ''],
      [{ range: 'bytes=-0' }, 416, ''],
      [{ range: 'bytes=11-10' }, 416, ''],
      [{ range: 'bytes=0-1,4-5' }, 200, CONTENT],
      [{ range: 'bytes=5-4' }, 200, CONTENT],
      [{ range: 'lines=1-2' }, 200, CONTENT],
      [{ 'if-none-match': etag }, 304, ''],
      [{ 'if-none-match': `"another", W/${etag}` }, 304, ''],
      [{ 'if-none-match': '*', range: 'bytes=2-3' }, 304, ''],
      [{ 'if-none-match': '"another"' }, 200, CONTENT],
      [{}, 200, CONTENT],
    ]
    for (const [sent, status, body] of asked) {
      const answer = await fetch(here, { headers: sent })
      expect([sent, answer.status, await answer.text()]).toEqual([sent, status, body])
    }
    const statuses = [200, ...asked.map(([, status]) => status)]
    await eventually(() => lines.length === statuses.length)
    expect(lines.map(({ status }) => status)).toEqual(statuses)
  })

  test('asset_url of the list is a playback URL; asset_uri is never returned', async () => {
    const item = await itemOf(await withMedia())
    expect(await (await fetch(item.asset_url)).text()).toBe(CONTENT)
    expect(item).not.toHaveProperty('asset_uri')
  })

  test.each(['queued', 'processing', 'failed', 'cancelled'])(
    'there is no URL while the asset is %s, even if media is stored',
    async (status) => {
      const id = await withMedia(status)
      expect(await assetOf(id)).toMatchObject({ status, url: null, urlExpiresAt: null })
      expect((await itemOf(id)).asset_url).toBeNull()
    },
  )

  test('an altered URL is 403 playback_url_invalid; a URL of deleted media is 404', async () => {
    const id = await withMedia('completed', null)
    const { url } = await assetOf(id)
    const altered = await fetch(url.replace(/expires=\d+/, 'expires=9999999999'))
    expect([altered.status, ((await altered.json()) as { code: string }).code]).toEqual([
      403,
      'playback_url_invalid',
    ])
    expect((await fetch(`${server.baseUrl}/media/%ff`)).status).toBe(404)
    await server.deps.storage.delete([`recordings/${id}/1/source`])
    expect((await fetch(url)).status).toBe(404)
  })

  test('a URL of a deleted recording is 404 at once, and the file is deleted', async () => {
    const id = await withMedia()
    const { url } = await assetOf(id)
    expect((await fetch(url)).status).toBe(200)
    expect((await key.delete(`${RECORDINGS}/${id}`)).status).toBe(204)
    expect((await fetch(url)).status).toBe(404)
    expect(await server.deps.storage.head(`recordings/${id}/1/source`)).toBeNull()
  })

  test('a URL of replaced media is 404 even while the file still exists', async () => {
    const id = await withMedia()
    const { url } = await assetOf(id)
    await server.deps.sql`delete from recording where organization_id = ${organizationId} and id = ${id}`
    const [whole, part, head] = await Promise.all([
      fetch(url),
      fetch(url, { headers: { range: 'bytes=0-1' } }),
      fetch(url, { method: 'HEAD' }),
    ])
    expect([whole.status, part.status, head.status]).toEqual([404, 404, 404])
    expect(await server.deps.storage.head(`recordings/${id}/1/source`)).not.toBeNull()
  })

  test('playback URLs start with PUBLIC_BASE_URL, regardless of the Host header', async () => {
    const id = await withMedia()
    const publicBaseUrl = 'https://calls.example.com/earshot'
    await using proxied = listening({ ...server.deps, config: { ...server.deps.config, publicBaseUrl } })
    const answer = await fetch(`${proxied.baseUrl}${RECORDINGS}/${id}`, {
      headers: { 'x-service-api-key': apiKey },
    })
    const { asset } = (await answer.json()) as { asset: { url: string } }
    expect(asset.url).toStartWith(`${publicBaseUrl}/media/recordings/${id}/1/source?`)
    const behindProxy = await fetch(asset.url.replace(publicBaseUrl, proxied.baseUrl))
    expect(await behindProxy.text()).toBe(CONTENT)
  })

  test('no log line contains a signature or token', async () => {
    const { url } = await assetOf(await withMedia())
    const signature = new URL(url).searchParams.get('signature') ?? ''
    expect(signature.length).toBeGreaterThan(40)
    const lines: string[] = []
    const log = pino({ level: 'trace' }, { write: (line) => void lines.push(line) })
    await using logging = listening({ ...server.deps, log })
    const here = url.replace(server.baseUrl, logging.baseUrl)
    await fetch(here)
    await fetch(here.replace('type=audio', 'type=video'))
    await server.deps.storage.delete([new URL(url).pathname.slice('/media/'.length)])
    await fetch(here)
    await eventually(() => lines.filter((line) => line.includes('/media/')).length === 3)
    expect(lines.join('')).not.toContain(signature.slice(0, 20))
  })
})

/** Another HTTP process over the same data. */
function listening(deps: ServiceDeps) {
  const app = createApp(deps).listen({ hostname: '127.0.0.1', port: 0 })
  return {
    baseUrl: `http://127.0.0.1:${app.server?.port}`,
    [Symbol.asyncDispose]: async () => void (await app.stop(true)),
  }
}
