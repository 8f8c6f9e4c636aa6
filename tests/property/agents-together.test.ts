/**
 * Any sessions may share a transaction: the result for each is the same as if its turn had run alone. Where sessions share credits,
 * they receive them in the order of their ids.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { NewMessage } from '../../src/actors/types.ts'
import { sessionActor } from '../../src/hear/agents/sessions/actor.ts'
import { newId } from '../../src/platform/ids.ts'
import {
  assistant,
  createApplication,
  createSession,
  creditsOf,
  feedback,
  ledger,
  responseStates,
  runSessions,
  sessionRow,
  signalRows,
  storeEvents,
  type TestApplication,
  type TestEvent,
  user,
} from '../support/agent-sessions.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

const RUNS = Number(process.env.EARSHOT_PROPERTY_RUNS ?? 25)
/** One value for each session, in the order of their ids. */
const APPLICATION_OF = [0, 1, 2, 1, 3, 0, 1, 0]
const SESSIONS = APPLICATION_OF.length
const actor = sessionActor({ newId })
let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

/** The sequence determines the event. The same sequence again is a revision. */
const event = fc.record({
  sequence: fc.nat(7),
  form: fc.constantFrom('final', 'final', 'final', 'partial', 'empty'),
  text: fc.constantFrom('one', 'two'),
})

const step = fc.record({
  session: fc.nat(SESSIONS - 1),
  events: fc.uniqueArray(event, { selector: ({ sequence }) => sequence, maxLength: 8 }),
  status: fc.constantFrom('open', 'open', 'open', 'ended'),
  isIdle: fc.boolean(),
  isDeleted: fc.constantFrom(false, false, false, false, false, true),
})

/** The changes of sessions and the added credits of each round. */
const rounds = fc.array(
  fc.record({ steps: fc.array(step, { minLength: 4, maxLength: 10 }), credits: fc.nat(2) }),
  { minLength: 1, maxLength: 4 },
)
type Round = typeof rounds extends fc.Arbitrary<readonly (infer R)[]> ? R : never

interface World {
  readonly applications: readonly TestApplication[]
  /** In the order of their ids. */
  readonly sessions: readonly string[]
}

/** Two sessions with limited credits, one with unlimited credits, and one without content capture. */
async function createWorld(): Promise<World> {
  const { sql } = database
  const applications = [
    await createApplication(sql, { credits: 1 }),
    await createApplication(sql, { credits: 1 }),
    await createApplication(sql),
    await createApplication(sql, { credits: 1, settings: { captureContent: false } }),
  ]
  const created = await Promise.all(
    Array.from({ length: SESSIONS }, () => createSession(sql, applications[0] as TestApplication)),
  )
  const sessions = created.toSorted()
  for (const [index, id] of sessions.entries()) {
    const { organizationId, applicationId } = applications[APPLICATION_OF[index] ?? 0] as TestApplication
    await sql`
      update agent_session set organization_id = ${organizationId}, application_id = ${applicationId} where id = ${id}`
  }
  return { applications, sessions }
}

function toEvent({ sequence, form, text }: Round['steps'][number]['events'][number], revision: number) {
  const made: TestEvent =
    sequence % 3 === 0
      ? user(sequence, text)
      : sequence % 3 === 1
        ? assistant(sequence, text)
        : feedback(sequence, 'a1', { rating: 'negative', comment: text })
  return { ...made, revision, final: form !== 'partial', ...(form === 'empty' ? { body: {} } : {}) }
}

/** Applies all changes that precede the turns of a round. */
async function prepare(world: World, { steps, credits }: Round, round: number): Promise<void> {
  const { sql } = database
  for (const [index, { session, events, status, isIdle, isDeleted }] of steps.entries()) {
    const id = world.sessions[session] ?? ''
    const revision = round * 10 + index + 1
    await storeEvents(
      sql,
      id,
      events.map((one) => toEvent(one, revision)),
    )
    await sql`
      update agent_session set
        status = case when status = 'ended' then status else ${status} end,
        last_activity_at = case when ${isIdle}::boolean then now() - interval '2 days' else now() end
      where id = ${id}`
    if (isDeleted) await sql`delete from agent_session where id = ${id}`
  }
  const ids = world.applications.map(({ organizationId }) => organizationId)
  await sql`
    update organization set response_credits = response_credits + ${credits}
    where id = any(${ids}::uuid[]) and response_credits is not null`
}

/** The observable state of a world, without the ids that differ between two worlds. */
async function stateOf({ applications, sessions }: World, newMessages: readonly NewMessage[]) {
  const { sql } = database
  const ofSessions = await Promise.all(
    sessions.map(async (id) => {
      const session = await sessionRow(sql, id)
      const signals = (await signalRows(sql, id)).map((signal) => ({ ...signal, id: null }))
      const versions = await sql`
        select external_event_id as id, version from agent_response where session_id = ${id} order by 1`
      const lateEvents = await sql`select 1 from agent_late_event where session_id = ${id}`
      return {
        session: session && { ...session, gapDeadline: session.gapDeadline !== null },
        signals,
        responses: await responseStates(sql, id),
        versions: [...versions],
        units: await ledger(sql, id),
        lateEvents: lateEvents.length,
        // Ids differ from world to world.
        newMessages: newMessages
          .filter(({ key }) => key === `analysis:${id}`)
          .map((one) => ({ ...one, key: '', organizationId: '' })),
      }
    }),
  )
  return {
    sessions: ofSessions,
    credits: await Promise.all(applications.map((one) => creditsOf(sql, one))),
  }
}

async function takeTurns(parts: readonly (readonly string[])[]): Promise<readonly NewMessage[]> {
  const newMessages: NewMessage[] = []
  for (const ids of parts) newMessages.push(...(await runSessions(database.sql, actor, ids)).newMessages)
  return newMessages
}

test(
  'whatever happens to sessions of several organizations, turns together do what turns one by one do',
  async () => {
    const check = async (happening: readonly Round[], cut: number) => {
      const [alone, together, parted] = [await createWorld(), await createWorld(), await createWorld()]
      for (const [round, one] of happening.entries()) {
        for (const world of [alone, together, parted]) await prepare(world, one, round)
        const expected = await stateOf(alone, await takeTurns(alone.sessions.map((id) => [id])))
        expect(await stateOf(together, await takeTurns([together.sessions]))).toEqual(expected)
        const parts = [parted.sessions.slice(0, cut), parted.sessions.slice(cut)]
        expect(await stateOf(parted, await takeTurns(parts))).toEqual(expected)
      }
    }
    await fc.assert(fc.asyncProperty(rounds, fc.integer({ min: 1, max: SESSIONS - 1 }), check), {
      numRuns: RUNS,
    })
  },
  RUNS * 4_000 + 20_000,
)
