/** Uploads from pages of other origins in a real browser. Only the page that created an upload can send its file. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { type Chromium, startChromium } from '../support/chromium.ts'
import { sha256 } from '../support/media.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { createTestUpload, noise, offsetOf } from '../support/uploads.ts'
import { storedBytes } from '../uploads/support/stored.ts'

const FILE = noise(300_000)
const TUS_CLIENT = join(import.meta.dir, '../../node_modules/tus-js-client/dist/tus.min.js')

let server: TestServer
let tenant: TestTenant
let chromium: Chromium
let sites: { readonly owner: Bun.Server<undefined>; readonly third: Bun.Server<undefined> }

beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
  sites = { owner: startSite(), third: startSite() }
  chromium = await startChromium()
}, 300_000)

afterAll(async () => {
  await chromium?.stop()
  await Promise.all([sites?.owner.stop(true), sites?.third.stop(true)])
  await server?.stop()
})

/** A website with the file and a page that has the tus client for browsers. */
function startSite(): Bun.Server<undefined> {
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch({ url }) {
      const { pathname } = new URL(url)
      if (pathname === '/tus.js') return new Response(Bun.file(TUS_CLIENT))
      if (pathname === '/file') return new Response(FILE)
      const html = '<!doctype html><title>site</title><script src="/tus.js"></script>'
      return new Response(html, { headers: { 'content-type': 'text/html' } })
    },
  })
}

const create = () =>
  createTestUpload(server, tenant, { fileSize: FILE.byteLength, origin: sites.owner.url.origin })

async function pageOf(site: Bun.Server<undefined>): Promise<Page> {
  const page = await chromium.context.newPage()
  await page.goto(site.url.href)
  return page
}

/** Runs in the page. The parts of the response that the page can read; null if the browser blocks it. */
const send = ([url, method, headers, from, to]: readonly [
  string,
  string,
  Record<string, string>,
  number,
  number,
]) =>
  fetch('/file')
    .then((response) => response.blob())
    .then((file) => fetch(url, { method, headers, body: file.slice(from, to) }))
    .then(async (response) => ({
      status: response.status,
      range: response.headers.get('range'),
      offset: response.headers.get('upload-offset'),
      body: await response.text(),
    }))
    .catch(() => null)

/** Runs in the page. The client retries lost connections only, so the first error is final. */
const sendByTus = ([url, chunkSize]: readonly [string, number]) =>
  fetch('/file')
    .then((response) => response.blob())
    .then(
      (file) =>
        new Promise<string>((resolve) => {
          // biome-ignore lint/suspicious/noExplicitAny: a global of the page
          const upload = new (globalThis as any).tus.Upload(file, {
            uploadUrl: url,
            chunkSize,
            retryDelays: null,
            onSuccess: () => resolve('success'),
            onError: (error: Error) => resolve(`error: ${error.message}`),
          })
          upload.start()
        }),
    )

describe('a page of the origin that created the upload', () => {
  test('sends the file by tus-js-client', async () => {
    const { uploadUrl, uploadId } = await create()
    const page = await pageOf(sites.owner)
    expect(await page.evaluate(sendByTus, [uploadUrl, 70_000] as const)).toBe('success')
    expect(sha256(await storedBytes(server.deps, uploadId))).toBe(sha256(FILE))
  }, 300_000)

  test('sends the file by PUT, whole and in chunks, and reads every answer', async () => {
    const page = await pageOf(sites.owner)
    const whole = await create()
    const size = FILE.byteLength
    const answer = await page.evaluate(send, [whole.uploadUrl, 'PUT', {}, 0, size] as const)
    expect(answer?.status).toBe(201)
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({ uploadId: whole.uploadId, phase: 'processing' })
    const { uploadUrl, uploadId } = await create()
    const chunk = (from: number, to: number) =>
      page.evaluate(send, [
        uploadUrl,
        'PUT',
        { 'content-range': `bytes ${from}-${to - 1}/${size}` },
        from,
        to,
      ] as const)
    expect(await chunk(0, 100_000)).toMatchObject({ status: 308, range: 'bytes=0-99999' })
    expect(await chunk(100_000, size)).toMatchObject({ status: 200 })
    expect(sha256(await storedBytes(server.deps, uploadId))).toBe(sha256(FILE))
  }, 300_000)

  test('reads errors, too', async () => {
    const { uploadUrl } = await create()
    const page = await pageOf(sites.owner)
    const headers = {
      'tus-resumable': '1.0.0',
      'upload-offset': '5',
      'content-type': 'application/offset+octet-stream',
    }
    const answer = await page.evaluate(send, [uploadUrl, 'PATCH', headers, 5, 10] as const)
    expect(answer).toMatchObject({ status: 409, offset: '0' })
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({ code: 'upload_offset_mismatch' })
  }, 300_000)
})

describe('a page of a third origin', () => {
  test('cannot send a byte, although it knows the address', async () => {
    const { uploadUrl } = await create()
    const page = await pageOf(sites.third)
    const size = FILE.byteLength
    expect(await page.evaluate(send, [uploadUrl, 'PUT', {}, 0, size] as const)).toBeNull()
    const patch = {
      'tus-resumable': '1.0.0',
      'upload-offset': '0',
      'content-type': 'application/offset+octet-stream',
    }
    expect(await page.evaluate(send, [uploadUrl, 'PATCH', patch, 0, size] as const)).toBeNull()
    const override = { ...patch, 'x-http-method-override': 'PATCH' }
    expect(await page.evaluate(send, [uploadUrl, 'POST', override, 0, size] as const)).toBeNull()
    expect(await page.evaluate(sendByTus, [uploadUrl, size] as const)).toStartWith('error: ')
    expect(await offsetOf(uploadUrl)).toBe(0)
  }, 300_000)
})
