/**
 * The main property of appending: whatever part of a history which caller sends how often, in which order and at the same time, the
 * session has one order without gaps, every event once, and the same bill. Real HTTP, two processes in turn, and a real worker.
 * `EARSHOT_PROPERTY_RUNS` sets the number of runs, which is 25 by default.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { resolve } from 'node:path'
import fc from 'fast-check'
import { createRuntime, type Runtime } from '../../src/actors/runtime.ts'
import { type Agent, APPEND, eventRows, type Members, openAgent } from '../support/agents.ts'
import type { AppendOrder } from '../support/append-process.ts'
import { eventually } from '../support/eventually.ts'
import { type Answer, type Client, startTestServer, type TestServer } from '../support/server.ts'

/** Each of many runs waits for turns of some milliseconds. */
const OFTEN = { everyMs: 20 }
const RUNS = Number(process.env.EARSHOT_PROPERTY_RUNS ?? 25)

let server: TestServer
let second: TestServer
let runtime: Runtime
let agent: Agent
/** One client of the application for each process. */
let processes: readonly Client[]
beforeAll(async () => {
  server = await startTestServer({ env: { DATABASE_POOL_SIZE: '20' } })
  runtime = createRuntime(server.deps, server.features.actors)
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

/** A part of the history: `[from, to)`, bounded by its length. Without ids a part begins with the history. */
interface Part {
  readonly from: number
  readonly to: number
}

interface Plan {
  readonly named: boolean
  readonly history: readonly Members[]
  /** Steps of parts that are sent at the same time. */
  readonly steps: readonly (readonly Part[])[]
}

const line = fc.record({
  type: fc.constantFrom('user_message', 'assistant_message'),
  content: fc.constantFrom('Yes.', 'No.', 'How do I export my data?'),
})
const part = fc
  .tuple(fc.nat({ max: 12 }), fc.nat({ max: 12 }))
  .map(([a, b]) => ({ from: Math.min(a, b), to: Math.max(a, b) }))
const plan: fc.Arbitrary<Plan> = fc.record({
  named: fc.boolean(),
  history: fc.array(line, { minLength: 1, maxLength: 12 }),
  steps: fc.array(fc.array(part, { minLength: 1, maxLength: 4 }), { maxLength: 4 }),
})

test(
  'any overlap, repetition and order of callers: one order, no duplicate, the same bill',
  async () => {
    await fc.assert(fc.asyncProperty(plan, check), { numRuns: RUNS })
  },
  RUNS * 4_000 + 20_000,
)

async function check({ named, history, steps }: Plan): Promise<void> {
  const session = crypto.randomUUID()
  const events = history.map((event, n) => (named ? { ...event, externalEventId: `m${n}` } : event))
  const whole = { from: 0, to: events.length }
  const answers: Answer[] = []
  let sent = 0
  for (const parts of [...steps, [whole]]) {
    const requests = parts
      .map(({ from, to }) => events.slice(named ? from : 0, to))
      .filter((request) => request.length > 0)
    sent += requests.reduce((sum, request) => sum + request.length, 0)
    answers.push(...(await together(session, requests)))
  }
  const total = sum(answers)
  expect(total).toEqual({ accepted: events.length, deduplicated: sent - events.length, revised: 0 })

  const last = answers.at(-1)?.body
  expect(last.nextSequence).toBe(events.length + 1)
  const stored = await eventRows(server.database.sql, last.sessionId)
  expect(stored.map(({ sequence }) => sequence)).toEqual(events.map((_, n) => n + 1))
  const sequences = new Map(stored.map(({ id, sequence }) => [id, sequence]))
  expect(sequences.size).toBe(events.length)
  for (const { body } of answers)
    for (const { externalEventId, sequence, revision } of body.events)
      expect([externalEventId, sequence, revision]).toEqual([
        externalEventId,
        sequences.get(externalEventId),
        1,
      ])
  // Without ids every request begins with the history, so the stored order is that of the history.
  if (!named) expect(stored.map(({ body }) => body.content)).toEqual(history.map(({ content }) => content))
  await expectBill(last.sessionId, history.filter(({ type }) => type === 'assistant_message').length)
}

test('50 concurrent appends of overlapping histories of one session from four processes: no 409, one order', async () => {
  const history = Array.from({ length: 50 }, (_, n) => ({
    type: n % 2 === 0 ? 'user_message' : 'assistant_message',
    content: `Line ${Math.floor(n / 4)}`,
  }))
  // Neither rising nor falling, so that short histories arrive after long ones and before them.
  const requests = history.map((_, n) => history.slice(0, ((n * 17) % 50) + 1))
  const externalSessionId = crypto.randomUUID()
  const bodies = requests.map((events) => agent.request(events, { externalSessionId }))
  const answers = (
    await Promise.all(
      Array.from({ length: 4 }, (_, sender) =>
        fromProcess({
          url: `${(sender % 2 === 0 ? server : second).baseUrl}${APPEND}`,
          headers: { 'content-type': 'application/json', 'x-service-agent-key': agent.agentSecret },
          bodies: bodies.filter((_, n) => n % 4 === sender),
        }),
      ),
    )
  ).flat()
  expect(answers.map(({ status }) => status)).toEqual(requests.map(() => 200))
  const sent = requests.reduce((total, request) => total + request.length, 0)
  expect(sum(answers)).toEqual({ accepted: 50, deduplicated: sent - 50, revised: 0 })
  const { sessionId } = answers[0]!.body
  const stored = await eventRows(server.database.sql, sessionId)
  expect(stored.map(({ sequence, type, body }) => [sequence, type, body.content])).toEqual(
    history.map(({ type, content }, n) => [n + 1, type, content]),
  )
  await expectBill(sessionId, 25)
})

/** Sends the requests from a new process, all at the same time. */
async function fromProcess(order: AppendOrder): Promise<readonly Pick<Answer, 'status' | 'body'>[]> {
  const child = Bun.spawn([process.execPath, resolve(import.meta.dir, '../support/append-process.ts')], {
    stdin: new TextEncoder().encode(JSON.stringify(order)),
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const [text, code] = await Promise.all([new Response(child.stdout).text(), child.exited])
  expect(code).toBe(0)
  return JSON.parse(text)
}

async function together(
  externalSessionId: string,
  requests: readonly (readonly Members[])[],
): Promise<readonly Answer[]> {
  const answers = await Promise.all(
    requests.map((events, n) =>
      processes[n % processes.length]!.post(APPEND, agent.request(events, { externalSessionId })),
    ),
  )
  expect(answers.map(({ status }) => status)).toEqual(requests.map(() => 200))
  return answers
}

function sum(answers: readonly Pick<Answer, 'body'>[]) {
  const of = (name: string) => answers.reduce((total, { body }) => total + body[name], 0)
  return {
    accepted: of('acceptedEventCount'),
    deduplicated: of('deduplicatedEventCount'),
    revised: of('revisedEventCount'),
  }
}

/** Waits for the session's turns, and expects that so many responses were metered. */
async function expectBill(sessionId: string, responses: number): Promise<void> {
  const { sql } = server.database
  await eventually(async () => {
    const [waiting] = await sql`select 1 from actor_message where key = ${`session:${sessionId}`}`
    return waiting === undefined
  }, OFTEN)
  const [row] = await sql<{ units: number }[]>`
    select count(*)::int as units from agent_usage where session_id = ${sessionId}`
  expect(row?.units).toBe(responses)
}
