/** The analysis of metered responses, from stored events to qualitative signals. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { analysisActor } from '../../src/agents/analysis/actor.ts'
import { sessionActor } from '../../src/agents/sessions/actor.ts'
import { deleteSessions } from '../../src/agents/sessions/deletion.store.ts'
import { type Analyzer, AnalyzerError, type Exchange } from '../../src/analyze/analyzer.ts'
import { loadConfig } from '../../src/config.ts'
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
const deps = { newId, config: loadConfig({}), textWork: textWorkHere }
const ofSessions = sessionActor(deps)
const local = analysisActor(deps)

beforeAll(async () => {
  database = await createTestDatabase()
  application = await createApplication(database.sql)
})
afterAll(() => database.drop())

/** Stores events in a new or known session and runs its actor. */
async function processed(events: readonly TestEvent[], known?: string): Promise<string> {
  const id = known ?? (await createSession(database.sql, application))
  await storeEvents(database.sql, id, events)
  await runSession(database.sql, ofSessions, id)
  return id
}
const analyse = (id: string, actor = local) => runAnalysis(database.sql, actor, id)
const status = async (id: string) => (await sessionRow(database.sql, id)).processingStatus
const kinds = async (id: string) =>
  (await signalRows(database.sql, id)).map(({ event, kind, rating }) => `${event} ${kind} ${rating}`)

/** An analyser that answers by `answer` and records each request. */
function scripted(answer: (exchanges: readonly Exchange[], call: number) => Promise<void> | void) {
  const asked: (readonly Exchange[])[] = []
  const analyzer: Analyzer = {
    name: 'scripted',
    async analyze(exchanges) {
      asked.push(exchanges)
      await answer(exchanges, asked.length)
      return exchanges.map(({ eventId }) => ({
        eventId,
        kind: 'resolved',
        rating: 'positive',
        comment: null,
      }))
    },
  }
  return { asked, actor: analysisActor(deps, analyzer) }
}

test('finalised responses get qualitative signals from the built-in analyser, and the session completes', async () => {
  const id = await processed([
    user(0, 'How do I export my invoices?'),
    assistant(1, 'Open the menu.'),
    user(2, 'That does not work, this is terrible.'),
    assistant(3, 'Use the button at the top.'),
    user(4, 'Perfect, thank you, that worked!'),
    feedback(5, 'a3'),
  ])
  expect(await status(id)).toBe('processing')
  expect(await analyse(id)).toBe(1)
  expect(await kinds(id)).toEqual([
    'a1 unresolved negative',
    'a1 user_sentiment negative',
    'a3 resolved positive',
    'a3 user_sentiment positive',
    'f5 message_feedback positive',
  ])
  const [signal] = await signalRows(database.sql, id)
  expect(signal).toMatchObject({
    source: 'qualitative_inference',
    target: 'a1',
    participant: 'anna',
    comment: 'That does not work, this is terrible.',
  })
  expect(await status(id)).toBe('completed')
})

test('an exchange has the question before a response and the user messages up to the next response', async () => {
  const { asked, actor } = scripted(() => {})
  const id = await processed([
    user(0, 'first'),
    user(1, 'second'),
    assistant(2, 'one'),
    user(3, 'after'),
    user(4, 'more'),
    { ...assistant(5), id: 't5', body: { content: [{ type: 'tool_use' }] } },
    user(6, 'still'),
    assistant(7, 'two'),
  ])
  await analyse(id, actor)
  expect(asked[0]).toEqual([
    { eventId: 'a2', question: 'second', answer: 'one', followUps: ['after', 'more', 'still'] },
    { eventId: 'a7', question: 'still', answer: 'two', followUps: [] },
  ])
})

test('a later user message has the response before it analysed again, without a new unit', async () => {
  const id = await processed([user(0, 'How do I export my invoices?'), assistant(1)])
  await analyse(id)
  expect([await kinds(id), await status(id)]).toEqual([[], 'completed'])
  await processed([user(2, 'That does not work.')], id)
  expect(await status(id)).toBe('processing')
  await analyse(id)
  expect(await kinds(id)).toContain('a1 unresolved negative')
  expect(await ledger(database.sql, id)).toEqual(['a1'])
})

test('a revised response is analysed again, and its new findings replace the old ones', async () => {
  const id = await processed([user(0), assistant(1), user(2, 'That does not work.')])
  await analyse(id)
  const before = await signalRows(database.sql, id)
  expect(before.map((signal) => signal.kind)).toContain('unresolved')
  await processed([{ ...user(2, 'Thanks, that worked!'), revision: 2 }], id)
  await processed([{ ...assistant(1, 'Better.'), revision: 2 }], id)
  await analyse(id)
  const after = await signalRows(database.sql, id)
  expect(after.map((signal) => signal.kind)).toContain('resolved')
  expect(after.map((signal) => signal.kind)).not.toContain('unresolved')
  expect(after.every((signal) => signal.revision === 2)).toBe(true)
  expect(await ledger(database.sql, id)).toEqual(['a1'])
})

test('a response that changes while it is analysed is analysed again', async () => {
  let id = ''
  const { asked, actor } = scripted(async (_, call) => {
    if (call === 1) await processed([{ ...assistant(1, 'Newer.'), revision: 2 }], id)
  })
  id = await processed([user(0), assistant(1, 'Older.'), assistant(2)])
  expect(await analyse(id, actor)).toBe(2)
  expect(asked.map((exchanges) => exchanges.map((exchange) => exchange.answer))).toEqual([
    ['Older.', 'Open the menu.'],
    // The context of the response beside the revised one changed as well.
    ['Newer.', 'Open the menu.'],
  ])
  const signals = await signalRows(database.sql, id)
  expect(signals.map(({ event, revision }) => [event, revision])).toEqual([
    ['a1', 2],
    ['a2', 1],
  ])
  expect(await status(id)).toBe('completed')
})

test('a long session is analysed page by page, in order of sequence', async () => {
  const { asked, actor } = scripted(() => {})
  const id = await processed(Array.from({ length: 120 }, (_, sequence) => assistant(sequence)))
  expect(await analyse(id, actor)).toBe(3)
  expect(asked.flat().map((exchange) => exchange.eventId)).toEqual(
    Array.from({ length: 120 }, (_, sequence) => `a${sequence}`),
  )
  expect(await status(id)).toBe('completed')
})

test('an open session that waits at a gap stays pending after all its processed responses are analysed', async () => {
  const id = await processed([user(0), assistant(1), user(3)])
  await analyse(id)
  expect(await status(id)).toBe('pending')
})

test('a temporary failure of the analyser fails the turn and writes nothing', async () => {
  const { actor } = scripted(() => {
    throw new AnalyzerError('busy', true)
  })
  const id = await processed([user(0), assistant(1)])
  await expect(analyse(id, actor)).rejects.toThrow('busy')
  expect(await responseStates(database.sql, id)).toEqual(['a1 metered'])
  expect(await status(id)).toBe('processing')
})

test('giving up marks one page as failed, and the analysis of the rest goes on', async () => {
  const id = await processed(Array.from({ length: 60 }, (_, sequence) => assistant(sequence)))
  expect(await giveUpAnalysis(database.sql, local, id)).toMatchObject([
    { key: `analysis:${id}`, type: 'analyze' },
  ])
  const states = await responseStates(database.sql, id)
  expect(states.filter((state) => state.endsWith('failed'))).toHaveLength(50)
  expect(await status(id)).toBe('processing')
  await analyse(id)
  expect(await status(id)).toBe('failed')
})

test('refused exchanges fail at once, and a revision is analysed again', async () => {
  const { actor } = scripted((_, call) => {
    if (call === 1) throw new AnalyzerError('refused', false)
  })
  const id = await processed([user(0), assistant(1)])
  await analyse(id, actor)
  expect(await responseStates(database.sql, id)).toEqual(['a1 failed'])
  expect(await status(id)).toBe('failed')
  await processed([{ ...assistant(1, 'Better.'), revision: 2 }], id)
  await analyse(id, actor)
  expect(await status(id)).toBe('completed')
})

test('a session that is deleted during its analysis leaves no rows', async () => {
  let id = ''
  const { actor } = scripted(async () => {
    await transaction(database.sql, (tx) => deleteSessions(tx, application.organizationId, [id]))
  })
  id = await processed([user(0), assistant(1)])
  await analyse(id, actor)
  expect(await signalRows(database.sql, id)).toEqual([])
})
