/** Analysis of many sessions in one turn. Each gets its own findings, and a text that cannot be analysed affects its own session only. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { send } from '../../src/actors/mailbox.ts'
import type { ActorKey } from '../../src/actors/types.ts'
import type { Analyzer, Subject } from '../../src/analysis/analyze/insight.ts'
import { createTextDoers, type TextWork, TextWorkError } from '../../src/analysis/analyze/text-work.ts'
import { NO_TOKEN_LIMIT } from '../../src/analysis/analyze/token-budget.ts'
import { loadConfig } from '../../src/app/config.ts'
import { analysisActor } from '../../src/hear/agents/analysis/actor.ts'
import { sessionReanalysisActor } from '../../src/hear/agents/analysis/reanalysis.ts'
import { sessionActor } from '../../src/hear/agents/sessions/actor.ts'
import { deleteSessions } from '../../src/hear/agents/sessions/deletion.store.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { newId } from '../../src/platform/ids.ts'
import { NO_SWEEP, startWorker, type TestWorker, testDeps } from '../support/actors.ts'
import {
  assistant,
  createApplication,
  createSession,
  responseStates,
  runSession,
  sessionRow,
  signalRows,
  storeEvents,
  type TestApplication,
  type TestEvent,
  user,
} from '../support/agent-sessions.ts'
import { rulesOnly } from '../support/analysis.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

/** More responses than a turn of two sessions reads of each. */
const MANY = 70

let database: TestDatabase
const workers: TestWorker[] = []
/** The subjects of each text job, in the order of the jobs. */
let jobs: (readonly Subject[])[] = []
/** Delays a job. Tests that change a session during its analysis do so here. */
let meanwhile: () => Promise<unknown> = async () => {}

const doers = createTextDoers()

/** Does jobs in this process. A job whose text says "hang" fails, as if its process had been killed. */
const textWork = {
  async run(_job: 'insight', input: { readonly subjects: readonly Subject[]; readonly tier: 'rules' }) {
    jobs.push(input.subjects)
    await meanwhile()
    if (input.subjects.some(({ said }) => said.some(({ text }) => text === 'hang')))
      throw new TextWorkError('the text work was ended after 30 s')
    return doers.insight(input)
  },
} as unknown as TextWork

const deps = { newId, config: loadConfig({}), modelServer: null, textWork, tokenBudget: NO_TOKEN_LIMIT }

beforeAll(async () => {
  database = await createTestDatabase()
})
beforeEach(async () => {
  jobs = []
  meanwhile = async () => {}
  await database.sql`truncate actor_mailbox, actor_message, actor_dead_letter, worker`
})
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.close()))
})
afterAll(() => database.drop())

async function processed(application: TestApplication, events: readonly TestEvent[]): Promise<string> {
  const id = await createSession(database.sql, application)
  await storeEvents(database.sql, id, events)
  await runSession(database.sql, sessionActor(deps), id)
  return id
}

const said = (text: string) => [user(0, 'hello'), assistant(1), user(2, text)]

/** Sends one batch of wake-ups for the analysis of all sessions and waits until no message is left. */
async function analyse(ids: readonly string[]): Promise<TestWorker> {
  const worker = await startWorker(
    testDeps(database.url, null),
    [analysisActor(deps, rulesOnly(deps.textWork))],
    {
      ...NO_SWEEP,
      batchTimeoutMs: 60_000, // the first job loads the language model
    },
  )
  workers.push(worker)
  const newMessages = ids.map((id) => ({ key: `analysis:${id}` as ActorKey, type: 'analyze' }))
  worker.deps.notifier.notify(await send(database.sql, newMessages))
  await eventually(async () => (await database.sql`select 1 from actor_message`).length === 0)
  return worker
}

const findings = async (id: string) =>
  (await signalRows(database.sql, id)).map(({ event, kind, comment }) => `${event} ${kind} ${comment}`)

test('sessions of several organizations share a turn and one text job; each gets its own findings', async () => {
  const applications = [await createApplication(database.sql), await createApplication(database.sql)]
  const texts = ['The export crashes.', 'It still fails with error 500.', 'Thanks, that worked!', 'ok']
  const ids: string[] = []
  for (const [n, text] of texts.entries()) ids.push(await processed(applications[n % 2]!, said(text)))
  await analyse(ids)
  expect(jobs.map((subjects) => subjects.length)).toEqual([4])
  expect(await Promise.all(ids.map(findings))).toEqual([
    ['u2 bug_report The export crashes.'],
    ['u2 bug_report It still fails with error 500.', 'u2 repeated_problem It still fails with error 500.'],
    ['u2 resolved_confirmation Thanks, that worked!'],
    [],
  ])
  for (const id of ids) expect((await sessionRow(database.sql, id)).processingStatus).toBe('completed')
})

test('a text that hangs fails only its own message, and the others keep their findings and attempts', async () => {
  const application = await createApplication(database.sql)
  const innocent = [
    await processed(application, said('The export crashes.')),
    await processed(application, said('Thanks, that worked!')),
  ]
  const guilty = await processed(application, said('hang'))
  const worker = await analyse([guilty, ...innocent])
  expect(await responseStates(database.sql, guilty)).toEqual(['a1 failed'])
  expect((await sessionRow(database.sql, guilty)).processingStatus).toBe('failed')
  for (const id of innocent) {
    expect(await responseStates(database.sql, id)).toEqual(['a1 analyzed'])
    expect(await findings(id)).not.toEqual([])
  }
  const { values } = await worker.deps.metrics.turns.get()
  const failed = values.filter(({ labels }) => labels.outcome === 'failed')
  expect(failed.map(({ value }) => value)).toEqual([8])
})

test('findings about sessions that changed or were deleted during the turn are refused, the others are stored', async () => {
  const application = await createApplication(database.sql)
  const [kept, deleted, changed] = [
    await processed(application, said('The export crashes.')),
    await processed(application, said('The export crashes.')),
    await processed(application, said('The export crashes.')),
  ]
  let times = 0
  meanwhile = async () => {
    if (times++ > 0) return
    await transaction(database.sql, (tx) => deleteSessions(tx, application.organizationId, [deleted]))
    await storeEvents(database.sql, changed, [{ ...user(2, 'Thanks, that worked!'), revision: 2 }])
    await runSession(database.sql, sessionActor(deps), changed)
  }
  await analyse([kept, deleted, changed])
  expect(await findings(kept)).toEqual(['u2 bug_report The export crashes.'])
  expect(await findings(changed)).toEqual(['u2 resolved_confirmation Thanks, that worked!'])
  expect(await responseStates(database.sql, deleted)).toEqual([])
})

test('long sessions take several turns, and all of their responses are analysed', async () => {
  const application = await createApplication(database.sql)
  const events = Array.from({ length: MANY }, (_, n) => [
    assistant(2 * n),
    user(2 * n + 1, 'The export crashes.'),
  ]).flat()
  const ids = [await processed(application, events), await processed(application, events)]
  await database.sql`update agent_session set status = 'ended' where id = any(${ids}::uuid[])`
  await analyse(ids)
  for (const id of ids) {
    const states = await responseStates(database.sql, id)
    expect([states.length, states.filter((state) => !state.endsWith(' analyzed'))]).toEqual([MANY, []])
    expect((await findings(id)).filter((finding) => finding.includes('bug_report'))).toHaveLength(1)
  }
})

test('first passes go on while a second pass hangs, also that of the same session', async () => {
  const application = await createApplication(database.sql)
  const id = await processed(application, said('The export crashes.'))
  const released = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const second: Analyzer = {
    name: 'slow',
    version: '1',
    async analyze() {
      begun.resolve()
      await released.promise
      throw new Error('too late')
    },
  }
  const actors = [analysisActor(deps, rulesOnly(deps.textWork)), sessionReanalysisActor(deps, second)]
  const worker = await startWorker(testDeps(database.url, null), actors, {
    ...NO_SWEEP,
    batchTimeoutMs: 60_000,
  })
  workers.push(worker)
  const tell = async (key: ActorKey, type: string) =>
    worker.deps.notifier.notify(await send(database.sql, [{ key, type }]))
  await tell(`rereading:${id}`, 'conversation')
  await begun.promise
  await tell(`analysis:${id}`, 'analyze')
  await eventually(async () => (await findings(id)).length === 1)
  expect((await sessionRow(database.sql, id)).processingStatus).toBe('completed')
  released.resolve()
})
