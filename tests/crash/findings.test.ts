/**
 * Processes are killed while findings are written: between the findings and the removal of the message, and in a thorough check also
 * at random points. Every conversation, feedback record and transcript ends with exactly
 * one set of findings: that of a subject with the same words that was analysed without a kill.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Agent, assistantMessage, openAgent, userMessage } from '../support/agents.ts'
import { hold } from '../support/erasure.ts'
import { eventually } from '../support/eventually.ts'
import { createRecord, createSource, field } from '../support/feedback.ts'
import { endLeases } from '../support/mailboxes.ts'
import { type PrivateRedis, startPrivateRedis } from '../support/private-redis.ts'
import { type Service, useServices } from '../support/process.ts'
import { rounds } from '../support/rounds.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

const COPIES = rounds(2, 6)
/** At random points, of one of two workers. */
const RANDOM_KILLS = rounds(0, 3)
const SETTLED = { deadlineMs: 200_000, everyMs: 250 }

/** What customers say, in turns with the agent. Without an answer in the last. */
const SCRIPTS: readonly (readonly string[])[] = [
  ['How do I export my invoices?', 'The menu crashes, this is terrible.', 'Thank you, that worked!'],
  ['The export crashes.', 'It still fails with error 500.'],
  ['Could you add a dark mode?'],
]
const UNANSWERED = ['The import crashes.', 'Hello? The import still crashes.', 'Nobody answers!']
const RECORD = 'I cannot log in: the app shows error 500 and crashes.'

let server: TestServer
let redis: PrivateRedis
let agent: Agent
let key: Client
let sourceId: number
const workers: Service[] = []

beforeAll(async () => {
  server = await startTestServer()
  redis = await startPrivateRedis()
  agent = await openAgent(server)
  key = server.as({ apiKey: agent.tenant.apiKey })
  sourceId = await createSource(key)
}, 300_000)
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.kill()))
  await redis.stop()
  await server.stop()
})
const services = useServices()

async function startWorker(): Promise<void> {
  const env = { DATABASE_URL: server.database.url, REDIS_URL: redis.url, LOG_LEVEL: 'error' }
  workers.push(await services.start({ env: { ...env, ROLE: 'worker', WORKER_THREADS: '1' } }))
}

async function tell(script: number, copy: string): Promise<void> {
  const texts = SCRIPTS[script] ?? UNANSWERED
  const events = texts.flatMap((content, n) => [
    userMessage(2 * n, { content }),
    ...(script < SCRIPTS.length ? [assistantMessage(2 * n + 1)] : []),
  ])
  const sequenced = events.map((one, sequence) => ({ ...one, sequence }))
  const externalSessionId = `script ${script} ${copy}`
  for (const one of sequenced.slice(0, -1)) await agent.accept([one], { externalSessionId })
  await agent.accept(sequenced.slice(-1), { externalSessionId, status: 'ended' })
}

const scripts = [...SCRIPTS.keys(), SCRIPTS.length]

async function tellAll(copy: string): Promise<void> {
  await Promise.all(scripts.map((script) => tell(script, copy)))
  await createRecord(key, sourceId, { fields: [field({ value: RECORD })], external_id: copy })
}

/** Without help: live workers take over from dead ones. */
const quiet = () =>
  eventually(async () => {
    const rows = await server.database
      .sql`select key, type, attempts from actor_message where key not like 'themes:%' limit 3`
    return rows.length === 0
  }, SETTLED)

/** Kills the only worker when it has written the findings of a conversation and waits to remove the message that asked for them. */
async function killBeforeRemoval(): Promise<void> {
  const { sql } = server.database
  const held = await eventually(async () => {
    let messages = 0
    const one = await hold(sql, async (tx) => {
      messages = (await tx`select 1 from actor_message where key like 'analysis:%' for share skip locked`)
        .count
    })
    if (messages > 0) return one
    await one.release()
    return false
  })
  await held.blocks()
  await workers.shift()?.kill('SIGKILL')
  await held.release()
  await endLeases(sql)
}

/** The findings and the outcome of each subject, by its script, and how many subjects have just these. */
async function sets() {
  const rows = await server.database.sql<{ script: string; found: string; count: number }[]>`
    select script, found, count(*)::int as count
    from (
      select
        coalesce(left(s.external_session_id, 8), i.channel) as script,
        concat_ws(
          ' | ', i.state, i.outcome, i.sentiment, i.language,
          (
            select string_agg(concat_ws(' ', g.kind, g.tier, g.comment, g.sequence, g.field, g.shown), '; ' order by g.kind)
            from agent_signal g
            where (g.session_id = i.session_id or g.feedback_record_id = i.feedback_record_id) and g.source = 'qualitative_inference'
          )
        ) as found
      from insight_subject i
      left join agent_session s on s.id = i.session_id
    ) one
    group by 1, 2
    order by 1, 2`
  return rows.map((row) => ({ ...row }))
}

test('kill -9 while findings are written: every subject ends with the set that it has without a kill', async () => {
  await startWorker()
  await tellAll('undisturbed')
  await quiet()
  const undisturbed = await sets()
  expect(undisturbed.map(({ script, count }) => [script, count])).toEqual([
    ['feedback', 1],
    ...scripts.map((script) => [`script ${script}`, 1] as [string, number]),
  ])
  expect(undisturbed.filter(({ found }) => / (?:sure|likely) /.test(found)).length).toBeGreaterThanOrEqual(3)

  const sending = (async () => {
    for (let copy = 0; copy < COPIES; copy++) await tellAll(`copy ${copy}`)
  })()
  await killBeforeRemoval()
  await startWorker()
  if (RANDOM_KILLS > 0) await startWorker()
  for (let kill = 0; kill < RANDOM_KILLS; kill++) {
    await Bun.sleep(500 + Math.random() * 1_500)
    await workers.shift()?.kill('SIGKILL')
    await startWorker()
  }
  await sending
  await quiet()
  expect(await sets()).toEqual(undisturbed.map((one) => ({ ...one, count: COPIES + 1 })))
  expect([...(await server.database.sql`select * from actor_dead_letter`)]).toEqual([])
}, 480_000)
