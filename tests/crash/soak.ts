/**
 * `bun run soak [--minutes N] [--seed S] [--json FILE]`: every fault of `support/faults.ts` at random under continuous
 * load, for a given time (default 2 minutes). Needs only this repository and a Redis program.
 *
 * Faults come in rounds. After each round the load pauses and the backlog must drain by itself; then everything is audited.
 * Ends with a report in Markdown, and with exit code 1 if anything was lost, doubled or out of order.
 */
import { parseArgs } from 'node:util'
import { type Audit, audit } from './support/audit.ts'
import { type Cluster, startCluster } from './support/cluster.ts'
import { FAULT_NAMES, type FaultName, strike } from './support/faults.ts'
import { drained, measureLag } from './support/lag.ts'
import { type Account, type Counts, EVENTS_PER_REQUEST, openAccounts, startLoad } from './support/load.ts'
import { createRandom, type Random } from './support/random.ts'
import { type Report, toMarkdown } from './support/report.ts'

const ROUND_MS = 45_000
const LANES = 3
const MAX_PAUSE_MS = 2_000
const DRAIN_DEADLINE_MS = 120_000
/** Faults that make two workers claim one actor come more often, because the protocol exists for them. */
const CHOICES: readonly FaultName[] = [...FAULT_NAMES, ...Array(4).fill('worker paused past its lease')]
const LOAD = { conversations: 24, pauseMs: 150 }

const { values } = parseArgs({
  options: { minutes: { type: 'string' }, seed: { type: 'string' }, json: { type: 'string' } },
})
const minutes = Number(values.minutes ?? 2)
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32))
if (!(minutes > 0) || !Number.isSafeInteger(seed)) {
  console.error('usage: bun run soak [--minutes N] [--seed S] [--json FILE]')
  process.exit(2)
}
console.log(`seed ${seed}, ${minutes} minutes`)

const cluster = await startCluster()
process.once('SIGINT', () => void cluster.stop().finally(() => process.exit(130)))
let passed = false
try {
  const report = await soak(cluster)
  passed = report.lost + report.doubled + report.outOfOrder + report.failed === 0
  console.log(`\n${toMarkdown(report)}`)
  if (values.json !== undefined) await Bun.write(values.json, `${JSON.stringify(report, null, 2)}\n`)
} finally {
  await cluster.stop()
}
process.exit(passed ? 0 : 1)

async function soak(cluster: Cluster): Promise<Report> {
  const random = createRandom(seed)
  const accounts = await openAccounts(cluster)
  await cluster.ready()
  const lag = measureLag(cluster.sql)
  const total: Counts = { sessions: 0, accepted: 0, refused: 0, failed: 0, unanswered: 0, probes: 0 }
  const faults: Partial<Record<FaultName, number>> = {}
  const drainSeconds: number[] = []
  const started = performance.now()
  let last: Audit
  do {
    await playRound(cluster, accounts, random, total, faults)
    const { seconds, result } = await settle(cluster, accounts[0], total.sessions)
    drainSeconds.push(seconds)
    last = result
    console.log(
      `round ${drainSeconds.length}: ${total.accepted} requests, drained after ${seconds.toFixed(1)} s, ` +
        `${last.lost} lost, ${last.doubled} doubled, ${last.outOfOrder} out of order`,
    )
    if (last.details.length > 0) break // what is broken stays broken
  } while (performance.now() - started < minutes * 60_000)
  await lag.stop()
  return {
    seed,
    minutes: (performance.now() - started) / 60_000,
    ...total,
    events: total.accepted * EVENTS_PER_REQUEST,
    restarts: cluster.api.restarts + cluster.workers.reduce((sum, worker) => sum + worker.restarts, 0),
    faults,
    ...last,
    drainSeconds,
    peakLagSeconds: lag.peakSeconds,
    peakMessages: lag.peakMessages,
  }
}

/** Faults under load until the round is over and every started conversation was accepted. */
async function playRound(
  cluster: Cluster,
  accounts: readonly [Account, Account],
  random: Random,
  total: Counts,
  faults: Partial<Record<FaultName, number>>,
): Promise<void> {
  const load = startLoad(cluster, accounts, { ...LOAD, from: total.sessions })
  const deadline = performance.now() + Math.min(ROUND_MS, minutes * 60_000)
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      while (performance.now() < deadline) {
        const name = random.pick(CHOICES)
        await strike(cluster, name, random)
        faults[name] = (faults[name] ?? 0) + 1
        await Bun.sleep(random.integer(MAX_PAUSE_MS))
      }
    }),
  )
  await load.stop()
  for (const name of Object.keys(total) as (keyof Counts)[]) total[name] += load.counts[name]
}

/** A backlog that does not drain counts as lost. */
async function settle(cluster: Cluster, limited: Account, sessions: number) {
  await cluster.ready()
  const seconds = await drained(cluster.sql, DRAIN_DEADLINE_MS).catch((error: Error) => {
    console.error(error.message)
    return Number.POSITIVE_INFINITY
  })
  return { seconds, result: await audit(cluster.sql, limited, sessions) }
}
