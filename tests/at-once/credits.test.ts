/** Changes of the balance beside conversations that spend it: whatever meets, PostgreSQL reports no deadlock and no request fails. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { QUICK } from '../support/actors.ts'
import { type Agent, assistantMessage, INGEST, openAgent, userMessage } from '../support/agents.ts'
import { deadlocks } from '../support/deadlocks.ts'
import { rounds } from '../support/rounds.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const CREDITS = '/v3/rest/credits'
const CHANGES = rounds(120, 600)
/** So many wait for the row of the organization at a time. */
const MANY = { DATABASE_POOL_SIZE: '10' }

let first: TestServer
let second: TestServer
let agent: Agent
beforeAll(async () => {
  first = await startTestServer({ actors: QUICK, env: MANY })
  second = await startTestServer({ beside: first, actors: QUICK, env: MANY })
  agent = await openAgent(first)
})
afterAll(async () => {
  await second?.stop()
  await first?.stop()
})

/** Sends turns of many conversations until `isOver`. @returns the statuses */
async function converse(server: TestServer, name: string, isOver: () => boolean): Promise<readonly number[]> {
  const statuses: number[] = []
  const client = server.as({ agentSecret: agent.agentSecret })
  for (let n = 0; !isOver(); n++) {
    const at = 2 * Math.floor(n / 20)
    const body = agent.request([userMessage(at), assistantMessage(at + 1)], {
      externalSessionId: `${name} ${n % 20}`,
    })
    statuses.push((await client.post(INGEST, body)).status)
  }
  return statuses
}

async function change(server: TestServer, apiKey: string, n: number): Promise<number> {
  const client = server.as({ apiKey })
  if (n % 3 === 0) return (await client.patch(CREDITS, { balance: n % 2 === 0 ? 0 : 5 })).status
  return (await client.post(CREDITS, { units: 1 + (n % 3) })).status
}

test('changes of the balance beside ingestion end without a deadlock', async () => {
  const before = await deadlocks(first.database.sql)
  let left = CHANGES
  const isOver = () => left <= 0
  const balances = [first, second, first, second].map(async (server) => {
    const statuses: number[] = []
    while (!isOver()) statuses.push(await change(server, agent.tenant.apiKey, left--))
    return statuses
  })
  const conversations = Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? first : second)).map(
    (server, n) => converse(server, `chat ${n}`, isOver),
  )
  const statuses = (await Promise.all([...balances, ...conversations])).flat()
  expect(statuses.filter((status) => status >= 300)).toEqual([])
  expect((await deadlocks(first.database.sql)) - before).toBe(0)
})
