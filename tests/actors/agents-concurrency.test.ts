/**
 * Two processes with workers share one database, while clients send concurrently, repeat and revise, settings change and credits run
 * out. Every event is stored once, every response is paid for once, and never more than the credits allow.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { assistantMessage, feedbackOn, INGEST, openAgent, userMessage } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const SESSIONS = 24
const TURNS = 4
const CREDITS = 50
const MAIL = '[a-z]+@example\\.com'

let server: TestServer
let second: TestServer
beforeAll(async () => {
  server = await startTestServer({ actors: true })
  second = await startTestServer({ beside: server, actors: true })
})
afterAll(async () => {
  await second.stop()
  await server.stop()
})

/** A question, the answer to it in two revisions, and feedback on the answer. */
function requestsOf(turn: number) {
  const at = turn * 3 + 1
  const answer = assistantMessage(at + 1, { content: 'My mail is a@example.com.' })
  return [
    [userMessage(at), { ...answer, final: false }],
    [{ ...answer, revision: 2 }],
    [feedbackOn(`a${at + 1}`, at + 2)],
  ]
}

test('any order, repetition and process leads to the same stored state and the same metered units', async () => {
  const agent = await openAgent(server)
  const { sql } = server.database
  await sql`update organization set response_credits = ${CREDITS} where id = ${agent.organizationId}`
  const processes = [agent.client, second.as({ agentSecret: agent.agentSecret })]
  let requests = 0
  const counts = { acceptedEventCount: 0, revisedEventCount: 0 }

  async function converse(externalSessionId: string): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) {
      // Redaction sometimes changes, even between an event and its repetition.
      if (requests % 5 === 0) await agent.configure({ redactedPatterns: requests % 2 === 0 ? [MAIL] : [] })
      for (const events of requestsOf(turn)) {
        const copies = await Promise.all(
          [0, 1, 2].map(() => {
            const client = processes[requests++ % 2]
            return client?.post(INGEST, agent.request(events, { externalSessionId }))
          }),
        )
        for (const copy of copies) {
          expect(copy).toMatchObject({ status: 200 })
          counts.acceptedEventCount += copy?.body.acceptedEventCount
          counts.revisedEventCount += copy?.body.revisedEventCount
        }
      }
    }
  }

  await Promise.all(Array.from({ length: SESSIONS }, (_, index) => converse(`session ${index}`)))
  expect(counts).toEqual({
    acceptedEventCount: SESSIONS * TURNS * 3,
    revisedEventCount: SESSIONS * TURNS,
  })

  // Reading an open session again waits for half a minute.
  const quiet = () =>
    eventually(
      async () =>
        (await sql`select 1 from actor_message where key not like 'rereading:%' limit 1`).length === 0,
    )
  const bill = async () => {
    const [row] = await sql`
      select
        (select count(*)::int from agent_event) as events,
        (select count(*)::int from agent_event_revision) as revisions,
        (select count(*)::int from agent_usage) as units,
        (select response_credits from organization where id = ${agent.organizationId}) as credits,
        (select count(*)::int from agent_signal where source = 'explicit_feedback') as feedback,
        (select min(watermark) from agent_session) as watermark,
        (select count(*)::int from agent_response where state = 'billing_blocked') as blocked,
        (select count(*)::int from actor_dead_letter) as dead`
    return { ...row }
  }
  await quiet()
  const stored = {
    events: SESSIONS * TURNS * 3,
    revisions: SESSIONS * TURNS,
    feedback: SESSIONS * TURNS,
    watermark: TURNS * 3,
    dead: 0,
  }
  expect(await bill()).toEqual({
    ...stored,
    units: CREDITS,
    credits: 0,
    blocked: SESSIONS * TURNS - CREDITS,
  })

  await sql`update organization set response_credits = 1000 where id = ${agent.organizationId}`
  for (let index = 0; index < SESSIONS; index++)
    await agent.accept([userMessage(900 + index)], { externalSessionId: `session ${index}`, status: 'ended' })
  await quiet()
  expect(await bill()).toMatchObject({
    units: SESSIONS * TURNS,
    credits: 1000 - (SESSIONS * TURNS - CREDITS),
    blocked: 0,
    dead: 0,
  })
}, 300_000)
