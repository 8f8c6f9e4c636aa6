/** Sessions of older clients, with several processes and users. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../src/platform/ids.ts'
import { deleteExpired } from '../../src/tell/mcp/legacy/sessions.ts'
import { eventually } from '../support/eventually.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

/** Every process has the same keys. */
const SECRET_KEY = 'x'.repeat(43)

let first: TestServer
/** Another process of the same service. */
let second: TestServer
let tenant: TestTenant
beforeAll(async () => {
  first = await startTestServer({ env: { SECRET_KEY } })
  second = await startTestServer({ env: { SECRET_KEY }, beside: first })
  tenant = await first.createTenant()
})
afterAll(async () => {
  await second?.stop()
  await first?.stop()
})

const VERSION = '2025-11-25'
const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

function send(at: TestServer, message: object, sessionId: string | null = null, token = tenant.userToken) {
  return fetch(`${at.baseUrl}/mcp`, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    headers: {
      ...HEADERS,
      authorization: `Bearer ${token}`,
      ...(sessionId === null ? {} : { 'mcp-session-id': sessionId, 'mcp-protocol-version': VERSION }),
    },
  })
}

const end = (at: TestServer, sessionId: string, token = tenant.userToken) =>
  fetch(`${at.baseUrl}/mcp`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${token}`, 'mcp-session-id': sessionId },
  })

async function start(at: TestServer, capabilities: object = { elicitation: {} }, token = tenant.userToken) {
  const clientInfo = { name: 'test', version: '1' }
  const params = { protocolVersion: VERSION, capabilities, clientInfo }
  const response = await send(at, { id: 0, method: 'initialize', params }, null, token)
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ result: { protocolVersion: VERSION } })
  return response.headers.get('mcp-session-id')
}

const create = (name: string) => ({
  id: 7,
  method: 'tools/call',
  params: { name: 'create-project', arguments: { name } },
})

/** Reads one message of a stream. */
async function* messagesOf(response: Response) {
  let text = ''
  for await (const chunk of (response.body as ReadableStream<Uint8Array>).pipeThrough(
    new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>,
  )) {
    text += chunk
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1]
      text = text.slice(end + 2)
      if (data !== undefined) yield JSON.parse(data)
    }
  }
}

const questionsLeft = async () => (await first.database.sql`select id from mcp_question`).length

describe('a session', () => {
  test('is given to a client that can ask its user, and to no other', async () => {
    expect(await start(first)).toMatch(/^[0-9a-f-]{36}$/)
    expect(await start(first, { elicitation: { form: {} } })).not.toBeNull()
    expect(await start(first, {})).toBeNull()
    expect(await start(first, { elicitation: { url: {} } })).toBeNull()
  })

  test('goes on at another process, which takes the answer of the user', async () => {
    const sessionId = await start(first)
    const name = newId()
    const response = await send(first, create(name), sessionId)
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(response.headers.get('cache-control')).toBe('private, no-store')
    const messages = messagesOf(response)
    const { value: question } = await messages.next()
    expect(question).toMatchObject({
      method: 'elicitation/create',
      params: { message: `Create the project “${name}” in Earshot?`, mode: 'form' },
    })
    const answered = await send(
      second,
      { id: question.id, result: { action: 'accept', content: {} } },
      sessionId,
    )
    expect(answered.status).toBe(202)
    const { value: result } = await messages.next()
    expect(result).toMatchObject({ id: 7, result: { structuredContent: { name } } })
    await eventually(async () => expect(await questionsLeft()).toBe(0))
  })

  test('starts at one process and calls at another', async () => {
    const sessionId = await start(first)
    const response = await send(second, create(newId()), sessionId)
    const messages = messagesOf(response)
    const { value: question } = await messages.next()
    expect(question.method).toBe('elicitation/create')
    await send(first, { id: question.id, result: { action: 'decline' } }, sessionId)
    const { value: result } = await messages.next()
    expect(result.result).toMatchObject({ isError: true })
    expect(result.result.content[0].text).toStartWith('declined: ')
  })

  test('may have several open questions, each answered for itself', async () => {
    const sessionId = await start(first)
    const names = [newId(), newId(), newId()]
    const calls = await Promise.all(names.map((name) => send(first, create(name), sessionId)))
    const streams = calls.map(messagesOf)
    const questions = await Promise.all(streams.map(async (stream) => (await stream.next()).value))
    expect(new Set(questions.map(({ id }) => id)).size).toBe(3)
    const actions = ['accept', 'decline', 'accept']
    for (const [index, { id }] of questions.entries())
      await send(first, { id, result: { action: actions[index], content: {} } }, sessionId)
    const results = await Promise.all(streams.map(async (stream) => (await stream.next()).value))
    expect(results.map(({ result }) => result.isError ?? false)).toEqual([false, true, false])
  })

  test('of another user does not exist, and neither do its questions', async () => {
    const other = await first.createUser(tenant.organizationId)
    const sessionId = (await start(first)) as string
    expect((await send(first, { id: 1, method: 'tools/list' }, sessionId, other.userToken)).status).toBe(404)
    const response = await send(first, create(newId()), sessionId)
    const messages = messagesOf(response)
    const { value: question } = await messages.next()
    const foreign = (await start(first, { elicitation: {} }, other.userToken)) as string
    const accept = { id: question.id, result: { action: 'accept', content: {} } }
    await send(first, accept, foreign, other.userToken)
    await send(first, { id: question.id, result: { action: 'decline' } }, sessionId)
    expect((await messages.next()).value.result.isError).toBe(true)
    expect((await end(first, sessionId, other.userToken)).status).toBe(404)
  })

  test('ends with DELETE; afterwards the client is told to start again', async () => {
    const sessionId = (await start(first)) as string
    expect((await send(second, { id: 1, method: 'tools/list' }, sessionId)).status).toBe(200)
    expect((await end(second, sessionId)).status).toBe(200)
    expect((await send(first, { id: 1, method: 'tools/list' }, sessionId)).status).toBe(404)
    expect((await end(first, sessionId)).status).toBe(404)
    expect((await end(first, 'no-id')).status).toBe(404)
  })

  test('is one of at most 20 of a user: the longest unused one makes room', async () => {
    const { userToken } = await first.createUser(tenant.organizationId)
    const ids: (string | null)[] = []
    for (let index = 0; index < 21; index++) ids.push(await start(first, { elicitation: {} }, userToken))
    const status = async (id: string | null) =>
      (await send(first, { id: 1, method: 'tools/list' }, id, userToken)).status
    expect(await status(ids[0] as string)).toBe(404)
    expect(await status(ids[1] as string)).toBe(200)
    expect(await status(ids[20] as string)).toBe(200)
  })

  test('that was not used for a week is over and deleted', async () => {
    const { sql } = first.database
    const sessionId = (await start(first)) as string
    await sql`update mcp_session set used_at = now() - interval '8 days' where id = ${sessionId}`
    expect((await send(first, { id: 1, method: 'tools/list' }, sessionId)).status).toBe(404)
    const kept = (await start(first)) as string
    await deleteExpired(sql, new AbortController().signal)
    const rows = await sql`select id from mcp_session where id = any(${[sessionId, kept]}::uuid[])`
    expect(rows.map(({ id }) => id)).toEqual([kept])
  })

  test('in use stays', async () => {
    const { sql } = first.database
    const sessionId = (await start(first)) as string
    await sql`update mcp_session set used_at = now() - interval '6 days' where id = ${sessionId}`
    expect((await send(first, { id: 1, method: 'tools/list' }, sessionId)).status).toBe(200)
    await eventually(async () => {
      const [row] =
        await sql`select used_at > now() - interval '1 hour' as fresh from mcp_session where id = ${sessionId}`
      expect(row?.fresh).toBe(true)
    })
  })

  test('whose client leaves while a question is open leaves nothing behind', async () => {
    const sessionId = await start(first)
    const leaving = new AbortController()
    const response = await fetch(`${first.baseUrl}/mcp`, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', ...create(newId()) }),
      headers: {
        ...HEADERS,
        authorization: `Bearer ${tenant.userToken}`,
        'mcp-session-id': sessionId as string,
      },
      signal: leaving.signal,
    })
    await messagesOf(response).next()
    leaving.abort()
    await eventually(async () => expect(await questionsLeft()).toBe(0))
  })
})

test('one user has at most 16 open calls', async () => {
  const { userToken } = await first.createUser(tenant.organizationId)
  const sessionId = await start(first, { elicitation: {} }, userToken)
  const leaving = new AbortController()
  const open = () =>
    fetch(`${first.baseUrl}/mcp`, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', ...create(newId()) }),
      headers: { ...HEADERS, authorization: `Bearer ${userToken}`, 'mcp-session-id': sessionId as string },
      signal: leaving.signal,
    })
  const waiting = await Promise.all(Array.from({ length: 16 }, open))
  expect(waiting.every(({ status }) => status === 200)).toBe(true)
  expect((await open()).status).toBe(429)
  expect((await send(first, { id: 1, method: 'tools/list' })).status).toBe(200)
  leaving.abort()
  await eventually(async () => {
    const answer = await send(first, { id: 1, method: 'tools/list' }, null, userToken)
    expect(answer.status).toBe(200)
  })
})
