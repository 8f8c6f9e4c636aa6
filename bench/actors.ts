/**
 * Actors compared with other queues: the rate at which a backlog drains, and the time of a message from commit to applied.
 *
 * Every peer runs as a single worker in this process, with handlers that do nothing, one after the other on
 * the same machine. Compare figures only within a run. If a backlog takes longer than the limit, the rate
 * until then counts. A cell that takes a peer minutes to fill is left out unless `BENCH_FULL=1` is set.
 */

import { cpuOfSelf, cpuOfTree } from './support/cpu.ts'
import { createEarshot } from './support/earshot-peer.ts'
import { openEnvironment } from './support/environment.ts'
import { type Latency, latencyAtHalfLoad, latencyIdle } from './support/latency.ts'
import { table } from './support/measure.ts'
import type { Peer, PeerModule, PeerOptions } from './support/peer.ts'
import { startRedis } from './support/redis.ts'

const LIMIT_MS = 8_000
const ROUNDS = 3
/** Keys and messages a key. */
const CELLS = [
  [1_000, 1],
  [1_000, 20],
  [1_000, 200],
  [100_000, 1],
] as const
const FULL = [
  [100_000, 20],
  [100_000, 200],
] as const
/** A cell with more messages than this is measured once. */
const BIG = 50_000
/** Peers that get fewer messages: storing more would take minutes and give the same rate. */
const MOST_MESSAGES: Readonly<Record<string, number>> = {
  'graphile-worker': 4_000,
  groupmq: 40_000,
  'groupmq synced': 40_000,
  BullMQ: 40_000,
  'BullMQ synced': 40_000,
}
const REFERENCE = 'groupmq synced'

async function loadPeer(module: string, options: PeerOptions): Promise<Peer> {
  // Imported by a computed name, because these modules have their own dependencies (bench/package.json).
  const { createPeer } = (await import(`./peers/${module}.ts`)) as PeerModule
  return createPeer(options)
}

async function openPeers(stack: AsyncDisposableStack): Promise<readonly Peer[]> {
  const environment = stack.use(await openEnvironment(2))
  const { databaseUrl, redisUrl } = environment
  const lax = stack.use(await startRedis('as it comes'))
  const synced = stack.use(await startRedis('synced always'))
  const ours = { databaseUrl, redisUrl, redoable: true }
  const peers: Peer[] = [
    await createEarshot({ ...ours, name: 'Earshot', about: 'ordered, fenced; sends wait for the disk' }),
    await createEarshot({
      ...ours,
      name: 'Earshot without Redis',
      redisUrl: null,
      about: 'the same by LISTEN/NOTIFY',
    }),
    await createEarshot({
      ...ours,
      name: 'Earshot with synced turns',
      redoable: false,
      about: 'turns wait for it as well',
    }),
  ]
  const others = [
    ['groupmq', 'groupmq', lax.url, 'ordered; Redis as it comes'],
    ['groupmq', REFERENCE, synced.url, 'ordered; appendonly, fsync always'],
    ['bullmq', 'BullMQ', lax.url, 'NOT ordered; Redis as it comes'],
    ['bullmq', 'BullMQ synced', synced.url, 'NOT ordered; appendonly, fsync always'],
    ['graphile-worker', 'graphile-worker', null, 'ordered (queue per key); fsync on'],
  ] as const
  for (const [module, name, redis, about] of others)
    peers.push({ ...(await loadPeer(module, { databaseUrl, redis, about })), name })
  for (const peer of peers) stack.use(peer)
  const wanted = process.env.BENCH_PEERS?.split(',')
  return peers.filter(({ name }) => wanted?.includes(name) ?? true)
}

interface Drain {
  /** Messages a second: the median of the rounds. */
  readonly rate: number
  /** Microseconds of CPU per message over all rounds: worker with handlers, and servers. */
  readonly worker: number
  readonly servers: number
}

/** Several rounds in which the peers alternate. */
async function drainAll(peers: readonly Peer[], keys: number, perKey: number): Promise<readonly Drain[]> {
  const rates = peers.map(() => [] as number[])
  const used = peers.map(() => ({ messages: 0, worker: 0, servers: 0 }))
  for (let round = 0; round < (keys * perKey > BIG ? 1 : ROUNDS); round++) {
    for (const [index, peer] of peers.entries()) {
      const most = MOST_MESSAGES[peer.name] ?? Number.POSITIVE_INFINITY
      const some = Math.max(1, Math.min(keys, Math.floor(most / perKey)))
      await peer.clear()
      await peer.fill(some, perKey)
      const before = cpu()
      const { messages, ms } = await peer.drain(some * perKey, LIMIT_MS)
      const after = cpu()
      const sum = used[index]
      if (sum !== undefined) {
        sum.messages += messages
        sum.worker += after.worker - before.worker
        sum.servers += after.servers - before.servers
      }
      console.error(
        `${keys} × ${perKey} ${peer.name}: ${messages} of ${some * perKey} in ${Math.round(ms)} ms`,
      )
      rates[index]?.push((messages / ms) * 1_000)
    }
  }
  return used.map(({ messages, worker, servers }, index) => {
    const sorted = (rates[index] ?? []).toSorted((a, b) => a - b)
    const rate = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
    return { rate, worker: (worker / messages) * 1_000, servers: (servers / messages) * 1_000 }
  })
}

/** Milliseconds of CPU used so far by this process and by the servers that it has started. */
function cpu() {
  const worker = cpuOfSelf()
  return { worker, servers: cpuOfTree(process.pid) - worker }
}

/** Measures every peer and prints three tables. `BENCH_FULL=1` adds cells of millions; `BENCH_PEERS=a,b` selects peers. */
export async function benchActors(): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const peers = await openPeers(stack)
  const cells = process.env.BENCH_FULL === '1' ? [...CELLS, ...FULL] : CELLS
  const columns: (readonly Drain[])[] = []
  for (const [keys, perKey] of cells) columns.push(await drainAll(peers, keys, perKey))
  const reference = peers.findIndex(({ name }) => name === 'groupmq')
  const rows = peers.map(({ name, about }, index) => [
    name,
    ...columns.map((drains) => {
      const rate = drains[index]?.rate ?? Number.NaN
      return `${Math.round(rate)} (${(rate / (drains[reference]?.rate ?? Number.NaN)).toFixed(1)})`
    }),
    about,
  ])
  const costs = peers.map(({ name }, index) => [
    name,
    ...columns.map((drains) => {
      const { worker, servers } = drains[index] ?? { worker: Number.NaN, servers: Number.NaN }
      return `${worker.toFixed(1)} + ${servers.toFixed(1)}`
    }),
  ])
  const titles = cells.map(([keys, perKey]) => `${keys} × ${perKey}`)
  console.log(`\nDrain, messages a second by keys × messages a key (ratio to groupmq), median of ${ROUNDS}\n`)
  console.log(table(['', ...titles, 'what it promises'], rows))
  console.log(
    '\nCPU of a message, µs: of the worker + of PostgreSQL and Redis; what it takes to start is among it\n',
  )
  console.log(table(['', ...titles], costs))
  await latencies(peers)
}

async function latencies(peers: readonly Peer[]): Promise<void> {
  const rows: string[][] = []
  for (const peer of peers) {
    await peer.clear()
    const idle = await latencyIdle(peer)
    console.error(`${peer.name}: idle p50 ${idle.p50.toFixed(1)} ms`)
    await peer.clear()
    const { rate, ...busy } = await latencyAtHalfLoad(peer)
    rows.push([peer.name, ...figures(idle), String(Math.round(rate)), ...figures(busy)])
  }
  console.log(
    '\nFrom commit to applied, ms; half load is half of what one sender and one worker sustain together\n',
  )
  console.log(table(['', 'idle p50', 'p99', 'half load, messages/s', 'p50', 'p99'], rows))
}

function figures({ p50, p99 }: Latency): string[] {
  return [p50.toFixed(1), p99.toFixed(1)]
}
