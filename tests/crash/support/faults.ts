/**
 * Every fault around the service, one function each: the fault happens, may last for a moment, and
 * is over when the promise resolves. The effect on the service is checked elsewhere.
 */
import { send } from '../../../src/actors/mailbox.ts'
import type { ActorKey } from '../../../src/actors/types.ts'
import { transaction } from '../../../src/platform/db/transaction.ts'
import { eventually } from '../../support/eventually.ts'
import type { Cluster } from './cluster.ts'
import { FAULTY_OPTIONS } from './options.ts'
import type { Random } from './random.ts'

type Fault = (cluster: Cluster, random: Random) => Promise<unknown>

/** Time for other workers to take over and continue. */
const pastTheLease = (random: Random) => FAULTY_OPTIONS.leaseMs! * (1 + random.next())
const OUTAGE_MS = 1_000
/** Longer than a connection may be silent, so that it is dropped. */
const SILENCE_MS = 4_500
const DELAY_MS = 60

const anyWorker = (cluster: Cluster, random: Random) => random.pick(cluster.workers)

const FAULTS = {
  'worker killed': async (cluster, random) => anyWorker(cluster, random).kill('SIGKILL'),
  'API killed': async ({ api }) => api.kill('SIGKILL'),
  'worker paused past its lease': (cluster, random) =>
    paused(anyWorker(cluster, random), pastTheLease(random)),
  'API paused': ({ api }) => paused(api, OUTAGE_MS),
  'Redis forgets everything': ({ redis }) => redis.command('FLUSHALL'),
  'Redis ends its clients': ({ redis }) => redis.command('CLIENT', 'KILL', 'TYPE', 'normal'),
  'Redis restarts': ({ redis }) => redis.restart(),
  'Redis is away': async ({ redis }) => {
    await redis.kill()
    await Bun.sleep(OUTAGE_MS)
    await redis.restart()
  },
  'Redis is full': async ({ redis }) => {
    await redis.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
    await redis.command('CONFIG', 'SET', 'maxmemory', '1')
    await Bun.sleep(OUTAGE_MS)
    await redis.command('CONFIG', 'SET', 'maxmemory', '0')
  },
  'Redis is frozen': async ({ redis }) => {
    redis.signal('SIGSTOP')
    await Bun.sleep(OUTAGE_MS)
    redis.signal('SIGCONT')
  },
  'line to Redis silent': ({ redisLine }) =>
    during(
      () => redisLine.setLine('silent'),
      () => redisLine.setLine('good'),
    ),
  'line to Redis slow': ({ redisLine }) =>
    during(
      () => redisLine.setDelay(DELAY_MS),
      () => redisLine.setDelay(0),
    ),
  'line to Redis cut': async ({ redisLine }) => redisLine.cut(),
  'line to PostgreSQL silent': ({ postgresLine }) =>
    during(
      () => postgresLine.setLine('silent'),
      () => postgresLine.setLine('good'),
      SILENCE_MS,
    ),
  'line to PostgreSQL half silent': ({ postgresLine }) =>
    during(
      () => postgresLine.setLine('deaf'),
      () => postgresLine.setLine('good'),
      OUTAGE_MS / 2,
    ),
  'line to PostgreSQL slow': ({ postgresLine }) =>
    during(
      () => postgresLine.setDelay(DELAY_MS),
      () => postgresLine.setDelay(0),
    ),
  'line to PostgreSQL cut': async ({ postgresLine }) => postgresLine.cut(),
  'line to PostgreSQL refused': ({ postgresLine }) =>
    during(
      () => postgresLine.setRefusing(true),
      () => postgresLine.setRefusing(false),
    ),
  'PostgreSQL ends connections': ({ sql }) =>
    eventually(
      () => sql`
        select pg_terminate_backend(pid)
        from pg_stat_activity
        where application_name like 'earshot%' and random() < 0.5`,
    ),
  'PostgreSQL restarts': ({ postgres }) => postgres.restart('fast'),
  'PostgreSQL crashes': ({ postgres }) => postgres.restart('immediate'),
  'poison that throws': (cluster) => poison(cluster, 'poison_throw'),
  'poison that hangs': (cluster) => poison(cluster, 'poison_hang'),
  'poison that kills its process': (cluster) => poison(cluster, 'poison_kill'),
  'poison that kills its thread': (cluster) => poison(cluster, 'poison_thread'),
} as const satisfies Readonly<Record<string, Fault>>

/** The target of each fault. Faults of one target must not overlap. */
function thingOf(name: FaultName): string {
  return /line to Redis|line to PostgreSQL|API|Redis|PostgreSQL/.exec(name)?.[0] ?? name
}

/** Runs the fault once no other fault of the same target is active. */
export function strike(cluster: Cluster, name: FaultName, random: Random): Promise<unknown> {
  return cluster.alone(thingOf(name), () => FAULTS[name](cluster, random))
}

export type FaultName = keyof typeof FAULTS
export const FAULT_NAMES = Object.keys(FAULTS) as FaultName[]

async function during(begin: () => void, end: () => void, ms = OUTAGE_MS): Promise<void> {
  begin()
  await Bun.sleep(ms)
  end()
}

async function paused(process: { kill(signal: NodeJS.Signals): void }, ms: number): Promise<void> {
  process.kill('SIGSTOP')
  await Bun.sleep(ms)
  process.kill('SIGCONT')
}

/** Sent to the mailbox of an active session. */
async function poison({ sql }: Cluster, type: string): Promise<void> {
  await eventually(async () => {
    const [session] = await sql<{ id: string }[]>`
      select id from agent_session order by created_at desc offset floor(random() * 10) limit 1`
    if (session === undefined) return false
    const key: ActorKey = `session:${session.id}`
    await transaction(sql, (tx) => send(tx, [{ key, type }]))
    return true
  })
}
