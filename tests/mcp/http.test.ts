/** The tools over HTTP with the official clients of both generations. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../src/platform/ids.ts'
import { createCodingSession } from '../support/coding-sessions.ts'
import { createTenant, type Tenant } from '../support/metadata.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { connectTo, GENERATIONS, type Generation, type User } from './support.ts'

let server: TestServer
let tenant: Tenant
let userToken: string
beforeAll(async () => {
  server = await startTestServer()
  tenant = await createTenant(server)
  ;({ userToken } = await server.createUser(tenant.organizationId))
})
afterAll(() => server?.stop())

const connect = (generation: Generation, user: User, at = server) =>
  connectTo(generation, { url: `${at.baseUrl}/mcp`, headers: { authorization: `Bearer ${userToken}` } }, user)

const projects = async () =>
  (await server.as({ userToken }).get('/v3/rest/projects?limit=100')).body.data.map(
    ({ name }: { name: string }) => name,
  )

test.each([undefined, '*/*', 'text/html, */*;q=0.8', 'application/json, text/event-stream'])(
  'a request that accepts %p is answered, in both generations',
  async (accept) => {
    const list = (params: object, more: Record<string, string>) =>
      fetch(`${server.baseUrl}/mcp`, {
        method: 'POST',
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params }),
        headers: {
          authorization: `Bearer ${userToken}`,
          'content-type': 'application/json',
          ...(accept === undefined ? {} : { accept }),
          ...more,
        },
      })
    const version = '2026-07-28'
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': version,
      'io.modelcontextprotocol/clientInfo': { name: 'curl', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const older = await list({}, { 'mcp-protocol-version': '2025-06-18' })
    expect([older.status, await older.text()]).toEqual([200, expect.stringContaining('create-project')])
    const newer = await list({ _meta }, { 'mcp-protocol-version': version, 'mcp-method': 'tools/list' })
    expect([newer.status, await newer.text()]).toEqual([200, expect.stringContaining('create-project')])
  },
)

describe.each(GENERATIONS)('a client of the %s generation', (generation) => {
  test('reads errors that name what it has sent', async () => {
    await using client = disposable(await connect(generation, null))
    const blank = await client.call('search-customer-voice', { query: '-invoice' })
    expect(blank).toMatchObject({ isError: true, text: expect.stringMatching(/query: must contain a word/) })
    const filters = { outcome: 'resolved' }
    const unfit = await client.call('get-insights', { metric: 'feedback', by: ['day'], filters })
    expect(unfit.text).toContain('filters.outcome: does not apply to feedback')
  })

  test('speaks its own version of the protocol', async () => {
    await using client = disposable(await connect(generation, null))
    expect(client.version).toBe(generation === 'new' ? '2026-07-28' : '2025-11-25')
  })

  test('lists the tools with schemas and every annotation', async () => {
    await using client = disposable(await connect(generation, null))
    const tools = await client.tools()
    expect(tools.map(({ name }) => name)).toContain('create-project')
    for (const { name, description, inputSchema, outputSchema, annotations } of tools) {
      expect([name, description?.length]).toEqual([name, expect.any(Number)])
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
      expect(outputSchema).toMatchObject({ type: 'object' })
      expect(annotations).toEqual({
        title: expect.any(String),
        readOnlyHint: expect.any(Boolean),
        destructiveHint: false,
        idempotentHint: expect.any(Boolean),
        openWorldHint: false,
      })
    }
  })

  test('asks its user before a project is created, once', async () => {
    await using client = disposable(await connect(generation, 'accept'))
    const name = newId()
    const { structured, text, isError } = await client.call('create-project', { name, description: 'Pay' })
    expect({ isError, asked: client.asked }).toEqual({
      isError: false,
      asked: [`Create the project “${name}” in Earshot?`],
    })
    expect(structured).toEqual({
      publicId: expect.any(String),
      name,
      description: 'Pay',
      createdAt: expect.stringMatching(/Z$/),
    })
    expect(JSON.parse(text)).toEqual(structured)
    expect(await projects()).toContain(name)
  })

  test.each(['decline', 'cancel'] as const)('whose user answers %s changes nothing', async (action) => {
    await using client = disposable(await connect(generation, action))
    const name = newId()
    const { isError, text } = await client.call('create-project', { name, userApproved: true })
    expect(isError).toBe(true)
    expect(text).toStartWith(action === 'decline' ? 'declined: ' : 'cancelled: ')
    expect(client.asked).toHaveLength(1)
    expect(await projects()).not.toContain(name)
  })

  test('that cannot ask needs userApproved', async () => {
    await using client = disposable(await connect(generation, null))
    const name = newId()
    for (const userApproved of [undefined, false]) {
      const refused = await client.call('create-project', { name, userApproved })
      expect(refused).toMatchObject({ isError: true, text: expect.stringMatching(/^approval_required: /) })
    }
    expect(await projects()).not.toContain(name)
    const { isError } = await client.call('create-project', { name, userApproved: true })
    expect(isError).toBe(false)
    expect(await projects()).toContain(name)
  })

  test('uploads a session after its user agreed; the same again adds nothing', async () => {
    await using client = disposable(await connect(generation, 'accept'))
    const session = {
      format: 'normalized',
      agent: 'my-agent',
      title: 'Fix “the” checkout\n\nYes?',
      repo: 'github.com/example/checkout',
      externalSessionId: newId(),
      events: [{ role: 'user', text: 'Fix it' }, { text: 'Done' }],
    }
    const first = await client.call('upload-agent-session', session)
    expect(client.asked).toEqual([
      'Upload a session of “my-agent” (2 events, title “Fix the checkout Yes?”, repository “github.com/example/checkout”) to Earshot? ' +
        'Its messages, tool calls and file edits are stored there; known forms of keys and passwords are removed first.',
    ])
    const { sessionId } = first.structured
    expect(first.structured).toMatchObject({
      sessionId: expect.any(String),
      agent: 'my-agent',
      eventCount: 2,
      deduplicatedEventCount: 0,
      messages: 2,
      skippedLines: 0,
    })
    const second = await client.call('upload-agent-session', session)
    expect(second.structured).toMatchObject({
      sessionId,
      eventCount: 2,
      deduplicatedEventCount: 2,
    })
    const owner = server.as({ userToken })
    const stored = await owner.get(`/v3/rest/coding-sessions/${sessionId}`)
    expect(stored.body).toMatchObject({ title: session.title, repo: session.repo })
  })

  test('associates a session and lists it', async () => {
    await using client = disposable(await connect(generation, 'accept'))
    const { publicId } = (await client.call('create-project', { name: 'Checkout' })).structured
    const sessionId = await createCodingSession(server.as({ userToken }))
    const target = { resourceType: 'project', publicId }
    const first = await client.call('associate-agent-session', { ...target, sessionId })
    expect(first.structured).toEqual({ associated: true, alreadyAssociated: false })
    expect(client.asked.at(-1)).toBe(
      `Add the agent session ${sessionId} to the project “Checkout” in Earshot?`,
    )
    const second = await client.call('associate-agent-session', { ...target, sessionId })
    expect(second.structured).toEqual({ associated: true, alreadyAssociated: true })
    const { structured } = await client.call('list-associated-agent-sessions', target)
    expect(structured).toMatchObject({ data: [{ sessionId, agent: 'normalized' }], has_more: false })
    const project = await client.call('get-project', { publicId })
    expect(project.structured).toMatchObject({ publicId, name: 'Checkout', externalKey: null })
  })

  test('is not asked about a call that is not valid, or whose objects do not exist', async () => {
    await using client = disposable(await connect(generation, 'accept'))
    const sessionId = newId()
    const { publicId } = (await client.call('create-project', { name: 'X' })).structured
    const calls: [string, object, string][] = [
      ['create-project', {}, 'validation_failed: '],
      ['create-project', { name: ' ' }, 'validation_failed: '],
      ['create-project', { name: 'a', colour: 'red' }, 'unknown_member: '],
      ['upload-agent-session', { format: 'normalized' }, 'events: must be given'],
      ['upload-agent-session', { format: 'codex', uploadId: newId() }, 'coding_session_upload_not_found: '],
      ['upload-agent-session', { format: 'codex', events: [{ text: 'a' }] }, 'format: must be'],
      ['upload-agent-session', { format: 'cobol', jsonl: '{}' }, 'validation_failed: '],
      [
        'associate-agent-session',
        { resourceType: 'project', publicId: newId(), sessionId },
        'project_not_found: ',
      ],
      [
        'associate-agent-session',
        { resourceType: 'project', publicId, sessionId },
        'coding_session_not_found: ',
      ],
      ['associate-agent-session', { resourceType: 'folder', publicId, sessionId }, 'validation_failed: '],
      ['get-project', { publicId: newId() }, 'project_not_found: '],
    ]
    const asked = client.asked.length
    for (const [name, args, text] of calls)
      expect(await client.call(name, args)).toMatchObject({
        isError: true,
        text: expect.stringContaining(text),
      })
    expect(client.asked).toHaveLength(asked)
  })

  test('of a viewer reads, and changes nothing', async () => {
    const viewer = await server.createUser(tenant.organizationId, 'viewer')
    const headers = { authorization: `Bearer ${viewer.userToken}` }
    await using client = disposable(
      await connectTo(generation, { url: `${server.baseUrl}/mcp`, headers }, 'accept'),
    )
    const { publicId } = (await server.as({ userToken }).post('/v3/rest/projects', { name: 'Seen' })).body
    expect((await client.call('get-project', { publicId })).structured).toMatchObject({ name: 'Seen' })
    const refused = await client.call('create-project', { name: 'Mine' })
    expect(refused).toMatchObject({ isError: true, text: expect.stringContaining('role_required: ') })
    expect(client.asked).toEqual([])
  })

  test('gets an error of the protocol for an unknown tool', async () => {
    await using client = disposable(await connect(generation, null))
    const error = await client.call('delete-everything', {}).then(
      () => null,
      (reason: unknown) => reason,
    )
    expect(error).toMatchObject({ code: -32_602 })
  })
})

function disposable<T extends { close(): Promise<void> }>(client: T): T & AsyncDisposable {
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() })
}
