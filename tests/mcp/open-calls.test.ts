/** Calls that are open at a time: organizations share the places, and a call that waits for its user takes none. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../src/platform/ids.ts'
import { createOpenCalls } from '../../src/tell/mcp/http/open-calls.ts'
import { eventually } from '../support/eventually.ts'
import { openRequest, type RawRequest } from '../support/raw-request.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

let server: TestServer
let tenant: TestTenant
let neighbour: TestTenant
beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
  neighbour = await server.createTenant()
})
afterAll(() => server.stop())

const VERSION = '2025-11-25'
const OF_USER = 16
/** More than there are places for calls. */
const USERS = 33

const headersOf = (token: string) => ({
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  authorization: `Bearer ${token}`,
})

const send = (token: string, message: object) =>
  fetch(`${server.baseUrl}/mcp`, {
    method: 'POST',
    headers: headersOf(token),
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  })

async function startSession(token: string): Promise<string> {
  const clientInfo = { name: 'test', version: '1' }
  const params = { protocolVersion: VERSION, capabilities: { elicitation: {} }, clientInfo }
  const response = await send(token, { id: 0, method: 'initialize', params })
  return response.headers.get('mcp-session-id') ?? ''
}

/** Calls a tool that asks the user, who does not answer. */
async function openQuestion(token: string, sessionId: string): Promise<RawRequest> {
  const params = { name: 'create-project', arguments: { name: newId() } }
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }))
  const request = openRequest('POST', `${server.baseUrl}/mcp`, {
    ...headersOf(token),
    'mcp-session-id': sessionId,
    'mcp-protocol-version': VERSION,
    'content-length': String(body.byteLength),
  })
  await request.write(body)
  return request
}

const questions = async () => (await server.database.sql`select 1 from mcp_question`).length

test('528 open questions of one organization keep nobody out, itself included', async () => {
  const open: RawRequest[] = []
  for (let index = 0; index < USERS; index++) {
    const { userToken } = await server.createUser(tenant.organizationId)
    const sessionId = await startSession(userToken)
    const all = Array.from({ length: OF_USER }, () => openQuestion(userToken, sessionId))
    open.push(...(await Promise.all(all)))
  }
  await eventually(async () => expect(await questions()).toBe(USERS * OF_USER))
  for (const token of [neighbour.userToken, tenant.userToken])
    expect((await send(token, { id: 1, method: 'tools/list' })).status).toBe(200)
  for (const request of open) request.reset()
  await eventually(async () => expect(await questions()).toBe(0))
}, 120_000)

describe('places', () => {
  const LIMITS = { perUser: 3, calls: 8, questions: 4 }
  const organization = (organizationId: string) => {
    let user = 0
    return () => ({ organizationId, userId: String(user++) })
  }

  test('of calls: one organization has at most half of them, and others find the rest', () => {
    const open = createOpenCalls(LIMITS)
    const [first, second] = [organization('first'), organization('second')]
    const held = Array.from({ length: 4 }, () => open(first()))
    expect(() => open(first())).toThrow('Too many calls of this organization')
    const other = open(second())
    other.close()
    held[0]?.close()
    held[0]?.close()
    open(first())
    expect(() => open(first())).toThrow('Too many calls')
  })

  test('of questions: as those of calls; a call that asks gives its place to others', () => {
    const open = createOpenCalls(LIMITS)
    const [first, second] = [organization('first'), organization('second')]
    const asking = Array.from({ length: 2 }, () => open(first()))
    for (const call of asking) call.asks()
    const held = Array.from({ length: 4 }, () => open(first()))
    expect(() => held[0]?.asks()).toThrow('Too many questions of this organization')
    const other = open(second())
    other.asks()
    other.close()
    asking[0]?.close()
    held[0]?.asks()
    open(first())
  })

  test('of a user: a question counts, and the next call is 429', () => {
    const open = createOpenCalls(LIMITS)
    const user = { organizationId: 'first', userId: 'ada' }
    const held = Array.from({ length: 3 }, () => open(user))
    held[0]?.asks()
    expect(() => open(user)).toThrow('At most 3 calls of one user')
    held[0]?.close()
    open(user)
  })
})
