/**
 * A rolling restart of two processes behind HAProxy with its default retries: no request fails, and nothing is lost or doubled.
 *
 * The configuration is examples/haproxy.cfg with the ports of the test.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../crash/support/private-postgres.ts'
import { openAgent } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { type Service, useServices } from '../support/process.ts'
import { rounds } from '../support/rounds.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { expectStoredOnce, startSteadyLoad } from './support/steady-load.ts'

setDefaultTimeout(300_000)

const CLIENTS = 8
const RESTARTS = rounds(1, 6)
const EXAMPLE = join(import.meta.dir, '../../examples/haproxy.cfg')

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.stop())
const services = useServices()

const startProcess = (port: number, more: Readonly<Record<string, string>> = {}) =>
  services.start({
    env: {
      DATABASE_URL: server.database.url,
      PORT: String(port),
      DRAIN_SECONDS: '2',
      LOG_LEVEL: 'info',
      RATE_LIMIT_AGENT_INGEST: '0',
      ...more,
    },
  })

/** Checks more often than the example, because the test drains for 2 s and not for 5. */
async function startProxy(
  ports: readonly [number, number],
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const port = freePort()
  const replaced = [
    ['127.0.0.1:8080', `127.0.0.1:${port}`],
    ['127.0.0.1:3001', `127.0.0.1:${ports[0]}`],
    ['127.0.0.1:3002', `127.0.0.1:${ports[1]}`],
    ['inter 1s', 'inter 100ms'],
  ] as const
  let text = readFileSync(EXAMPLE, 'utf8')
  for (const [from, to] of replaced) {
    expect(text).toContain(from)
    text = text.replace(from, to)
  }
  const file = join(services.folder, 'haproxy.cfg')
  writeFileSync(file, text)
  const program = Bun.which('haproxy') ?? '/usr/sbin/haproxy'
  const child = Bun.spawn([program, '-f', file], { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' })
  const url = `http://127.0.0.1:${port}`
  await eventually(async () => (await fetch(`${url}/ready`)).ok)
  return {
    url,
    async stop() {
      child.kill('SIGKILL')
      await child.exited
    },
  }
}

test('a rolling restart behind HAProxy fails no request, and loses or doubles nothing', async () => {
  const agent = await openAgent(server)
  const ports = [freePort(), freePort()] as const
  const processes: Service[] = await Promise.all(ports.map((port) => startProcess(port)))
  const proxy = await startProxy(ports)
  const load = startSteadyLoad(proxy.url, agent, CLIENTS)
  try {
    await load.more(CLIENTS * 5)
    for (let restart = 0; restart < RESTARTS; restart += 1) {
      for (const [index, port] of ports.entries()) {
        expect(await processes[index]?.kill()).toBe(0)
        await load.more(CLIENTS)
        processes[index] = await startProcess(port)
        await load.more(CLIENTS * 5)
      }
    }
  } finally {
    await load.stop()
    await proxy.stop()
  }
  try {
    expect(load.failures).toEqual([])
    await expectStoredOnce(server, load)
  } finally {
    // The next tests count workers.
    await Promise.all(processes.map((process) => process.kill('SIGINT')))
  }
})

describe('while a process drains', () => {
  test('/ready is 503, requests are answered and close their connection, and its workers claim nothing more', async () => {
    const service = await startProcess(0, { DRAIN_SECONDS: '600' })
    const url = (path: string) => `${service.baseUrl}${path}`
    const workers = () => server.database.sql`select from worker`
    await eventually(async () => (await workers()).length > 0)
    const before = await fetch(url('/ready'))
    expect(before.status).toBe(200)
    expect(before.headers.get('connection')).not.toBe('close')
    void service.kill()
    await eventually(async () => (await fetch(url('/ready'))).status === 503)
    const ready = await fetch(url('/ready'))
    expect(await ready.json()).toMatchObject({
      status: 'draining',
      degraded: [],
      checks: { database: { status: 'ok' } },
    })
    await eventually(async () => (await workers()).length === 0)
    const answers = await Promise.all(['/health', '/v3/rest/people', '/docs'].map((path) => fetch(url(path))))
    expect(answers.map(({ status }) => status)).toEqual([200, 401, 200])
    for (const { headers } of answers) expect(headers.get('connection')).toBe('close')
    expect(await service.kill('SIGKILL')).toBe('SIGKILL')
  })

  test('SIGINT ends it without a drain, and so does SIGTERM a process that only works', async () => {
    const [one, worker] = await Promise.all([
      startProcess(0, { DRAIN_SECONDS: '600' }),
      startProcess(0, { DRAIN_SECONDS: '600', ROLE: 'worker' }),
    ])
    expect(await Promise.all([one.kill('SIGINT'), worker.kill('SIGTERM')])).toEqual([0, 0])
  })
})
