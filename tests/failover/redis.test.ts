/**
 * Redis goes away, becomes a replica behind the same address, is full, or is a node of a cluster, while clients write. The service stays ready and says what
 * is degraded, loses and doubles nothing, and finds the new server without a restart.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { freePort } from '../crash/support/private-postgres.ts'
import { openAgent } from '../support/agents.ts'
import { runCommand } from '../support/command-line.ts'
import { eventually } from '../support/eventually.ts'
import { type PrivateRedis, startPrivateRedis } from '../support/private-redis.ts'
import { type Service, useServices } from '../support/process.ts'
import { rounds } from '../support/rounds.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { expectStoredOnce, type SteadyLoad, startSteadyLoad } from './support/steady-load.ts'

setDefaultTimeout(300_000)

const CLIENTS = 4
const FAILOVERS = rounds(1, 5)
/** Of a cluster of Redis. */
const SLOTS = 16_384

interface Ready {
  readonly httpStatus: number
  readonly status: string
  readonly checks: Readonly<Record<string, { readonly status: string }>>
  readonly degraded: readonly { readonly part: string; readonly since: string; readonly effect: string }[]
}

/** Two servers behind one address. */
interface Pair {
  readonly line: TcpProxy
  readonly servers: readonly [PrivateRedis, PrivateRedis]
  readonly ports: readonly [number, number]
}

let server: TestServer
let pair: Pair
beforeAll(async () => {
  const ports = [freePort(), freePort()] as const
  const [first, second, started] = await Promise.all([
    startPrivateRedis(ports[0]),
    startPrivateRedis(ports[1]),
    startTestServer(),
  ])
  server = started
  pair = { line: await startTcpProxy(ports[0]), servers: [first, second], ports }
})
afterAll(async () => {
  await pair.line.stop()
  await Promise.all(pair.servers.map((redis) => redis.stop()))
  await server.stop()
})
const services = useServices()

async function readiness({ baseUrl }: Service): Promise<Ready> {
  const response = await fetch(`${baseUrl}/ready`)
  return { ...((await response.json()) as Omit<Ready, 'httpStatus'>), httpStatus: response.status }
}

const untilReady = (service: Service) =>
  eventually(async () => {
    expect(await readiness(service)).toMatchObject({ status: 'ready', degraded: [], httpStatus: 200 })
  })

/** Requests are answered meanwhile. */
async function untilDegraded(service: Service, load: SteadyLoad): Promise<void> {
  const degraded = await eventually(async () => {
    const found = await readiness(service)
    expect(found).toMatchObject({ status: 'degraded', httpStatus: 200 })
    return found
  })
  expect(degraded.checks).toMatchObject({ database: { status: 'ok' }, redis: { status: 'failed' } })
  expect(degraded.degraded).toEqual([
    { part: 'redis', since: expect.any(String), effect: expect.stringMatching(/Workers .* later/) },
  ])
  await load.more(CLIENTS * 3)
  const { degraded: later } = await readiness(service)
  // The first time that it was noticed, not the last. The effect also says what Redis answered last, if that has a remedy.
  expect(later).toEqual([
    {
      part: 'redis',
      since: degraded.degraded[0]?.since ?? 'never',
      effect: expect.stringMatching(/^Workers .* later, .*\. Nothing is lost\.(?: .*Redis.*\.)?$/),
    },
  ])
}

/** What `earshot doctor` finds of the server behind the address. */
async function doctorOf(line: TcpProxy): Promise<unknown> {
  const { out } = await runCommand(['doctor', '--json'], {
    DATABASE_URL: server.database.url,
    REDIS_URL: `redis://127.0.0.1:${line.port}`,
    DATA_DIR: join(services.folder, 'data'),
  })
  const { checks } = JSON.parse(out) as { checks: readonly { readonly name: string }[] }
  return checks.find(({ name }) => name === 'redis')
}

/** Resolves when a wake-up of the service arrives on the stream of the server. */
const untilUsed = (redis: PrivateRedis) =>
  eventually(async () => {
    const streams = (await redis.command('KEYS', '*:actors:short')) as readonly string[]
    expect(streams).toHaveLength(1)
  })

test('kill, replica and full memory: ready but degraded, nothing lost or doubled, and no restart', async () => {
  const agent = await openAgent(server)
  const service = await services.start({
    env: {
      DATABASE_URL: server.database.url,
      REDIS_URL: `redis://127.0.0.1:${pair.line.port}`,
      RATE_LIMIT_AGENT_INGEST: '1000000',
    },
  })
  const load = startSteadyLoad(service.baseUrl, agent, CLIENTS)
  try {
    await untilReady(service)
    await load.more(CLIENTS)
    for (let round = 0; round < FAILOVERS; round += 1) await failOver(service, load, round % 2)
  } finally {
    await load.stop()
  }
  expect(load.failures).toEqual([])
  await expectStoredOnce(server, load)
  expect(await service.kill()).toBe(0)
})

test('a node of a cluster, without slots (CLUSTERDOWN) and with a part of them (MOVED): degraded, until the address leads to a server that has all', async () => {
  const agent = await openAgent(server)
  const ports = [freePort(), freePort()] as const
  const node = (port: number) =>
    // The default port of the bus is 10,000 higher, which may not exist.
    startPrivateRedis(port, ['--cluster-enabled', 'yes', '--cluster-port', String(freePort())])
  const [first, second] = await Promise.all([node(ports[0]), node(ports[1])])
  const line = await startTcpProxy(ports[0])
  try {
    const service = await services.start({
      env: {
        DATABASE_URL: server.database.url,
        REDIS_URL: `redis://127.0.0.1:${line.port}`,
        RATE_LIMIT_AGENT_INGEST: '1000000',
      },
    })
    const load = startSteadyLoad(service.baseUrl, agent, CLIENTS)
    try {
      await untilDegraded(service, load)
      expect(await doctorOf(line)).toMatchObject({
        ok: false,
        detail: expect.stringContaining('CLUSTERDOWN'),
      })

      // The other node has the upper half.
      await first.command('CLUSTER', 'ADDSLOTSRANGE', 0, SLOTS / 2 - 1)
      await second.command('CLUSTER', 'ADDSLOTSRANGE', SLOTS / 2, SLOTS - 1)
      const bus = /@(\d+)/.exec(String(await second.command('CLUSTER', 'NODES')))?.[1] ?? ''
      await first.command('CLUSTER', 'MEET', '127.0.0.1', ports[1], bus)
      await eventually(async () => {
        expect(String(await first.command('CLUSTER', 'INFO'))).toContain('cluster_state:ok')
      })
      await untilDegraded(service, load)
      expect(await doctorOf(line)).toMatchObject({ ok: false, detail: expect.stringContaining('MOVED') })

      line.setTarget(pair.ports[0])
      await untilReady(service)
      await untilUsed(pair.servers[0])
    } finally {
      await load.stop()
    }
    expect(load.failures).toEqual([])
    expect(await service.kill()).toBe(0)
  } finally {
    await line.stop()
    await Promise.all([first.stop(), second.stop()])
  }
})

/** `now` is the server that the address leads to. */
async function failOver(service: Service, load: SteadyLoad, now: number): Promise<void> {
  const [main, next] = [pair.servers[now], pair.servers[1 - now]] as [PrivateRedis, PrivateRedis]

  await main.kill()
  await untilDegraded(service, load)
  await main.restart()
  await untilReady(service)
  await untilUsed(main)

  await main.command('CONFIG', 'SET', 'maxmemory', '1')
  await untilDegraded(service, load)
  await main.command('CONFIG', 'SET', 'maxmemory', '0')
  await untilReady(service)

  // The open connections stay: only a client that opens a new one finds the new server.
  await next.command('FLUSHALL')
  await main.command('REPLICAOF', '127.0.0.1', pair.ports[1 - now] as number)
  await untilDegraded(service, load)
  pair.line.setTarget(pair.ports[1 - now] as number)
  await untilReady(service)
  await untilUsed(next)
  await main.command('REPLICAOF', 'NO', 'ONE')
}
