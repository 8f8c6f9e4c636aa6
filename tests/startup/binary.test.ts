/** The executable of `bun run build`, alone in a folder: it contains the whole service. */

import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { TEXT_PROCESS } from '../../src/analysis/analyze/text-process.ts'
import { startChromium } from '../support/chromium.ts'
import { eventually } from '../support/eventually.ts'
import { executable } from '../support/executable.ts'
import { TRACES } from '../support/otlp.ts'
import { type Service, useServices } from '../support/process.ts'
import { testRawHosts } from '../support/raw-hosts.ts'
import { applicationKeys, childrenOf, demoCredentials, processesNaming } from './facts.ts'

setDefaultTimeout(300_000)

describe('executable', () => {
  const services = useServices()
  const dataDir = join(services.folder, 'data')
  const earshot = join(services.folder, 'earshot')
  let service: Service

  beforeAll(async () => {
    copyFileSync(executable(), earshot)
    // Without arguments it starts the service. Its folder is empty but for the executable.
    const alone = { command: [earshot], cwd: services.folder }
    service = await services.start({ ...alone, env: { WARM_UP: 'true' } })
  })

  test('warms up beside requests: the process for texts waits for the first one', async () => {
    await eventually(() => childrenOf(service.pid).some((line) => line.includes(TEXT_PROCESS)))
  })

  test('contains PostgreSQL and worker threads: /health and /ready are 200', async () => {
    expect((await fetch(`${service.baseUrl}/health`)).status).toBe(200)
    expect(await (await fetch(`${service.baseUrl}/ready`)).json()).toMatchObject({ status: 'ready' })
    expect(await applicationKeys(service.baseUrl, demoCredentials(dataDir))).toEqual(['demo'])
  })

  test('contains Swagger UI and its assets', async () => {
    const page = await (await fetch(`${service.baseUrl}/docs`)).text()
    const assets = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path)
    expect(assets.length).toBeGreaterThan(1)
    for (const path of assets)
      expect((await fetch(new URL(path, `${service.baseUrl}/docs`))).status).toBe(200)
  })

  test('contains the console: the link of the banner leads to its first page', async () => {
    const link = /Sign in +(\S+)/.exec(service.output())?.[1] ?? ''
    const chromium = await startChromium()
    try {
      const page = await chromium.context.newPage()
      const failed: string[] = []
      page.on('response', (response) => {
        if (response.status() >= 400) failed.push(`${response.status()} ${response.url()}`)
      })
      page.on('pageerror', (error) => failed.push(error.message))
      await page.goto(link)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
      await page.locator('.figure').first().waitFor()
      expect(new URL(page.url()).pathname).toBe('/console')
      expect(failed).toEqual([])
    } finally {
      await chromium.stop()
    }
  })

  test('answers every operation of the OpenAPI document that reads and needs no path', async () => {
    const { apiKey } = demoCredentials(dataDir)
    const { paths } = (await (await fetch(`${service.baseUrl}/openapi.json`)).json()) as {
      readonly paths: Readonly<Record<string, { readonly get?: object }>>
    }
    const reads = Object.keys(paths).filter((path) => paths[path]?.get !== undefined && !path.includes('{'))
    expect(reads.length).toBeGreaterThan(30)
    const abort = new AbortController()
    const init = { headers: { 'x-service-api-key': apiKey }, signal: abort.signal }
    const statuses = await Promise.all(
      reads.map(async (path) => [path, (await fetch(service.baseUrl + path, init)).status] as const),
    )
    // The event stream goes on.
    abort.abort()
    expect(statuses.filter(([, status]) => status >= 500)).toEqual([])
    expect(statuses.filter(([, status]) => status === 200).length).toBeGreaterThan(20)
  })

  test('contains the widget, and the decoder of OpenTelemetry', async () => {
    expect((await fetch(`${service.baseUrl}/widget/earshot.js`)).status).toBe(200)
    const headers = {
      'content-type': 'application/x-protobuf',
      'x-service-agent-key': demoCredentials(dataDir).agentSecret,
    }
    const send = (body: Uint8Array<ArrayBuffer>) =>
      fetch(`${service.baseUrl}${TRACES}`, { method: 'POST', headers, body })
    expect((await send(new Uint8Array())).status).toBe(200)
    expect((await send(Uint8Array.of(0xff))).status).toBe(400)
  })

  test('contains the licences of what it brings with it', async () => {
    const licenses = Bun.spawn([earshot, 'licenses'], { cwd: services.folder, stdout: 'pipe' })
    const text = await licenses.stdout.text()
    for (const name of [
      'Apache License',
      'JavaScriptCore',
      'PostgreSQL Global Development Group',
      'preact 1',
    ])
      expect(text).toContain(name)
    expect(await licenses.exited).toBe(0)
  })

  test('contains the pages of the website', async () => {
    const page = await fetch(`${service.baseUrl}/api/content/self-hosting`)
    expect(await page.json()).toMatchObject({ slug: 'self-hosting', title: 'Self-hosting' })
  })

  describe('raw hosts', () => {
    testRawHosts(() => ({
      baseUrl: service.baseUrl,
      apiKey: demoCredentials(dataDir).apiKey,
      log: service.output,
    }))
  })

  test('runs worker threads', async () => {
    const text = await (await fetch(`${service.baseUrl}/metrics`)).text()
    expect(text).toContain('earshot_actor')
    expect(service.output()).not.toContain('a worker thread ended')
  })

  test('runs the threads for large request bodies', async () => {
    const headers = {
      'x-service-api-key': demoCredentials(dataDir).apiKey,
      'content-type': 'application/json',
    }
    const body = JSON.stringify({ displayName: 'Call with Grace', unknown: 'x'.repeat(100_000) })
    const { status } = await fetch(`${service.baseUrl}/v3/rest/recordings`, { method: 'POST', headers, body })
    expect(status).toBe(201)
  })

  test('runs the child process for text jobs', async () => {
    const headers = {
      'x-service-api-key': demoCredentials(dataDir).apiKey,
      'content-type': 'application/json',
    }
    const url = `${service.baseUrl}/v3/rest/recordings`
    const text = 'The export of our invoices has failed since Monday.'
    const transcript = [{ startSec: 0, endSec: 2, text, speaker: 0 }]
    const body = JSON.stringify({ displayName: 'Call with Ada', transcript })
    const created = (await (await fetch(url, { method: 'POST', headers, body })).json()) as { id: string }
    const summary = () => fetch(`${url}/${created.id}`, { headers }).then((response) => response.json())
    await eventually(async () => ((await summary()) as { summary: unknown }).summary === text)
  })

  test('stops properly on SIGTERM and leaves no child process', async () => {
    expect(await service.kill()).toBe(0)
    expect(processesNaming(dataDir)).toEqual([])
  })

  test('unpacks nothing on the second start and has the data', async () => {
    const again = await services.start({ command: [earshot, 'serve'] })
    expect(await applicationKeys(again.baseUrl, demoCredentials(dataDir))).toEqual(['demo'])
    expect(await again.kill()).toBe(0)
  })

  test('kill -9 of the whole process group: its servers end within 15 s', async () => {
    const killed = await services.start({ command: [earshot], group: true })
    expect(processesNaming(dataDir).length).toBeGreaterThan(1)
    await killed.killGroup()
    await eventually(() => processesNaming(services.folder).length === 0, { deadlineMs: 15_000 })
  })
})
