/** A model server that is away, overloaded or gone for longer than all attempts would take. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { createChatServer } from '../../src/analysis/analyze/chat.ts'
import { examineAnalyzer } from '../../src/analysis/analyze/examine.ts'
import { createModelServerAnalyzer } from '../../src/analysis/analyze/model-server.ts'
import { createTokenBudget, NO_TOKEN_LIMIT } from '../../src/analysis/analyze/token-budget.ts'
import { loadConfig } from '../../src/app/config.ts'
import { analysisActor } from '../../src/hear/agents/analysis/actor.ts'
import { sessionActor } from '../../src/hear/agents/sessions/actor.ts'
import { newId } from '../../src/platform/ids.ts'
import { startWorker, type TestWorker, testDeps } from '../support/actors.ts'
import {
  assistant,
  createApplication,
  createSession,
  responseStates,
  runSession,
  sendMessages,
  sessionRow,
  storeEvents,
  type TestApplication,
  user,
} from '../support/agent-sessions.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type ChatData, startFakeChat } from '../support/fake-chat.ts'
import { startTestServer } from '../support/server.ts'
import { textWorkHere } from '../support/text-work.ts'

/** An analysis gets 8 attempts. */
const ATTEMPTS = 8
const SESSIONS = 6
/** So that all attempts would be used up within a fraction of a second. */
const PAUSES = { sweepMs: 20, retryBaseMs: 1, retryCapMs: 2 }
const AWAY = { pauseMs: 10, capMs: 40, answerMs: 500 }

let database: TestDatabase
let application: TestApplication
let worker: TestWorker | null = null
let chat: ReturnType<typeof startFakeChat>
/** Tiny questions, and what customers said in questions that were answered. */
let tiny = 0
let read: string[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  application = await createApplication(database.sql)
})
afterAll(() => database?.drop())
beforeEach(() => {
  chat = startFakeChat()
  tiny = 0
  read = []
})
afterEach(async () => {
  await worker?.close()
  worker = null
  await chat.stop()
  await database.sql`truncate agent_session, actor_mailbox, actor_message cascade`
})

const saidIn = ({ messages }: ChatData) => messages[0]!.text
const there = () =>
  chat.respond('insight', (_, data) => {
    read.push(saidIn(data))
    return chat.completion({
      nonce: data.nonce,
      findings: [],
      outcome: 'unclear',
      sentiment: 'neutral',
      language: 'en',
    })
  })

const deps = (url: string) => ({
  newId,
  config: loadConfig({ ANALYZE_URL: url, ANALYZE_MODEL: 'small' }),
  modelServer: null,
  textWork: textWorkHere,
  tokenBudget: NO_TOKEN_LIMIT,
})

/** Starts the analysis of sessions of these customers, with a server at this URL. */
async function start(url: string, said: readonly string[], limit = 0): Promise<readonly string[]> {
  const options = { url, model: 'small', apiKey: null, timeout: 300, away: AWAY }
  const budget = createTokenBudget(database.sql, { analyzeTokensPerDay: limit })
  const first = createModelServerAnalyzer(createChatServer(options), {
    ...{ budget, share: 1 },
    otherwise: createModelServerAnalyzer(createChatServer({ ...options, model: 'beyond the budget' })),
  })
  const ids: string[] = []
  for (const text of said) {
    const id = await createSession(database.sql, application)
    await storeEvents(database.sql, id, [user(0, text), assistant(1)])
    const { newMessages } = await runSession(database.sql, sessionActor(deps(url)), id)
    const { organizationId } = application
    const [analysis] = newMessages.filter(({ key }) => key.startsWith('analysis:'))
    await sendMessages(database.sql, [{ ...analysis!, organizationId, delayMs: 0 }])
    ids.push(id)
  }
  const passes = { first, isComplete: true, together: false }
  worker = await startWorker(testDeps(database.url, null), [analysisActor(deps(url), passes)], PAUSES)
  return ids
}

const customers = Array.from({ length: SESSIONS }, (_, n) => `customer ${n}`)
const statuses = (ids: readonly string[]) =>
  Promise.all(ids.map(async (id) => (await sessionRow(database.sql, id)).processingStatus))
const tried = async () =>
  (
    await database.sql<{ attempts: number }[]>`select attempts from actor_message where key like 'analysis:%'`
  ).map(({ attempts }) => attempts)
const putOff = async () => {
  const text = (await worker?.deps.metrics.turns.get())?.values ?? []
  return text.find(({ labels }) => labels['outcome'] === 'put_off')?.value ?? 0
}
/** More turns than all attempts of all sessions. */
const longEnough = () => eventually(async () => (await putOff()) > 2 * ATTEMPTS * SESSIONS)
const allRead = (ids: readonly string[]) =>
  eventually(async () => (await statuses(ids)).every((status) => status === 'completed'))

const failures: readonly (readonly [string, () => Response | Promise<Response>])[] = [
  ['is overloaded', () => new Response(null, { status: 503 })],
  ['has other questions first', () => new Response(null, { status: 429 })],
  ['fails at everything', () => new Response(null, { status: 500 })],
  ['does not answer in time', () => new Promise<Response>(() => {})],
  ['refuses the key', () => new Response(null, { status: 401 })],
]

test.each(failures)(
  'a server that %s uses up no attempt, and afterwards everything is read once',
  async (_, fail) => {
    chat.respond('insight', fail)
    chat.respondAlive(() => {
      tiny++
      return fail()
    })
    const ids = await start(chat.url, customers)
    await longEnough()
    expect(new Set(await statuses(ids))).toEqual(new Set(['processing']))
    expect(Math.max(...(await tried()))).toBeLessThanOrEqual(1)
    const asked = chat.asked('insight')
    await eventually(async () => tiny > 3)
    // While the server is away, no question of a customer looks whether it is back.
    expect(chat.asked('insight')).toBe(asked)
    expect(asked).toBeLessThan(SESSIONS)
    chat.reset()
    there()
    await allRead(ids)
    expect(read.toSorted()).toEqual(customers)
  },
)

test('a server that cannot be reached uses up no attempt and no tokens', async () => {
  const { url } = chat
  await chat.stop()
  const ids = await start(url, customers, 1e6)
  await longEnough()
  expect(new Set(await statuses(ids))).toEqual(new Set(['processing']))
  expect(Math.max(...(await tried()))).toBeLessThanOrEqual(1)
  const used = await database.sql`select coalesce(sum(tokens), 0)::int as tokens from analysis_tokens`
  // At most those of a question that is under way.
  expect(used[0]?.tokens).toBeLessThan(10_000)
})

test.each([
  ['refuses', () => new Response(null, { status: 400 })],
  ['fails at', () => new Response(null, { status: 500 })],
  ['is too slow for', () => new Promise<Response>(() => {})],
] as const)('a conversation that the server %s fails, and holds up nobody', async (_, fail) => {
  chat.respond('insight', (_request, data) => {
    if (saidIn(data) === 'poison') return fail()
    read.push(saidIn(data))
    const answer = { findings: [], outcome: 'unclear', sentiment: 'neutral', language: 'en' }
    return chat.completion({ nonce: data.nonce, ...answer })
  })
  const [poison, ...ids] = await start(chat.url, ['poison', ...customers])
  await allRead(ids)
  expect(read.toSorted()).toEqual(customers)
  await eventually(async () => (await statuses([poison!]))[0] === 'failed')
  expect(await responseStates(database.sql, poison!)).toEqual(['a1 failed'])
  expect(chat.asked('insight')).toBeLessThanOrEqual(SESSIONS + 2 * ATTEMPTS)
})

test('`/ready` and the doctor say whether the server is away', async () => {
  const { url } = chat
  const config = loadConfig({ ANALYZE_URL: url, ANALYZE_MODEL: 'small' })
  expect(await examineAnalyzer(loadConfig({}))).toBeNull()
  expect(await examineAnalyzer(config)).toEqual({ ok: true, detail: `small at ${new URL(url).host}` })
  await chat.stop()
  expect(await examineAnalyzer(config)).toMatchObject({ ok: false })
  const server = await startTestServer({ env: { ANALYZE_URL: url, ANALYZE_MODEL: 'small' } })
  try {
    const response = await fetch(`${server.baseUrl}/ready`)
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ status: 'degraded', degraded: [{ part: 'analyzer' }] })
  } finally {
    await server.stop()
  }
})
