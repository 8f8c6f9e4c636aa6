/** Sessions through the whole runtime: two workers, many sessions, events out of order, credits that run out and return. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { transactionWithOutbox } from '../../src/actors/mailbox.ts'
import { createRuntime, type Runtime } from '../../src/actors/runtime.ts'
import { loadConfig } from '../../src/app/config.ts'
import { type Container, createContainer } from '../../src/app/container.ts'
import { analysisActor } from '../../src/hear/agents/analysis/actor.ts'
import { sessionActor } from '../../src/hear/agents/sessions/actor.ts'
import { agentMaintenance } from '../../src/hear/agents/sessions/maintenance.ts'
import {
  assistant,
  createApplication,
  createSession,
  creditsOf,
  feedback,
  ledger,
  responseStates,
  sessionRow,
  signalRows,
  storeEvents,
  type TestEvent,
  user,
} from '../support/agent-sessions.ts'
import { rulesOnly } from '../support/analysis.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const SESSIONS = 20
const CREDITS = 50

let database: TestDatabase
let container: Container
const runtimes: Runtime[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  const config = loadConfig({ LOG_LEVEL: 'silent' })
  container = createContainer(config, { database: { url: database.url }, redis: null }, 'test')
  for (let worker = 0; worker < 2; worker++) {
    const runtime = createRuntime(
      container,
      [sessionActor(container), analysisActor(container, rulesOnly(container.textWork))],
      {
        sweepMs: 200,
      },
    )
    runtimes.push(runtime)
    await runtime.start()
  }
})
afterAll(async () => {
  await Promise.all(runtimes.map((runtime) => runtime.stop(5_000)))
  await container.close()
  await database.drop()
})

/** Shuffles events in an order that depends only on the session; neighbours end up far apart. */
function scattered(events: readonly TestEvent[], seed: number): readonly TestEvent[] {
  return events.map((_, index) => events[(index * 7 + seed) % events.length]!)
}

const conversation: readonly TestEvent[] = [
  user(0, 'How do I export my invoices?'),
  assistant(1),
  user(2, 'The export crashes.'),
  assistant(3),
  feedback(4, 'a1', { rating: 'negative' }),
  user(5, 'What else?'),
  assistant(6),
  { ...feedback(7, 'a3'), final: false },
  user(8, 'Thanks, that worked!'),
  assistant(9),
  feedback(10, 'a9', { rating: 'positive', comment: 'Good.' }),
]

const EXPECTED_SIGNALS = [
  'u0 question',
  'u2 bug_report',
  'f4 message_feedback',
  'u8 resolved_confirmation',
  'f10 message_feedback',
]

/** Sends a conversation in pieces, each with a message, as ingestion does. */
async function tell(id: string, events: readonly TestEvent[]): Promise<void> {
  for (const event of events) {
    await storeEvents(database.sql, id, [event])
    await transactionWithOutbox(container, (_, outbox) =>
      outbox.send([{ key: `session:${id}`, type: 'events_stored' }]),
    )
  }
}

test('every session ends with ordered signals and one unit per response, and blocked sessions continue with new credits', async () => {
  const { sql } = database
  const application = await createApplication(sql, { credits: CREDITS })
  const ids = await Promise.all(Array.from({ length: SESSIONS }, () => createSession(sql, application)))
  await Promise.all(ids.map((id, seed) => tell(id, scattered(conversation, seed))))
  const statuses = () => Promise.all(ids.map(async (id) => (await sessionRow(sql, id)).processingStatus))
  const settled = ['completed', 'billing_blocked']
  await eventually(async () => (await statuses()).every((status) => settled.includes(status)))
  expect(await creditsOf(sql, application)).toBe(0)
  expect((await Promise.all(ids.map((id) => ledger(sql, id)))).flat()).toHaveLength(CREDITS)
  for (const id of ids) {
    expect(
      (await signalRows(sql, id)).filter((signal) => signal.source === 'explicit_feedback'),
    ).toHaveLength(2)
  }

  await sql`update organization set response_credits = 1000 where id = ${application.organizationId}`
  const wake = agentMaintenance(container).find((task) => task.name === 'agent_credits')!
  await eventually(async () => {
    // Repeats the task, as the service does: it skips sessions that are in a turn at that moment.
    await wake.run(new AbortController().signal)
    return (await statuses()).every((status) => status === 'completed')
  })
  expect(await creditsOf(sql, application)).toBe(1000 - (SESSIONS * 4 - CREDITS))
  for (const id of ids) {
    expect(await responseStates(sql, id)).toEqual(
      ['a1', 'a3', 'a6', 'a9'].map((event) => `${event} analyzed`),
    )
    expect(await ledger(sql, id)).toEqual(['a1', 'a3', 'a6', 'a9'])
    const signals = await signalRows(sql, id)
    expect(signals.map(({ event, kind }) => `${event} ${kind}`)).toEqual(EXPECTED_SIGNALS)
  }
  expect(await sql`select 1 from actor_dead_letter`).toHaveLength(0)
}, 300_000)
