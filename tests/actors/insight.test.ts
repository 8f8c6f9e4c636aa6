/** The analysis of feedback records and transcripts: what is read and stored, and what survives another analysis. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type LongTurn, type NewMessage, NO_ORGANIZATION } from '../../src/actors/types.ts'
import type { Analyzer, Found, Kind, Subject } from '../../src/analysis/analyze/insight.ts'
import { NO_TOKEN_LIMIT } from '../../src/analysis/analyze/token-budget.ts'
import { insightActor } from '../../src/analysis/findings/actor.ts'
import { forgetFindings, outdateRecording } from '../../src/analysis/findings/save.ts'
import { loadConfig } from '../../src/app/config.ts'
import type { Json } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { newId } from '../../src/platform/ids.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { textWorkHere } from '../support/text-work.ts'

let database: TestDatabase
const organizationId = crypto.randomUUID()
const deps = {
  newId,
  config: loadConfig({}),
  modelServer: null,
  textWork: textWorkHere,
  tokenBudget: NO_TOKEN_LIMIT,
}

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql`insert into organization (id, name) values (${organizationId}, 'Test')`
})
afterAll(() => database.drop())

/** Finds the kinds at every text of the customer that is the kind's name. */
function byName(meanwhile: () => Promise<unknown> = async () => {}) {
  const asked: Subject[] = []
  const analyzer: Analyzer = {
    name: 'by-name',
    version: '1',
    async analyze(subjects) {
      asked.push(...subjects)
      await meanwhile()
      return subjects.map(({ said }) => ({
        language: 'en',
        supported: true,
        outcome: null,
        sentiment: 'neutral',
        findings: said.flatMap(({ own, text }, index) => (own ? [] : found(text, index))),
      }))
    },
  }
  return { asked, actor: insightActor(deps, analyzer) }
}

const found = (text: string, index: number): readonly Found[] =>
  text.split('\n').flatMap((line) => {
    const [, kind] = /^(praise|bug_report|question)\b/.exec(line) ?? []
    if (kind === undefined) return []
    const from = text.indexOf(line)
    return [
      { kind: kind as Kind, tier: 'sure', confidence: 1, rating: null, index, from, to: from + line.length },
    ]
  })

/** Runs one turn. @returns the messages that it sent */
async function analyse(type: 'feedback' | 'recording', id: string, { actor } = byName()) {
  const handler = actor.pool === 'short' ? undefined : actor.handlers[type]
  const alone = typeof handler === 'function' ? handler : handler?.alone
  const sent: NewMessage[] = []
  const inTransaction: LongTurn['step'] = (work) =>
    transaction(database.sql, (tx) => work(tx, async (some) => void sent.push(...some)))
  await alone?.({
    message: { key: `insight:${id}`, id, seq: 1, type, payload: {}, attempts: 0 },
    organization: NO_ORGANIZATION,
    signal: new AbortController().signal,
    log: createLog('silent', 'test'),
    read: (work) => transaction(database.sql, work, 'read only'),
    step: inTransaction,
    finish: inTransaction,
  })
  return sent
}

const field = (name: string, value: Json, members: object = {}) => ({
  category: 'content',
  type: 'string',
  name,
  value,
  ...members,
})

async function record(fields: readonly object[]): Promise<string> {
  const { sql } = database
  const [source] = await sql<{ id: number }[]>`
    insert into feedback_source (organization_id, name, type) values (${organizationId}, ${crypto.randomUUID()}, 'api')
    returning id`
  const [row] = await sql<{ id: number }[]>`
    insert into feedback_record (organization_id, feedback_source_id, display_ts, fields)
    values (${organizationId}, ${source!.id}, '2026-03-01T08:00:00Z', ${JSON.stringify(fields)}::text::jsonb)
    returning id`
  return String(row!.id)
}

async function recording(utterances: readonly (readonly [speaker: number, text: string])[]): Promise<string> {
  const id = crypto.randomUUID()
  await database.sql`
    insert into recording (id, organization_id, source, transcript_status, started_at)
    values (${id}, ${organizationId}, 'upload', 'completed', '2026-03-01T08:00:00Z')`
  await speak(id, utterances)
  return id
}

async function speak(
  id: string,
  utterances: readonly (readonly [speaker: number, text: string])[],
): Promise<void> {
  await database.sql`delete from transcript_utterance where recording_id = ${id}`
  for (const [ordinal, [speaker, text]] of utterances.entries())
    await database.sql`
      insert into transcript_utterance (organization_id, recording_id, ordinal, start_sec, end_sec, speaker, text)
      values (${organizationId}, ${id}, ${ordinal}, ${10 * ordinal}, ${10 * ordinal + 5}, ${speaker}, ${text})`
}

const findings = (id: string) => database.sql<
  { id: string; kind: string; comment: string; field: string | null; startSec: number | null }[]
>`
  select id, kind, comment, field, start_sec as "startSec"
  from agent_signal
  where coalesce(recording_id::text, feedback_record_id::text) = ${id}
  order by kind`
const kinds = async (id: string) => (await findings(id)).map(({ kind }) => kind)

async function judge(
  id: string,
  kind: string,
  wasRight: boolean,
  meantKind: string | null = null,
): Promise<void> {
  await database.sql`
    insert into finding_verdict (id, organization_id, subject_id, kind, was_right, meant_kind, analyzer_name, analyzer_version, tier)
    select ${newId()}, organization_id, id, ${kind}, ${wasRight}, ${meantKind}, analyzer_name, analyzer_version, 'sure'
    from insight_subject
    where coalesce(recording_id::text, feedback_record_id::text) = ${id}`
}

test('the text fields of feedback are analysed, each finding names its field, and a repetition changes nothing', async () => {
  const { asked, actor } = byName()
  const id = await record([
    field('title', 'praise for the export'),
    field('stars', 5, { type: 'integer' }),
    field('plan', 'praise', { category: 'metadata' }),
    field('text', 'bug_report'),
  ])
  await analyse('feedback', id, { asked, actor })
  expect(asked[0]?.said.map(({ text }) => text)).toEqual(['praise for the export', 'bug_report'])
  const first = await findings(id)
  expect(first).toMatchObject([
    { kind: 'bug_report', comment: 'bug_report', field: 'text', startSec: null },
    { kind: 'praise', comment: 'praise for the export', field: 'title', startSec: null },
  ])
  await analyse('feedback', id)
  expect(await findings(id)).toEqual(first)
})

test('the built-in analyser finds what a customer writes in feedback', async () => {
  const id = await record([field('text', 'The app crashes at every start.')])
  await analyse('feedback', id, { asked: [], actor: insightActor(deps) })
  expect(await findings(id)).toMatchObject([
    { kind: 'bug_report', comment: 'The app crashes at every start.' },
  ])
})

test('utterances are joined into turns, internal speakers give context only, and a finding names its second', async () => {
  const id = await recording([
    [1, 'praise of our own'],
    [2, 'hello'],
    [2, 'bug_report of the export'],
  ])
  await database.sql`
    with colleague as (
      insert into person (organization_id, public_id, boundary) values (${organizationId}, ${newId()}, 'internal') returning id
    )
    insert into recording_participant (organization_id, recording_id, speaker, person_id)
    select ${organizationId}, ${id}, 1, id from colleague`
  const { asked, actor } = byName()
  await analyse('recording', id, { asked, actor })
  expect(asked[0]?.said).toEqual([
    { own: true, text: 'praise of our own' },
    { own: false, text: 'hello\nbug_report of the export' },
  ])
  expect(await findings(id)).toMatchObject([
    { kind: 'bug_report', comment: 'bug_report of the export', field: null, startSec: 20 },
  ])
})

test('another transcript replaces the findings, and a finding of the same kind keeps its id', async () => {
  const id = await recording([[1, 'bug_report\npraise']])
  await analyse('recording', id)
  const [bug] = await findings(id)
  await speak(id, [[1, 'bug_report again']])
  await analyse('recording', id)
  expect(await findings(id)).toMatchObject([{ id: bug!.id, kind: 'bug_report', comment: 'bug_report again' }])
})

test('a transcript that changes while it is analysed is analysed again, and its former words are not stored', async () => {
  const id = await recording([[1, 'praise']])
  await analyse('recording', id)
  const changed = byName(async () => {
    await speak(id, [[1, 'question']])
    await outdateRecording(database.sql, organizationId, id)
  })
  await speak(id, [[1, 'bug_report']])
  expect(await analyse('recording', id, changed)).toMatchObject([{ key: `insight:${id}`, type: 'recording' }])
  expect(await kinds(id)).toEqual(['praise'])
  await analyse('recording', id)
  expect(await kinds(id)).toEqual(['question'])
})

test('verdicts survive: a wrong finding does not come back, and a right or corrected one stays', async () => {
  const id = await recording([[1, 'bug_report\npraise']])
  await analyse('recording', id)
  await judge(id, 'praise', true)
  await judge(id, 'bug_report', false, 'question')
  await database.sql`update agent_signal set kind = 'question' where recording_id = ${id} and kind = 'bug_report'`
  const before = await findings(id)
  await analyse('recording', id)
  expect((await findings(id)).map(({ id, kind }) => [id, kind])).toEqual(
    before.map(({ id, kind }) => [id, kind]),
  )
  await speak(id, [[1, 'bug_report']])
  await analyse('recording', id)
  expect(await kinds(id)).toEqual(['praise', 'question'])
})

test('what is deleted leaves nothing, also where it is deleted during its analysis', async () => {
  const { sql } = database
  const [analysed, during] = [
    await record([field('text', 'praise')]),
    await record([field('text', 'praise')]),
  ]
  await analyse('feedback', analysed)
  await sql`delete from feedback_record where id = ${analysed}`
  await analyse(
    'feedback',
    during,
    byName(async () => sql`delete from feedback_record where id = ${during}`),
  )
  const call = await recording([[1, 'praise']])
  await analyse('recording', call)
  await forgetFindings(sql, organizationId, call)
  for (const id of [analysed, during, call]) expect(await findings(id)).toHaveLength(0)
})
