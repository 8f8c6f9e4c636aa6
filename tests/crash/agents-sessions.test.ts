/**
 * Many sessions at once while processes die: one API process, two worker processes over PostgreSQL and Redis. When a quarter is sent, a
 * worker and the API process are killed and replaced, and their clients go on trying. In a thorough check this happens every second.
 *
 * What must hold: everything answered with 200 is stored; nothing is doubled, above all no units; every session was processed in
 * order of sequence; and the backlog drains by itself.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  type Agent,
  assistantMessage,
  feedbackOn,
  INGEST,
  openAgent,
  userMessage,
} from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { endLeases } from '../support/mailboxes.ts'
import { type PrivateRedis, startPrivateRedis } from '../support/private-redis.ts'
import { type Service, useServices } from '../support/process.ts'
import { rounds } from '../support/rounds.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { inForeground } from './support/lag.ts'

const SESSIONS = rounds(60, 150)
/** Requests of a session, sent in this order; requests on one line are sent at once. Each has three events. */
const ROUNDS = [[0], [2, 1], [3]] as const
const ROUNDS_PER_SESSION = ROUNDS.flat().length
const EVENTS_PER_SESSION = ROUNDS_PER_SESSION * 3
const CREDITS = 1_000_000
const KILL_EVERY_MS = 1_000
/** Kills of workers. In a thorough check they go on until everything is sent. */
const [MIN_KILLS, MOST_KILLS] = rounds([1, 1], [4, Number.POSITIVE_INFINITY])

let server: TestServer
let redis: PrivateRedis
let cluster: Cluster
/** Requests answered with 200. */
let accepted = 0
/** Half of the sessions belong to an organization that pays by credits, half to one that does not. */
let agents: readonly [Agent, Agent]
beforeAll(async () => {
  server = await startTestServer()
  redis = await startPrivateRedis()
  agents = [await openAgent(server), await openAgent(server)]
  await server.features.identity.setCredits(agents[0].organizationId, CREDITS)
  cluster = await startCluster()
}, 300_000)
afterAll(async () => {
  await Promise.all(cluster.workers.map((worker) => worker.kill()))
  await cluster.api.kill()
  await redis.stop()
  await server.stop()
})
const services = useServices()

interface Cluster {
  api: Service
  readonly workers: Service[]
}

function startProcess(role: 'api' | 'worker') {
  const env = { DATABASE_URL: server.database.url, REDIS_URL: redis.url, LOG_LEVEL: 'error' }
  return services.start({ env: { ...env, ROLE: role, WORKER_THREADS: '1' } })
}

async function startCluster(): Promise<Cluster> {
  const [api, ...workers] = await Promise.all([
    startProcess('api'),
    startProcess('worker'),
    startProcess('worker'),
  ])
  return { api, workers }
}

test('sessions in parallel while workers and the API are killed: nothing lost, doubled or out of order', async () => {
  const sending = sendEverything()
  const kills = await killUntil(sending)
  await sending
  expect(kills.workers).toBeGreaterThanOrEqual(MIN_KILLS)
  expect(kills.apis).toBeGreaterThanOrEqual(1)
  await expectDrained()
  await expectNothingLost()
  await expectInOrder()
  await expectUnits()
}, 300_000)

function sendEverything(): Promise<unknown> {
  return Promise.all(
    Array.from({ length: SESSIONS }, async (_, index) => {
      for (const rounds of ROUNDS) await Promise.all(rounds.map((round) => sendRound(index, round)))
    }),
  )
}

/** Repeats one request until it is answered with 200. */
async function sendRound(index: number, round: number): Promise<void> {
  const agent = agents[index % 2] as Agent
  const first = round * 3 + 1
  const body = JSON.stringify(
    agent.request([userMessage(first), assistantMessage(first + 1), feedbackOn(`a${first + 1}`, first + 2)], {
      externalSessionId: `session ${index}`,
      ...(round === ROUNDS_PER_SESSION - 1 ? { status: 'ended' } : {}),
    }),
  )
  const headers = { 'content-type': 'application/json', 'x-service-agent-key': agent.agentSecret }
  await eventually(
    async () => {
      const response = await fetch(`${cluster.api.baseUrl}${INGEST}`, { method: 'POST', headers, body })
      expect([response.status, await response.text()]).toEqual([200, expect.any(String)])
      accepted += 1
    },
    { deadlineMs: 90_000, everyMs: 500 + Math.random() * 500 },
  )
}

/**
 * Kills workers, and the API process at most twice, until everything is sent and enough have died. The first ones die when a quarter is
 * sent. The leases of all workers end with each kill: the worker that lives loses its turns to the next one, too.
 */
async function killUntil(sent: Promise<unknown>) {
  const kills = { workers: 0, apis: 0 }
  const restarts: Promise<unknown>[] = []
  let isSent = false
  void sent.finally(() => (isSent = true)).catch(() => {}) // the caller awaits it too
  await eventually(() => accepted >= SESSIONS)
  while (kills.workers < MIN_KILLS || (!isSent && kills.workers < MOST_KILLS)) {
    const worker = cluster.workers.shift()
    if (worker !== undefined) {
      await worker.kill('SIGKILL')
      kills.workers += 1
      await endLeases(server.database.sql)
      restarts.push(startProcess('worker').then((next) => cluster.workers.push(next)))
    }
    if (!isSent && kills.apis < 2 && kills.workers % 2 === 1) {
      await cluster.api.kill('SIGKILL')
      kills.apis += 1
      cluster.api = await startProcess('api')
    }
    if (kills.workers < MOST_KILLS) await Bun.sleep(KILL_EVERY_MS)
  }
  await Promise.all(restarts)
  return kills
}

/**
 * Without help: live workers take over from dead ones. Second passes and themes follow in the background, at their
 * own pace.
 */
async function expectDrained() {
  await eventually(
    async () => {
      const rows = await server.database.sql`
          select key, type, attempts, last_error from actor_message
          where ${inForeground(server.database.sql)}
          limit 5`
      expect([...rows]).toEqual([])
    },
    { deadlineMs: 120_000 },
  )
  expect([...(await server.database.sql`select * from actor_dead_letter`)]).toEqual([])
}

async function expectNothingLost() {
  const rows = await server.database.sql`
    select
      s.status, s.processing_status, s.watermark,
      (select count(*) from agent_event e where e.session_id = s.id) as events,
      (select count(*) from agent_signal g where g.session_id = s.id and g.source = 'explicit_feedback') as signals,
      (select count(*) from agent_usage u where u.session_id = s.id) as units,
      count(*) as sessions
    from agent_session s
    group by 1, 2, 3, 4, 5, 6`
  expect([...rows]).toEqual([
    {
      status: 'ended',
      processing_status: 'completed',
      watermark: EVENTS_PER_SESSION,
      events: EVENTS_PER_SESSION,
      signals: ROUNDS_PER_SESSION,
      units: ROUNDS_PER_SESSION,
      sessions: SESSIONS,
    },
  ])
  const [ids] = await server.database.sql`
    select count(*) as wrong from agent_event
    where external_event_id <> left(type, 1) || sequence or revision <> 1`
  expect(ids?.wrong).toBe(0)
}

/** A signal is written in the transaction that processes its event, and those of a session follow one another. */
async function expectInOrder() {
  const rows = await server.database.sql`
    select session_id, sequence
    from (
      select
        session_id, sequence, created_at,
        max(created_at) over (partition by session_id order by sequence rows unbounded preceding) as latest
      from agent_signal
      where source = 'explicit_feedback'
    ) as processed
    where created_at < latest`
  expect([...rows]).toEqual([])
}

async function expectUnits() {
  const { sql } = server.database
  const credits = await sql`
    select response_credits from organization where id = ${agents[0].organizationId}`
  expect(credits[0]?.response_credits).toBe(CREDITS - (SESSIONS / 2) * ROUNDS_PER_SESSION)
  const [wrong] = await sql`
    select count(*) as count
    from agent_usage u
    left join agent_event e
      on e.organization_id = u.organization_id and e.session_id = u.session_id
      and e.external_event_id = u.external_event_id and e.type = 'assistant_message'
    where e.session_id is null or u.unit <> 'agent_response_processed'`
  expect(wrong?.count).toBe(0)
}
