/** The search does not get back what an erasure removed while its turn was under way. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { LongTurn } from '../../src/actors/types.ts'
import type { TextWork } from '../../src/analysis/analyze/text-work.ts'
import { refuseAnalyses } from '../../src/hear/agents/sessions/erasure.store.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { passageActor } from '../../src/understand/search/actor.ts'
import { openAgent, userMessage } from '../support/agents.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server?.stop())

/** Indexes a session in one turn. `meanwhile` runs between reading and writing. @returns its passages */
async function index(meanwhile: (scope: { organizationId: string; sessionId: string }) => Promise<unknown>) {
  const { sql } = server.database
  const agent = await openAgent(server)
  const { sessionId } = await agent.accept([userMessage(1, { content: 'I am Zephyrine.' })])
  const { organizationId } = agent.tenant
  const textWork = {
    async run(job: string, texts: readonly string[]) {
      if (job === 'places') return []
      await meanwhile({ organizationId, sessionId })
      return texts.map(() => 'en')
    },
  } as unknown as TextWork
  const actor = passageActor({ textWork })
  if (actor.pool === 'short') throw new Error('passages are made in long turns')
  const handler = actor.handlers.session
  const inTransaction: LongTurn['step'] = (work) => transaction(sql, (tx) => work(tx, async () => {}))
  const payload = { after: -1, through: 10, late: [] }
  const alone = typeof handler === 'function' ? handler : handler?.alone
  await alone?.({
    message: { key: `passage:${sessionId}`, id: sessionId, seq: 1, type: 'session', payload, attempts: 0 },
    organization: organizationId,
    signal: new AbortController().signal,
    log: createLog('silent', 'test'),
    read: (work) => transaction(sql, work, 'read only'),
    step: inTransaction,
    finish: inTransaction,
  })
  return sql`select external_event_id from search_passage where session_id = ${sessionId}`
}

test('a turn that read before an erasure writes no passage', async () => {
  expect(await index(async () => {})).toHaveLength(1)
  expect(
    await index((scope) => transaction(server.database.sql, (tx) => refuseAnalyses(tx, scope))),
  ).toHaveLength(0)
})
