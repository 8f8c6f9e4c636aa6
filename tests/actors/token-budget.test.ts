/** The tokens that an organization's findings may cost at a model server, from a real server's counts to who has read a session. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import type { ActorDefinition, Notifier } from '../../src/actors/types.ts'
import { createChatServer } from '../../src/analysis/analyze/chat.ts'
import { analyzerVersion } from '../../src/analysis/analyze/create.ts'
import { createTokenBudget } from '../../src/analysis/analyze/token-budget.ts'
import { sendDue } from '../../src/analysis/findings/reanalysis.ts'
import { loadConfig } from '../../src/app/config.ts'
import { analysisActor } from '../../src/hear/agents/analysis/actor.ts'
import { sessionReanalysisActor } from '../../src/hear/agents/analysis/reanalysis.ts'
import { newId } from '../../src/platform/ids.ts'
import {
  assistant,
  createApplication,
  createSession,
  runLongTurn,
  storeEvents,
  user,
} from '../support/agent-sessions.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { textWorkHere } from '../support/text-work.ts'

const LIMIT = 5_000
/** What the server says that each request has cost. */
let reported: unknown = { total_tokens: 4_000 }
let requests = 0

let database: TestDatabase
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    requests++
    const body = (await request.json()) as { readonly messages: readonly { readonly content: string }[] }
    const { nonce } = JSON.parse(body.messages[1]!.content) as { readonly nonce: string }
    const answer = { nonce, findings: [], outcome: 'resolved', sentiment: 'neutral', language: 'en' }
    const choices = [{ message: { role: 'assistant', content: JSON.stringify(answer) } }]
    return Response.json({ choices, ...(reported === undefined ? {} : { usage: reported }) })
  },
})

beforeAll(async () => {
  database = await createTestDatabase()
})
beforeEach(async () => {
  await database.sql`truncate organization, actor_mailbox, actor_message cascade`
  reported = { total_tokens: 4_000 }
  requests = 0
})
afterAll(async () => {
  await database.drop()
  await server.stop(true)
})

const url = `http://127.0.0.1:${server.port}`
const budgetOf = (limit = LIMIT) => createTokenBudget(database.sql, { analyzeTokensPerDay: limit })
const depsOf = () => ({
  newId,
  config: loadConfig({ ANALYZE_URL: url, ANALYZE_MODEL: 'small' }),
  modelServer: createChatServer({ url, model: 'small', apiKey: null }),
  textWork: textWorkHere,
  tokenBudget: budgetOf(),
})

async function stored(application: Awaited<ReturnType<typeof createApplication>>): Promise<string> {
  const id = await createSession(database.sql, application)
  await storeEvents(database.sql, id, [user(0, 'The export crashes.'), assistant(1)])
  await database.sql`update agent_session set watermark = 1, processing_status = 'completed' where id = ${id}`
  return id
}
const analyse = async (actor: ActorDefinition, id: string) => {
  const [row] = await database.sql`select organization_id as organization from agent_session where id = ${id}`
  await runLongTurn(database.sql, actor, id, 'analyze', row?.organization)
}
const readBy = async (id: string) =>
  (await database.sql`select analyzer_name as name from insight_subject where session_id = ${id}`).map(
    ({ name }) => name,
  )
const tokens = async (organization: string) =>
  (await database.sql`select tokens from analysis_tokens where organization_id = ${organization}`)[0]?.tokens
const yesterday = () => database.sql`update analysis_tokens set day = day - 1`

test('requests at once never take more than the tokens of a day, and each organization has its own', async () => {
  const [one, other] = [await createApplication(database.sql), await createApplication(database.sql)]
  const budget = budgetOf()
  const taken = await Promise.all(Array.from({ length: 20 }, () => budget.take(one.organizationId, 900)))
  expect(taken.filter(Boolean)).toHaveLength(5)
  expect(await budget.take(other.organizationId, 900)).toBe(true)
  expect(await budget.spent(0.9)).toEqual([one.organizationId])
  await budget.correct(one.organizationId, 4_500, 100)
  expect(await budget.take(one.organizationId, 900)).toBe(true)
  await yesterday()
  expect(await budget.spent(0)).toEqual([])
  await budget.correct(one.organizationId, 1_000, 0)
  expect(await tokens(one.organizationId)).toBe(1_000)
  expect(await budget.take(one.organizationId, LIMIT)).toBe(true)
  expect(await budget.take(one.organizationId, 1)).toBe(false)
})

test('work in the background leaves a part of the day to what arrives, and 0 is no limit', async () => {
  const { organizationId } = await createApplication(database.sql)
  expect(await budgetOf().take(organizationId, 3_000, 0.5)).toBe(false)
  expect(await budgetOf().take(organizationId, 2_000, 0.5)).toBe(true)
  expect(await budgetOf().take(organizationId, 1_000, 0.5)).toBe(false)
  expect(await budgetOf().take(organizationId, 3_000)).toBe(true)
  expect(await budgetOf(0).take(organizationId, 1e9)).toBe(true)
})

test('beyond the budget the built-in analyser reads and is named; on a later day the server reads again', async () => {
  const deps = depsOf()
  const [one, other] = [await createApplication(database.sql), await createApplication(database.sql)]
  const [first, second, foreign] = [await stored(one), await stored(one), await stored(other)]
  const actor = analysisActor(deps)
  for (const id of [first, second, foreign]) await analyse(actor, id)
  expect([await readBy(first), await readBy(second), await readBy(foreign)]).toEqual([
    ['small'],
    ['builtin'],
    ['small'],
  ])
  expect(requests).toBe(2)
  expect(await tokens(one.organizationId)).toBe(4_000)
  const found =
    await database.sql`select analyzer_name as name, kind from agent_signal where session_id = ${second}`
  expect(found.map((row) => ({ ...row }))).toContainEqual({ name: 'builtin', kind: 'bug_report' })

  const round = async () => {
    const notifier = { notify() {} } as unknown as Notifier
    await sendDue(
      { sql: database.sql, notifier, tokenBudget: deps.tokenBudget },
      analyzerVersion(deps.config),
    )
    return (await database.sql`select key from actor_message`).map(({ key }) => key as string)
  }
  expect(await round()).toEqual([])
  await yesterday()
  const [key] = await round()
  expect(key).toEndWith(second)
  reported = { total_tokens: 100 }
  await database.sql`truncate analysis_tokens`
  const generous = { ...deps, tokenBudget: budgetOf(50_000) }
  await runLongTurn(
    database.sql,
    sessionReanalysisActor(generous),
    second,
    'conversation',
    one.organizationId,
  )
  expect(await readBy(second)).toEqual(['small'])
  expect(await tokens(one.organizationId)).toBe(100)
})

test.each([
  ['counts nothing', undefined],
  ['counts nonsense', { total_tokens: -5 }],
  ['counts in words', { total_tokens: 'many' }],
])('a server that %s costs what was estimated', async (_, usage) => {
  reported = usage
  const application = await createApplication(database.sql)
  const id = await stored(application)
  await analyse(analysisActor(depsOf()), id)
  expect(await readBy(id)).toEqual(['small'])
  expect(await tokens(application.organizationId)).toBeWithin(1_000, 3_000)
})

test.each([Number.MAX_SAFE_INTEGER, 1e300])(
  'a server that claims any number of tokens stops only the organization that asked: %d',
  async (claimed) => {
    reported = { total_tokens: claimed }
    const [one, other] = [await createApplication(database.sql), await createApplication(database.sql)]
    const actor = analysisActor(depsOf())
    const [first, second, foreign] = [await stored(one), await stored(one), await stored(other)]
    for (const id of [first, second, foreign]) await analyse(actor, id)
    expect(await readBy(first)).toEqual(['small'])
    expect([await readBy(second), await readBy(foreign)]).toEqual([['builtin'], ['small']])
    expect(await tokens(one.organizationId)).toBeLessThanOrEqual(100_000_000)
  },
)
