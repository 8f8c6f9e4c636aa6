/**
 * Every known fault once, in an order drawn from a printed seed (`CRASH_SEED` repeats it), under a
 * load of agent conversations over HTTP; the clocks of the workers jump by hours meanwhile. The long form is
 * `bun run soak`.
 *
 * What must hold: everything answered with 200 is stored; every session was processed in order of sequence; no signal
 * and no billing unit exists twice; and the backlog drains by itself.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { eventually } from '../support/eventually.ts'
import { audit } from './support/audit.ts'
import { type Cluster, startCluster } from './support/cluster.ts'
import { FAULT_NAMES, strike } from './support/faults.ts'
import { drained } from './support/lag.ts'
import { type Account, openAccounts, startLoad } from './support/load.ts'
import { createRandom } from './support/random.ts'

const seed = Number(process.env.CRASH_SEED ?? Math.floor(Math.random() * 2 ** 32))
const random = createRandom(seed)
/** Faults at the same time. */
const LANES = 3
/** A slow machine keeps sending until this many requests have met the faults or their aftermath. */
const MIN_SESSIONS = 24

let cluster: Cluster
let accounts: readonly [Account, Account]
beforeAll(async () => {
  console.log(`CRASH_SEED=${seed}`)
  cluster = await startCluster()
  accounts = await openAccounts(cluster)
  await cluster.ready()
}, 300_000)
afterAll(() => cluster.stop(), 30_000)

test('after every known fault nothing is lost, doubled or out of order', async () => {
  const load = startLoad(cluster, accounts, { conversations: 8, pauseMs: 100, probeMs: 120 })
  await everyFault()
  await eventually(() => load.counts.sessions >= MIN_SESSIONS, { deadlineMs: 60_000 })
  await load.stop()
  await cluster.ready()
  const seconds = await drained(cluster.sql, 200_000)
  console.log(JSON.stringify({ ...load.counts, drainedAfterSeconds: Math.round(seconds * 10) / 10 }))
  const { sessions, accepted, failed } = load.counts
  expect(await audit(cluster.sql, accounts[0], sessions)).toEqual({
    lost: 0,
    doubled: 0,
    outOfOrder: 0,
    details: [],
  })
  expect(failed).toBe(0) // whoever cannot be served is told so
  expect(accepted).toBeGreaterThanOrEqual(sessions * 4)
  const poisoned = await cluster.sql<
    { type: string }[]
  >`select distinct type from actor_dead_letter order by type`
  expect(poisoned.map(({ type }) => type)).toEqual([
    'poison_hang',
    'poison_kill',
    'poison_thread',
    'poison_throw',
  ])
}, 360_000)

/** Poison first, because dead-lettering takes time. */
async function everyFault(): Promise<void> {
  const isPoison = (name: string) => name.startsWith('poison')
  const names = [...FAULT_NAMES]
    .map((name) => ({ name, place: random.next() - (isPoison(name) ? 1 : 0) }))
    .sort((a, b) => a.place - b.place)
    .map(({ name }) => name)
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      for (let name = names.shift(); name !== undefined; name = names.shift()) {
        await strike(cluster, name, random)
        await Bun.sleep(100 + random.integer(300))
      }
    }),
  )
}
