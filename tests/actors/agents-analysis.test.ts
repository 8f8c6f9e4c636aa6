/** The analysis of metered responses, from stored events to qualitative signals. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { AnalyzerError } from '../../src/analysis/analyze/analyzer-error.ts'
import type { Analyzer, Subject } from '../../src/analysis/analyze/insight.ts'
import { NO_TOKEN_LIMIT } from '../../src/analysis/analyze/token-budget.ts'
import { loadConfig } from '../../src/app/config.ts'
import { analysisActor } from '../../src/hear/agents/analysis/actor.ts'
import { sessionReanalysisActor } from '../../src/hear/agents/analysis/reanalysis.ts'
import { sessionActor } from '../../src/hear/agents/sessions/actor.ts'
import { deleteSessions } from '../../src/hear/agents/sessions/deletion.store.ts'
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
  runLongTurn,
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
const deps = {
  newId,
  config: loadConfig({}),
  modelServer: null,
  textWork: textWorkHere,
  tokenBudget: NO_TOKEN_LIMIT,
}
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

/** An analyser that confirms the customer's last words, and records each request. `answer` runs first. */
function scripted(answer: (subject: Subject, call: number) => Promise<void> | void) {
  const asked: Subject[] = []
  const analyzer: Analyzer = {
    name: 'scripted',
    version: '1',
    async analyze([subject]) {
      asked.push(subject!)
      await answer(subject!, asked.length)
      const index = subject!.said.findLastIndex(({ own }) => !own)
      const finding = { kind: 'praise', tier: 'sure', confidence: 1, rating: 'positive' } as const
      const findings = index < 0 ? [] : [{ ...finding, index, from: 0, to: 300 }]
      return [{ language: 'en', supported: true, outcome: 'resolved', sentiment: 'positive', findings }]
    },
  }
  return { asked, actor: analysisActor(deps, { first: analyzer, isComplete: true, together: false }) }
}
const saidIn = ({ said }: Subject) => said.map(({ own, text }) => `${own ? 'agent' : 'customer'}: ${text}`)
const subjectOf = async (id: string) => {
  const rows = await database.sql`
    select state, language, outcome, sentiment, analyzer_name as analyzer from insight_subject where session_id = ${id}`
  return rows.map((row) => ({ ...row }))
}

test('a conversation gets findings and an outcome from the built-in analyser, and the session completes', async () => {
  const id = await processed([
    user(0, 'How do I export my invoices?'),
    assistant(1, 'Open the menu.'),
    user(2, 'The menu crashes, this is terrible.'),
    assistant(3, 'Use the button at the top.'),
    user(4, 'Thank you, that worked!'),
    feedback(5, 'a3'),
  ])
  expect(await status(id)).toBe('processing')
  expect(await analyse(id)).toBe(1)
  expect(await kinds(id)).toEqual([
    'u0 question null',
    'u2 bug_report negative',
    'u2 complaint negative',
    'u4 resolved_confirmation positive',
    'f5 message_feedback positive',
  ])
  const signals = await signalRows(database.sql, id)
  expect(signals.find(({ kind }) => kind === 'complaint')).toMatchObject({
    source: 'qualitative_inference',
    target: 'a1',
    participant: 'anna',
  })
  expect(await subjectOf(id)).toEqual([
    { state: 'analyzed', language: 'en', outcome: 'resolved', sentiment: 'positive', analyzer: 'builtin' },
  ])
  expect(await status(id)).toBe('completed')
})

test('the analyser reads what the customer and the agent said, in order, without tool calls', async () => {
  const { asked, actor } = scripted(() => {})
  const id = await processed([
    user(0, 'first'),
    assistant(1, 'one'),
    { ...assistant(2), id: 't2', body: { content: [{ type: 'tool_use' }] } },
    { ...user(3), body: { content: [{ type: 'text', text: 'in parts' }] } },
    { ...user(4, 'not finished'), final: false },
    { ...user(5), type: 'tool_result' },
    assistant(6, 'two'),
  ])
  await analyse(id, actor)
  expect(asked.map(saidIn)).toEqual([['customer: first', 'agent: one', 'customer: in parts', 'agent: two']])
})

test('of a long session the first 40 and the newest 160 messages are read', async () => {
  const { asked, actor } = scripted(() => {})
  const events = Array.from({ length: 300 }, (_, n) => (n % 2 ? assistant(n, `m${n}`) : user(n, `m${n}`)))
  await analyse(await processed(events), actor)
  const numbers = asked[0]!.said.map(({ text }) => Number(text.slice(1)))
  expect(numbers).toEqual(events.map((_, n) => n).filter((n) => n < 40 || n >= 140))
})

test('a later message has the conversation analysed again, without a new unit', async () => {
  const id = await processed([user(0, 'hello'), assistant(1)])
  await analyse(id)
  expect([await kinds(id), await status(id)]).toEqual([[], 'completed'])
  await processed([user(2, 'The app crashes when I save.')], id)
  expect(await status(id)).toBe('processing')
  await analyse(id)
  expect(await kinds(id)).toEqual(['u2 bug_report negative'])
  expect(await ledger(database.sql, id)).toEqual(['a1'])
})

test('after a revision new findings replace the old ones, and a finding of the same kind keeps its id', async () => {
  const id = await processed([user(0, 'Saving crashes.'), assistant(1), user(2, 'It is terrible.')])
  await analyse(id)
  const before = await signalRows(database.sql, id)
  expect(before.map(({ kind }) => kind)).toEqual(['bug_report', 'complaint'])
  await processed([{ ...user(2, 'Thanks, that worked!'), revision: 2 }], id)
  await analyse(id)
  const after = await signalRows(database.sql, id)
  expect(after.map(({ kind, revision }) => [kind, revision])).toEqual([
    ['bug_report', 1],
    ['resolved_confirmation', 2],
  ])
  expect(after[0]?.id).toBe(before[0]?.id)
  expect(await ledger(database.sql, id)).toEqual(['a1'])
})

test('the second pass adds what the trained head finds, and a later first pass keeps it', async () => {
  const finding = { confidence: 1, rating: null, index: 0, from: 0, to: 300 } as const
  const insight = { language: 'en', supported: true, sentiment: 'neutral' } as const
  const sure = { ...finding, kind: 'question', tier: 'sure' } as const
  const likely = { ...finding, kind: 'confusion', tier: 'likely' } as const
  const analyzerOf = (outcome: 'unclear' | 'unresolved', ...findings: (typeof sure | typeof likely)[]) => ({
    name: 'scripted',
    version: '1',
    analyze: async () => [{ ...insight, outcome, findings }],
  })
  const actor = analysisActor(deps, { first: analyzerOf('unclear', sure), isComplete: false, together: true })
  const second = sessionReanalysisActor(deps, analyzerOf('unresolved', sure, likely))
  const found = async () => (await signalRows(database.sql, id)).map(({ kind }) => kind)
  const id = await processed([user(0, 'What is a token?'), assistant(1)])
  await analyse(id, actor)
  expect([await found(), await status(id)]).toEqual([['question'], 'completed'])
  await runAnalysis(database.sql, second, id, 'conversation')
  expect([await found(), (await subjectOf(id))[0]?.outcome]).toEqual([
    ['confusion', 'question'],
    'unresolved',
  ])
  await processed([user(2, 'Hello?')], id)
  await analyse(id, actor)
  expect(await found()).toEqual(['confusion', 'question'])
  await runAnalysis(database.sql, sessionReanalysisActor(deps, analyzerOf('unclear')), id, 'conversation')
  expect(await found()).toEqual([])
})

/** What a person said about a finding of the session. */
async function judge(id: string, kind: string, wasRight: boolean, meantKind: string | null = null) {
  await database.sql`
    insert into finding_verdict (id, organization_id, subject_id, kind, was_right, meant_kind, analyzer_name, analyzer_version, tier)
    select ${newId()}, organization_id, id, ${kind}, ${wasRight}, ${meantKind}, analyzer_name, analyzer_version, 'sure'
    from insight_subject where session_id = ${id}`
}

test('verdicts hold for a conversation: a wrong finding does not come back, and a right or corrected one stays', async () => {
  const id = await processed([
    user(0, 'Saving crashes.'),
    assistant(1),
    user(2, 'This is terrible. How do I export my invoices?'),
  ])
  await analyse(id)
  const before = await signalRows(database.sql, id)
  expect(before.map(({ kind }) => kind)).toEqual(['bug_report', 'complaint', 'question'])
  await judge(id, 'bug_report', true)
  await judge(id, 'complaint', false)
  await judge(id, 'question', false, 'feature_request')
  await database.sql`
    update agent_signal set kind = 'feature_request' where session_id = ${id} and kind = 'question'`
  await processed([{ ...user(0, 'Saving fails at times, this is terrible.'), revision: 2 }], id)
  await analyse(id)
  await runAnalysis(database.sql, sessionReanalysisActor(deps), id, 'conversation')
  await processed([{ ...user(0, 'Hello.'), revision: 3 }], id)
  await analyse(id)
  const idOf = (kind: string) => before.find((one) => one.kind === kind)?.id
  expect((await signalRows(database.sql, id)).map(({ id, kind }) => [id, kind]).toSorted()).toEqual(
    [
      [idOf('bug_report'), 'bug_report'],
      [idOf('question'), 'feature_request'],
    ].toSorted() as never,
  )
})

test('a finding names the part of the product and the version of the agent', async () => {
  const id = await processed([user(0, 'Saving crashes.'), assistant(1)])
  await database.sql`
    update agent_session set agent_version = 'support-7', context = '{"productArea": "billing"}' where id = ${id}`
  await analyse(id)
  const rows = await database.sql`
    select product_area as area, agent_version as version from agent_signal where session_id = ${id}`
  expect([...rows]).toEqual([{ area: 'billing', version: 'support-7' }])
})

test('a customer who writes three times and gets no answer is analysed, and the conversation is unresolved', async () => {
  const id = await createSession(database.sql, application)
  await storeEvents(database.sql, id, [
    user(0, 'The export crashes.'),
    user(1, 'The export still crashes.'),
    user(2, 'Hello? Nobody answers, it still crashes.'),
  ])
  const { newMessages: sent } = await runSession(database.sql, ofSessions, id)
  expect(sent.filter(({ key }) => !key.startsWith('passage:'))).toMatchObject([
    { key: `rereading:${id}`, type: 'conversation', delayMs: 30_000, unless: 'waiting' },
  ])
  await runAnalysis(database.sql, sessionReanalysisActor(deps), id, 'conversation')
  expect(await subjectOf(id)).toMatchObject([{ state: 'analyzed', outcome: 'unresolved' }])
  expect((await kinds(id)).some((kind) => kind.endsWith(' bug_report negative'))).toBe(true)
  expect(await status(id)).toBe('completed')
})

test('a second pass that was overtaken by a first one is dropped, and the session is read once more', async () => {
  const id = await processed([user(0, 'Saving crashes.'), assistant(1)])
  await analyse(id)
  const insight = { language: 'en', supported: true, sentiment: 'neutral', outcome: 'resolved' } as const
  const slow: Analyzer = {
    name: 'slow',
    version: '1',
    async analyze() {
      await processed([user(2, 'It is terrible.')], id)
      await analyse(id)
      return [{ ...insight, findings: [] }]
    },
  }
  const { sent } = await runLongTurn(database.sql, sessionReanalysisActor(deps, slow), id, 'conversation')
  expect(sent).toMatchObject([{ key: `rereading:${id}`, type: 'conversation', unless: 'waiting' }])
  expect(await kinds(id)).toEqual(['u0 bug_report negative', 'u2 complaint negative'])
  expect(await subjectOf(id)).toMatchObject([{ analyzer: 'builtin' }])
})

test('findings of an older version are replaced', async () => {
  const id = await processed([user(0, 'Saving crashes.'), assistant(1)])
  await database.sql`
    insert into agent_signal (id, organization_id, application_id, session_id, source, kind, external_event_id, sequence,
      revision, occurred_at)
    select ${newId()}, organization_id, application_id, id, 'qualitative_inference', 'unresolved', 'a1', 1, 1, now()
    from agent_session where id = ${id}`
  await analyse(id)
  expect(await kinds(id)).toEqual(['u0 bug_report negative'])
})

test('a message that changes while it is analysed is not quoted, and is analysed again', async () => {
  let id = ''
  const { asked, actor } = scripted(async (_, call) => {
    if (call === 1) await processed([{ ...user(2, 'Newer.'), revision: 2 }], id)
  })
  id = await processed([user(0), assistant(1), user(2, 'Older.')])
  expect(await analyse(id, actor)).toBe(2)
  expect(asked.map((subject) => saidIn(subject).at(-1))).toEqual(['customer: Older.', 'customer: Newer.'])
  expect((await signalRows(database.sql, id)).map(({ comment, revision }) => [comment, revision])).toEqual([
    ['Newer.', 2],
  ])
  expect(await status(id)).toBe('completed')
})

test('the responses of a long session are closed page by page', async () => {
  const { asked, actor } = scripted(() => {})
  const id = await processed(Array.from({ length: 120 }, (_, sequence) => assistant(sequence)))
  expect(await analyse(id, actor)).toBe(3)
  expect(asked).toHaveLength(3)
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

test('a refused conversation fails at once, and a revision is analysed again', async () => {
  const { actor } = scripted((_, call) => {
    if (call === 1) throw new AnalyzerError('refused', false)
  })
  const id = await processed([user(0), assistant(1)])
  await analyse(id, actor)
  expect(await responseStates(database.sql, id)).toEqual(['a1 failed'])
  expect(await status(id)).toBe('failed')
  expect(await subjectOf(id)).toMatchObject([{ state: 'failed', outcome: null }])
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
