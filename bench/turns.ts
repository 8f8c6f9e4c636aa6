/**
 * The cost of the turns after ingestion: sessions are sent and processed until each is `completed`, and then until nothing waits. The
 * second pass by the trained head and the index of the search come after `completed`.
 *
 * CPU is counted per process from the first request to the last turn, because rates on a busy machine are unreliable. Callers, service and
 * PostgreSQL share the cores of this machine.
 */
import { cpuOfSelf, cpuOfTree, postgresPid } from './support/cpu.ts'
import { type Environment, openEnvironment, startService } from './support/environment.ts'
import { CALLERS, createTenant, event, overHttp, type Tenant } from './support/ingestion.ts'
import { inParallel, table } from './support/measure.ts'

const ROUNDS = 3
const POLL_MS = 100

interface Load {
  readonly name: string
  /** The unit that `run` counts and that costs refer to. */
  readonly unit: string
  readonly amount: number
  run(amount: number): Promise<void>
}

/** One request of 6 events per session. */
function sessionsOfSix(baseUrl: string, { agentSecret }: Tenant, status: string): Load['run'] {
  return (amount) =>
    inParallel(amount, CALLERS, async () => {
      const response = await fetch(`${baseUrl}/v3/rest/agent-conversations/ingest`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-service-agent-key': agentSecret },
        body: JSON.stringify({
          agentKey: 'bench',
          externalSessionId: Bun.randomUUIDv7(),
          status,
          events: Array.from({ length: 6 }, (_, index) => event(index + 1)),
        }),
      })
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
      await response.arrayBuffer()
    })
}

/** Waits until only work that comes after `completed` is left. */
async function untilCompleted({ sql }: Environment): Promise<void> {
  for (;;) {
    const [row] = await sql`
      select 1 from actor_message where key not like 'rereading:%' and key not like 'passage:%' and key not like 'themes:%' limit 1`
    if (row === undefined) return
    await Bun.sleep(POLL_MS)
  }
}

/** Themes link minutes later, on purpose: their messages still wait when all else is done. */
async function untilDrained({ sql }: Environment): Promise<void> {
  for (;;) {
    const [row] = await sql`select 1 from actor_message where key not like 'themes:%' limit 1`
    if (row === undefined) return
    await Bun.sleep(POLL_MS)
  }
}

/** Measures each load with workers in the process. */
export async function benchTurns(): Promise<void> {
  await using environment = await openEnvironment(4)
  const tenant = await createTenant(environment)
  await using service = await startService(environment)
  const { baseUrl, pid } = service
  const single = overHttp(baseUrl, tenant, 1)
  const loads: readonly Load[] = [
    { name: 'one event a request', unit: 'event', amount: 4_000, run: (amount) => single.run(amount) },
    {
      name: '6 events a session, open',
      unit: 'session',
      amount: 4_000,
      run: sessionsOfSix(baseUrl, tenant, 'open'),
    },
    {
      name: '6 events a session, ended',
      unit: 'session',
      amount: 4_000,
      run: sessionsOfSix(baseUrl, tenant, 'ended'),
    },
  ]
  const server = postgresPid(environment.databaseUrl)
  const parts = () => [cpuOfSelf(), cpuOfTree(pid), cpuOfTree(server)]
  const rows: string[][] = []
  for (const { name, unit, amount, run } of loads) {
    await run(amount / 4)
    await untilDrained(environment)
    const rounds = []
    for (let round = 0; round < ROUNDS; round++) {
      const [before, started] = [parts(), performance.now()]
      await run(amount)
      await untilCompleted(environment)
      const completed = (amount / (performance.now() - started)) * 1_000
      await untilDrained(environment)
      const rate = (amount / (performance.now() - started)) * 1_000
      const used = parts().map((ms, index) => ((ms - (before[index] ?? 0)) / amount) * 1_000)
      rounds.push({ completed, rate, used, sum: (used[1] ?? 0) + (used[2] ?? 0) })
    }
    const best = rounds.reduce((one, other) => (other.sum < one.sum ? other : one))
    console.error(
      `${name}: ${rounds.map((round) => `${round.completed.toFixed(0)} completed, ${round.rate.toFixed(0)} all a second`).join('; ')}`,
    )
    const completed = Math.max(...rounds.map((round) => round.completed))
    const rate = Math.max(...rounds.map((round) => round.rate))
    rows.push([
      `${name}, a ${unit}`,
      ...[completed, rate, ...best.used, best.sum].map((part) => part.toFixed(0)),
    ])
  }
  console.log(`\nUntil everything is worked off, ROLE=all, ${CALLERS} callers, best of ${ROUNDS}\n`)
  console.log(
    table(
      [
        '',
        'completed a second',
        'all a second',
        'callers, µs',
        'service, µs',
        'PostgreSQL, µs',
        'service and PostgreSQL, µs',
      ],
      rows,
    ),
  )
}

if (import.meta.main) {
  await benchTurns()
  process.exit(0)
}
