/** Answers of users to questions, in version 2026-07-28: they count for the very call, user and time that they were given for. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../src/platform/ids.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

const SECRET_KEY = 'x'.repeat(43)
const VERSION = '2026-07-28'
const META = 'io.modelcontextprotocol'

let server: TestServer
/** Another process of the same service. */
let second: TestServer
let tenant: TestTenant
beforeAll(async () => {
  server = await startTestServer({ env: { SECRET_KEY } })
  second = await startTestServer({ env: { SECRET_KEY }, beside: server })
  tenant = await server.createTenant()
})
afterAll(async () => {
  await second?.stop()
  await server?.stop()
})

interface Retry {
  readonly requestState?: string
  readonly inputResponses?: object
}

async function create(
  args: object,
  retry: Retry = {},
  at = server,
  token = tenant.userToken,
  elicitation: object | null = {},
) {
  const response = await fetch(`${at.baseUrl}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION,
      'mcp-method': 'tools/call',
      'mcp-name': 'create-project',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'create-project',
        arguments: args,
        ...retry,
        _meta: {
          [`${META}/protocolVersion`]: VERSION,
          [`${META}/clientCapabilities`]: elicitation === null ? {} : { elicitation },
          [`${META}/clientInfo`]: { name: 'test', version: '1' },
        },
      },
    }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: what comes over the wire is for the test to judge
  return (await response.json()) as any
}

const ACCEPT = { inputResponses: { approval: { action: 'accept', content: {} } } }

/** The state of a question. */
async function ask(args: object): Promise<string> {
  const { result } = await create(args)
  expect(result).toMatchObject({
    resultType: 'input_required',
    inputRequests: { approval: { method: 'elicitation/create' } },
  })
  return result.requestState
}

test('an approved call succeeds, at any process', async () => {
  const name = newId()
  const requestState = await ask({ name })
  const { result } = await create({ name }, { ...ACCEPT, requestState }, second)
  expect(result).toMatchObject({ resultType: 'complete', structuredContent: { name } })
})

test('an approval makes one project, however often and wherever it is sent', async () => {
  const name = newId()
  const requestState = await ask({ name })
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, index) =>
      create({ name }, { ...ACCEPT, requestState }, index % 2 === 0 ? server : second),
    ),
  )
  const types = answers.map(({ result }) => result.resultType)
  expect(types.filter((type) => type === 'complete').length).toBe(1)
  expect(types.filter((type) => type === 'input_required').length).toBe(5)
  expect((await create({ name }, { ...ACCEPT, requestState })).result.resultType).toBe('input_required')
  const rows = await server.database.sql`select 1 from project where name = ${name}`
  expect(rows.length).toBe(1)
})

test('an answer without a question, or to another one, asks anew', async () => {
  const requestState = await ask({ name: newId() })
  for (const retry of [ACCEPT, { ...ACCEPT, requestState }, { requestState }]) {
    const { result } = await create({ name: newId() }, retry)
    expect(result.resultType).toBe('input_required')
  }
})

test('an answer that another user gave asks anew', async () => {
  const name = newId()
  const requestState = await ask({ name })
  const { userToken } = await server.createUser(tenant.organizationId)
  const { result } = await create({ name }, { ...ACCEPT, requestState }, server, userToken)
  expect(result.resultType).toBe('input_required')
})

test('a state that was changed is refused', async () => {
  const name = newId()
  const requestState = await ask({ name })
  const { error } = await create({ name }, { ...ACCEPT, requestState: `${requestState.slice(0, -3)}AAA` })
  expect(error).toMatchObject({ code: -32_602 })
})

test('a client that shows web pages only cannot ask', async () => {
  const { result } = await create({ name: newId() }, {}, server, tenant.userToken, { url: {} })
  expect(result).toMatchObject({ isError: true })
  expect(result.content[0].text).toStartWith('approval_required: ')
})
