/** The first analysis of sessions with metered responses, from stored events to findings. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { analysisActor } from '../../src/agents/analysis/actor.ts'
import { sessionActor } from '../../src/agents/sessions/actor.ts'
import { deleteSessions } from '../../src/agents/sessions/deletion.store.ts'
import type { Analyzer, Subject } from '../../src/analyze/insight.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { newId } from '../../src/platform/ids.ts'
import {
  assistant,
  createApplication,
  createSession,
  feedback,
  giveUpAnalysis,
  ledger,
  responseStates,
  runAnalysis,
  runSession,
  sessionRow,
  signalRows,
  storeEvents,
  type TestApplication,
  type TestEvent,
  user,
} from '../support/agent-sessions.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { textWorkHere } from '../support/text-work.ts'

let database: TestDatabase
let application: TestApplication
const deps = { newId, textWork: textWorkHere }
const ofSessions = sessionActor(deps)
const builtIn = analysisActor(deps)

beforeAll(async () => {
  database = await createTestDatabase()
  application = await createApplication(database.sql)
})
afterAll(() => database.drop())

/** Stores events in a new or known session and runs its actor. */
async function processed(events: readonly TestEvent[], known?: string, owner = application): Promise<string> {
  const id = known ?? (await createSession(database.sql, owner))
  await storeEvents(database.sql, id, events)
  await runSession(database.sql, ofSessions, id)
  return id
}
const analyse = (id: string, actor = builtIn) => runAnalysis(database.sql, actor, id)
const status = async (id: string) => (await sessionRow(database.sql, id)).processingStatus
const kinds = async (id: string) =>
  (await signalRows(database.sql, id)).map(({ event, kind, rating }) => `${event} ${kind} ${rating}`)

/** An analyser that does `meanwhile` and records each subject. */
function scripted(meanwhile: (call: number) => Promise<void> | void) {
  const asked: Subject[] = []
  const analyzer: Analyzer = {
    name: 'scripted',
    version: '1',
    async analyze(subjects) {
      asked.push(...subjects)
      await meanwhile(asked.length)
      return subjects.map(() => ({
        language: 'en',
        supported: true,
        outcome: 'unclear',
        sentiment: 'neutral',
        findings: [],
      }))
    },
  }
  return { asked, actor: analysisActor(deps, analyzer) }
}

test('a conversation gets findings with the words of the customer, and the session completes', async () => {
  const id = await processed([
    user(0, 'How do I export my invoices?'),
    assistant(1, 'Open the menu.'),
    user(2, 'The export does not work.'),
    assistant(3, 'Use the button at the top.'),
    user(4, 'Perfect, that worked!'),
    feedback(5, 'a3'),
  ])
  expect(await status(id)).toBe('processing')
  expect(await analyse(id)).toBe(1)
  expect(await kinds(id)).toEqual(
    expect.arrayContaining([
      'u0 question null',
      'u2 bug_report negative',
      'u4 resolved_confirmation positive',
      'f5 message_feedback positive',
    ]),
  )
  const bug = (await signalRows(database.sql, id)).find(({ kind }) => kind === 'bug_report')
  expect(bug).toMatchObject({
    source: 'qualitative_inference',
    target: 'a1',
    participant: 'anna',
    comment: 'The export does not work.',
  })
  expect(await status(id)).toBe('completed')
})

test('the analyser gets the whole conversation, without messages that nobody reads', async () => {
  const { asked, actor } = scripted(() => {})
  const id = await processed([
    user(0, 'first'),
    user(1, 'second'),
    assistant(2, 'one'),
    { ...assistant(3), id: 't3', body: { content: [{ type: 'tool_use' }] } },
    user(4, 'still'),
    assistant(5, 'two'),
  ])
  await analyse(id, actor)
  expect(asked[0]?.said.map(({ own, text }) => `${own ? '<' : '>'} ${text}`)).toEqual([
    '> first',
    '> second',
    '< one',
    '> still',
    '< two',
  ])
})

test('of a long conversation the first message and the newest 200 are read', async () => {
  const { asked, actor } = scripted(() => {})
  const id = await processed(
    Array.from({ length: 150 }, (_, n) => [
      user(2 * n, `u${2 * n}`),
      assistant(2 * n + 1, `a${2 * n + 1}`),
    ]).flat(),
  )
  await analyse(id, actor)
  const texts = asked[0]?.said.map(({ text }) => text) ?? []
  expect([texts.length, texts[0], texts[1], texts.at(-1)]).toEqual([201, 'u0', 'u100', 'a299'])
})

test('a later message of the customer has the conversation analysed again, without a new unit', async () => {
  const id = await processed([user(0, 'Hello'), assistant(1)])
  await analyse(id)
  expect([await kinds(id), await status(id)]).toEqual([[], 'completed'])
  await processed([user(2, 'The export does not work.')], id)
  expect(await status(id)).toBe('processing')
  await analyse(id)
  expect(await kinds(id)).toContain('u2 bug_report negative')
  expect(await ledger(database.sql, id)).toEqual(['a1'])
})

test('a finding keeps its id while the conversation has its kind, and goes with the words', async () => {
  const id = await processed([user(0, 'Hello'), assistant(1), user(2, 'The export does not work.')])
  await analyse(id)
  const [before] = (await signalRows(database.sql, id)).filter(({ kind }) => kind === 'bug_report')
  await processed([{ ...user(2, 'The import does not work.'), revision: 2 }], id)
  await analyse(id)
  const [after] = (await signalRows(database.sql, id)).filter(({ kind }) => kind === 'bug_report')
  expect(after).toMatchObject({ id: before!.id, comment: 'The import does not work.', revision: 2 })
  await processed([{ ...user(2, 'Good morning.'), revision: 3 }], id)
  await analyse(id)
  expect(await kinds(id)).toEqual([])
})

test('a conversation that changes while it is analysed is analysed again', async () => {
  let id = ''
  const { asked, actor } = scripted(async (call) => {
    if (call === 1) await processed([{ ...assistant(1, 'Newer.'), revision: 2 }], id)
  })
  id = await processed([user(0), assistant(1, 'Older.'), assistant(2)])
  expect(await analyse(id, actor)).toBeGreaterThan(1)
  expect(asked.map(({ said }) => said[1]?.text).slice(0, 2)).toEqual(['Older.', 'Newer.'])
  expect(await status(id)).toBe('completed')
})

test('the responses of a long session are closed page by page', async () => {
  const id = await processed(Array.from({ length: 120 }, (_, sequence) => assistant(sequence)))
  expect(await analyse(id)).toBeGreaterThan(2)
  const states = await responseStates(database.sql, id)
  expect(states.filter((state) => state.endsWith(' analyzed'))).toHaveLength(120)
  expect(await status(id)).toBe('completed')
})

test('an open session that waits at a gap stays pending after all its processed responses are analysed', async () => {
  const id = await processed([user(0), assistant(1), user(3)])
  await analyse(id)
  expect(await status(id)).toBe('pending')
})

test('a failure of the analyser fails the turn and writes nothing', async () => {
  const { actor } = scripted(() => {
    throw new Error('busy')
  })
  const id = await processed([user(0), assistant(1)])
  const outcome = await analyse(id, actor).then(
    () => 'done',
    (error: Error) => error.message,
  )
  expect(outcome).toBe('busy')
  expect(await responseStates(database.sql, id)).toEqual(['a1 metered'])
  expect(await status(id)).toBe('processing')
})

test('giving up marks one page as failed, and the analysis of the rest goes on', async () => {
  const id = await processed(Array.from({ length: 60 }, (_, sequence) => assistant(sequence)))
  expect(await giveUpAnalysis(database.sql, builtIn, id)).toMatchObject([
    { key: `analysis:${id}`, type: 'analyze' },
  ])
  const states = await responseStates(database.sql, id)
  expect(states.filter((state) => state.endsWith('failed'))).toHaveLength(50)
  expect(await status(id)).toBe('processing')
  await analyse(id)
  expect(await status(id)).toBe('failed')
})

test('where content is not captured, nothing is analysed', async () => {
  const owner = await createApplication(database.sql)
  const id = await processed([user(0, 'The export does not work.'), assistant(1)], undefined, owner)
  await database.sql`
    update agent_application_settings set settings = settings || '{"captureContent": false}'
    where application_id = ${owner.applicationId}`
  const { asked, actor } = scripted(() => {})
  await analyse(id, actor)
  expect([asked, await kinds(id)]).toEqual([[], []])
})

test('a session that is deleted during its analysis leaves no rows', async () => {
  let id = ''
  const { actor } = scripted(async () => {
    await transaction(database.sql, (tx) => deleteSessions(tx, application.organizationId, [id]))
  })
  id = await processed([user(0), assistant(1)])
  await analyse(id, actor)
  expect(await signalRows(database.sql, id)).toEqual([])
  expect(await database.sql`select from insight_subject where session_id = ${id}`).toHaveLength(0)
})
