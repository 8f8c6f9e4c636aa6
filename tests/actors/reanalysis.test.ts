/** What another analyser has read, or none, is read again in the background: all of it, in bounded portions, fairly. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import type { Notifier } from '../../src/actors/types.ts'
import { AnalyzerError } from '../../src/analysis/analyze/analyzer-error.ts'
import { VERSION } from '../../src/analysis/analyze/builtin/version.ts'
import type { Analyzer } from '../../src/analysis/analyze/insight.ts'
import { NO_TOKEN_LIMIT } from '../../src/analysis/analyze/token-budget.ts'
import { insightReanalysisActor } from '../../src/analysis/findings/actor.ts'
import { INSIGHT_CHANGES } from '../../src/analysis/findings/backfill.ts'
import { readProgress } from '../../src/analysis/findings/reanalysis.store.ts'
import { describeProgress, sendDue } from '../../src/analysis/findings/reanalysis.ts'
import { loadConfig } from '../../src/app/config.ts'
import { sessionReanalysisActor } from '../../src/hear/agents/analysis/reanalysis.ts'
import { runDataChange } from '../../src/platform/db/data-change.ts'
import { newId } from '../../src/platform/ids.ts'
import { startWorker, type TestWorker, testDeps } from '../support/actors.ts'
import { assistant, createApplication, createSession, storeEvents, user } from '../support/agent-sessions.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { insertRecord, insertRecording } from '../support/findings.ts'
import { textWorkHere } from '../support/text-work.ts'

let database: TestDatabase
const workers: TestWorker[] = []
const deps = {
  newId,
  config: loadConfig({}),
  modelServer: null,
  textWork: textWorkHere,
  tokenBudget: NO_TOKEN_LIMIT,
}

beforeAll(async () => {
  database = await createTestDatabase()
})
beforeEach(async () => {
  await database.sql`truncate actor_mailbox, actor_message, actor_dead_letter, worker, organization, data_change cascade`
})
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.close()))
})
afterAll(() => database.drop())

/** Finds a complaint in every text of a customer. */
const analyzerOf = (version: string, meanwhile = async () => {}): Analyzer => ({
  name: 'test',
  version,
  async analyze(subjects) {
    await meanwhile()
    return subjects.map(({ said }) => {
      const index = said.findIndex(({ own }) => !own)
      const finding = { kind: 'complaint', tier: 'sure', confidence: 1, rating: 'negative' } as const
      const findings = index < 0 ? [] : [{ ...finding, index, from: 0, to: 300 }]
      return { language: 'en', supported: true, outcome: 'unresolved', sentiment: 'negative', findings }
    })
  },
})

/** A completed session, a feedback record and a transcript of an organization, and a finding as an older version made it. */
async function storedBefore(): Promise<string> {
  const { sql } = database
  const application = await createApplication(sql)
  const { organizationId } = application
  const id = await createSession(sql, application)
  await storeEvents(sql, id, [user(0, 'The export crashes.'), assistant(1)])
  await sql`update agent_session set watermark = 1, processing_status = 'completed' where id = ${id}`
  await sql`
    insert into agent_signal (id, organization_id, application_id, session_id, source, kind, external_event_id, sequence,
      revision, occurred_at)
    values (${newId()}, ${organizationId}, ${application.applicationId}, ${id}, 'qualitative_inference', 'unresolved', 'a1', 1, 1, now())`
  const { recordId } = await insertRecord(sql, organizationId)
  const fields = [{ category: 'content', type: 'string', name: 'text', value: 'The export crashes.' }]
  await sql`update feedback_record set fields = ${JSON.stringify(fields)}::text::jsonb where id = ${recordId}`
  const recordingId = await insertRecording(sql, organizationId)
  await sql`
    insert into transcript_utterance (organization_id, recording_id, ordinal, start_sec, end_sec, speaker, text)
    values (${organizationId}, ${recordingId}, 0, 5, 9, 1, 'The export crashes.')`
  await insertRecording(sql, organizationId) // without a transcript
  return organizationId
}

async function enterAll(): Promise<void> {
  const options = { runner: newId(), stopping: new AbortController().signal, pauseRatio: 0 }
  for (const change of INSIGHT_CHANGES)
    expect(await runDataChange(database.sql, change, options)).toBe('finished')
}

const SILENT = { notify() {} } as unknown as Notifier
const round = (analyzer: Analyzer, limits: { share?: number; round?: number } = {}) =>
  sendDue({ sql: database.sql, notifier: SILENT, tokenBudget: NO_TOKEN_LIMIT }, analyzer, limits)

async function start(analyzer: Analyzer): Promise<TestWorker> {
  const actors = [sessionReanalysisActor(deps, analyzer), insightReanalysisActor(deps, analyzer)]
  const worker = await startWorker(testDeps(database.url, null), actors, {
    sweepMs: 50,
    retryBaseMs: 1,
    retryCapMs: 2,
  })
  workers.push(worker)
  return worker
}

const waiting = async () => (await database.sql`select key from actor_message order by key`).length
const quiet = () => eventually(async () => (await waiting()) === 0)
const findings = async () => [
  ...(await database.sql`
    select channel, kind, comment, analyzer_version as version, count(*) as count
    from agent_signal
    group by 1, 2, 3, 4
    order by 1`),
]
const COMPLAINT = { kind: 'complaint', comment: 'The export crashes.', count: 2 }
const each = (version: string) =>
  ['conversation', 'feedback', 'recording'].map((channel) => ({ channel, ...COMPLAINT, version }))

test('what was stored before there was an analysis is read, older kinds are replaced, and another version reads it again', async () => {
  await storedBefore()
  await storedBefore()
  await enterAll()
  const [first, second] = [analyzerOf('1'), analyzerOf('2')]
  expect(await readProgress(database.sql, first)).toEqual({ read: 0, waiting: 6 })
  await start(first)
  await round(first)
  await quiet()
  expect(await findings()).toEqual(each('1'))
  expect(await readProgress(database.sql, first)).toEqual({ read: 6, waiting: 0 })
  await round(first)
  expect(await waiting()).toBe(0)
  await Promise.all(workers.splice(0).map((worker) => worker.close()))
  const ids = await database.sql`select id from agent_signal order by id`
  await start(second)
  await round(second)
  await quiet()
  expect(await findings()).toEqual(each('2'))
  expect([...(await database.sql`select id from agent_signal order by id`)]).toEqual([...ids])
})

test('a session that waits for credits is not entered', async () => {
  await storedBefore()
  await database.sql`update agent_session set processing_status = 'billing_blocked'`
  await enterAll()
  const rows = await database.sql`select channel from insight_subject order by channel`
  expect(rows.map(({ channel }) => channel)).toEqual(['feedback', 'recording'])
})

test('a round is bounded, organizations take turns, and what waits is not sent again', async () => {
  const [large, small] = [await storedBefore(), await storedBefore()]
  for (let n = 0; n < 20; n++) await insertRecord(database.sql, large)
  await enterAll()
  const analyzer = analyzerOf('1')
  const sent = async () => {
    const rows = await database.sql<{ organization: string; count: number }[]>`
      select organization_id as organization, count(*) as count from actor_message group by 1`
    return new Map(rows.map(({ organization, count }) => [organization, count]))
  }
  await round(analyzer, { share: 8, round: 5 })
  const first = await sent()
  expect([...first.values()].reduce((sum, count) => sum + count)).toBe(5)
  expect(first.get(small)).toBeGreaterThanOrEqual(2)
  for (let n = 0; n < 5; n++) await round(analyzer, { share: 8, round: 100 })
  expect(await sent()).toEqual(
    new Map([
      [large, 8],
      [small, 3],
    ]),
  )
})

test('what cannot be read keeps its findings and is left alone until there is another analyser', async () => {
  await storedBefore()
  await enterAll()
  const failing = analyzerOf('1', async () => {
    throw new AnalyzerError('away', true)
  })
  await start(failing)
  await round(failing)
  await quiet()
  const states = await database.sql`select distinct state, analyzer_version as version from insight_subject`
  expect([...states]).toEqual([{ state: 'failed', version: '1' }])
  expect(await findings()).toMatchObject([{ kind: 'unresolved' }])
  expect(await readProgress(database.sql, analyzerOf('2'))).toEqual({ read: 0, waiting: 3 })
})

test('the doctor says how much is read', async () => {
  await storedBefore()
  await enterAll()
  expect(await describeProgress(database.sql, { analyze: null })).toBe(
    `0 conversations, records and transcripts read by builtin ${VERSION}; 3 wait`,
  )
})
