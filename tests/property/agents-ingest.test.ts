/**
 * The main property of ingestion: any order, batches, repetitions and concurrency of a conversation lead to the same stored state,
 * with the same signals in the same order and exact counts. The test uses real HTTP, two processes in turn, and a real worker.
 * `EARSHOT_PROPERTY_RUNS` sets the number of runs.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { createRuntime, type Runtime } from '../../src/actors/runtime.ts'
import { type Agent, INGEST, openAgent, type SentEvent } from '../support/agents.ts'
import {
  type Outcome,
  outcomeOf,
  type Plan,
  plan,
  type Step,
  type Thread,
} from '../support/conversation-arbitrary.ts'
import { eventually } from '../support/eventually.ts'
import { rounds } from '../support/rounds.ts'
import { type Client as HttpClient, startTestServer, type TestServer } from '../support/server.ts'

/** Each of many runs waits for turns of some milliseconds. */
const OFTEN = { everyMs: 20 }
const RUNS = Number(process.env.EARSHOT_PROPERTY_RUNS ?? rounds(12, 25))

let server: TestServer
let second: TestServer
let runtime: Runtime
let agent: Agent
/** One client of the application for each process. */
let processes: readonly HttpClient[]
beforeAll(async () => {
  server = await startTestServer({ env: { DATABASE_POOL_SIZE: '20' } })
  // Without the second pass, which comes some time later and replaces findings: the states of two moments would be compared.
  const actors = server.features.actors.filter(({ kind }) => kind !== 'rereading')
  runtime = createRuntime(server.deps, actors)
  await runtime.start()
  agent = await openAgent(server)
  second = await startTestServer({ beside: server })
  processes = [agent.client, second.as({ agentSecret: agent.agentSecret })]
})
afterAll(async () => {
  await runtime.stop(5_000)
  await second.stop()
  await server.stop()
})

test(
  'any order, batches, repetitions and concurrency: same state, same signals, exact counts',
  async () => {
    await fc.assert(fc.asyncProperty(plan, check), { numRuns: RUNS })
  },
  RUNS * 4_000 + 20_000,
)

async function check(sent: Plan): Promise<void> {
  const session = crypto.randomUUID()
  const client = new Client(session, sent)
  await client.run()
  const counts = { accepted: sent.threads.length, revised: revisions(sent.threads) - sent.threads.length }
  expect({ accepted: client.accepted, revised: client.revised }).toEqual(counts)
  expect(client.accepted + client.revised + client.deduplicated).toBe(client.sent)

  const reference = `${session} in order`
  await agent.accept(
    sent.threads.map((thread) => thread.revisions.at(-1)),
    { externalSessionId: reference, status: client.hasEnded ? 'ended' : 'open' },
  )
  const outcome = outcomeOf(sent.threads, client.hasEnded)
  const [state, plain] = await Promise.all([stateOf(session), stateOf(reference)])
  expect(state.events).toEqual([...outcome.events])
  expect(state.superseded).toEqual([...outcome.superseded].sort())
  expect(state.watermark).toBe(outcome.watermark)
  expect(state.feedback).toEqual([...outcome.feedback])
  expect(state.units).toEqual([...outcome.units].sort())
  const { superseded: _, ...same } = plain
  expect(state).toMatchObject(same)
}

const revisions = (threads: readonly Thread[]) =>
  threads.reduce((sum, thread) => sum + thread.revisions.length, 0)

/** A client that does everything that clients may do: repeat, batch, send concurrently, and retry refused requests. */
class Client {
  accepted = 0
  deduplicated = 0
  revised = 0
  /** The events of all requests that were answered with 200. */
  sent = 0
  /** A request with this status was accepted. */
  hasEnded = false
  #isEnding = false
  #requests = 0
  readonly #left = new Map<Thread, readonly SentEvent[]>()
  readonly #done: (readonly SentEvent[])[] = []

  constructor(
    private readonly session: string,
    private readonly plan: Plan,
  ) {
    for (const thread of plan.threads) this.#left.set(thread, thread.revisions)
  }

  async run(): Promise<void> {
    for (const [index, step] of this.plan.steps.entries()) {
      if (index === this.plan.endsAt) this.#isEnding = true
      await this.#step(step)
    }
    // Sends what the plan left out, by sequence, so that every target exists before its feedback.
    while (this.#left.size > 0) await this.#step({ picks: [0], revisions: 1, copies: 1, repeats: [] })
  }

  async #step({ picks, revisions: most, copies, repeats }: Step): Promise<void> {
    const open = [...this.#left.keys()]
    const threads = new Set(picks.flatMap((pick) => open[pick % open.length] ?? []))
    const fresh = [...threads].flatMap((thread) => (this.#left.get(thread) ?? []).slice(0, most).reverse())
    const again = repeats.flatMap((repeat) => {
      const events = this.#done[repeat % this.#done.length]
      return events === undefined ? [] : [events]
    })
    const requests = [...(fresh.length === 0 ? [] : Array.from({ length: copies }, () => fresh)), ...again]
    const answers = await Promise.all(requests.map((events) => this.#send(events)))
    if (fresh.length === 0 || !answers[0]) return
    this.#done.push(fresh)
    for (const thread of threads) {
      const rest = this.#left.get(thread)?.slice(most) ?? []
      if (rest.length > 0) this.#left.set(thread, rest)
      else this.#left.delete(thread)
    }
  }

  /** False if feedback arrived before its target: then all copies of the request have the same result. */
  async #send(events: readonly SentEvent[]): Promise<boolean> {
    const ends = this.#isEnding
    const members = { externalSessionId: this.session, ...(ends ? { status: 'ended' } : {}) }
    const process = processes[this.#requests++ % processes.length] as HttpClient
    const { status, body } = await process.post(INGEST, agent.request(events, members))
    if (status === 400 && body.code === 'invalid_feedback_target') return false
    expect({ status, body }).toMatchObject({ status: 200 })
    this.hasEnded ||= ends
    this.sent += events.length
    this.accepted += body.acceptedEventCount
    this.deduplicated += body.deduplicatedEventCount
    this.revised += body.revisedEventCount
    return true
  }
}

interface State extends Outcome {
  readonly status: string
  readonly processingStatus: string
  readonly bodies: readonly unknown[]
  readonly signals: readonly unknown[]
}

/** All stored rows of a session once its turns are done. */
async function stateOf(externalSessionId: string): Promise<State> {
  const { sql } = server.database
  const [session] = await sql<{ id: string }[]>`
    select id from agent_session where external_session_id = ${externalSessionId}`
  const id = session?.id ?? ''
  await eventually(async () => {
    const keys = [`session:${id}`, `analysis:${id}`]
    const [waiting] = await sql`select 1 from actor_message where key = any(${keys}::text[])`
    return waiting === undefined
  }, OFTEN)
  const [row] = await sql<Pick<State, 'status' | 'processingStatus' | 'watermark'>[]>`
    select status, processing_status as "processingStatus", watermark from agent_session where id = ${id}`
  const signals = await sql<(Outcome['feedback'][number] & { source: string })[]>`
    select
      source, kind, external_event_id as event, target_event_external_id as target, sequence, rating, labels, comment,
      revision
    from agent_signal where session_id = ${id} order by sequence, source, kind`
  const events = await sql<Outcome['events'][number][]>`
    select external_event_id as id, sequence, revision from agent_event where session_id = ${id} order by sequence`
  const bodies = await sql`
    select body, final from agent_event where session_id = ${id} order by sequence`
  const superseded = await sql`
    select external_event_id || ' r' || revision as name from agent_event_revision where session_id = ${id}`
  const units = await sql`select external_event_id as id from agent_usage where session_id = ${id} order by 1`
  return {
    ...(row as Pick<State, 'status' | 'processingStatus' | 'watermark'>),
    events: [...events],
    bodies: [...bodies],
    superseded: superseded.map(({ name }) => name).sort(),
    units: units.map((unit) => unit.id).sort(),
    signals: [...signals],
    feedback: signals
      .filter((signal) => signal.source === 'explicit_feedback')
      .map(({ event, target, rating, comment, revision }) => ({ event, target, rating, comment, revision })),
  }
}
