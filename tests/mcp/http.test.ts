/** The tools over HTTP with the official clients of both generations. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../src/platform/ids.ts'
import { createTenant, type Tenant } from '../support/metadata.ts'
import { insertCodingSession } from '../support/projects.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { connectTo, GENERATIONS, type Generation, type User } from './support.ts'

let server: TestServer
let tenant: Tenant
let userToken: string
let userId: string
beforeAll(async () => {
  server = await startTestServer()
  tenant = await createTenant(server)
  ;({ userToken, userId } = await server.createUser(tenant.organizationId))
})
afterAll(() => server?.stop())

const connect = (generation: Generation, user: User, at = server) =>
  connectTo(generation, { url: `${at.baseUrl}/mcp`, headers: { authorization: `Bearer ${userToken}` } }, user)

const projects = async () =>
  (await server.as({ userToken }).get('/v3/rest/projects?limit=100')).body.data.map(
    ({ name }: { name: string }) => name,
  )

describe.each(GENERATIONS)('a client of the %s generation', (generation) => {
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

  test('associates a session and lists it', async () => {
    await using client = disposable(await connect(generation, 'accept'))
    const { publicId } = (await client.call('create-project', { name: 'Checkout' })).structured
    const sessionId = await insertCodingSession(server.database.sql, tenant.organizationId, userId)
    const target = { resourceType: 'project', publicId }
    const first = await client.call('associate-agent-session', { ...target, sessionId })
    expect(first.structured).toEqual({ associated: true, alreadyAssociated: false })
    expect(client.asked.at(-1)).toBe(
      `Add the agent session ${sessionId} to the project “Checkout” in Earshot?`,
    )
    const second = await client.call('associate-agent-session', { ...target, sessionId })
    expect(second.structured).toEqual({ associated: true, alreadyAssociated: true })
    const { structured } = await client.call('list-associated-agent-sessions', target)
    expect(structured).toMatchObject({ data: [{ sessionId, agent: 'claude-code' }], has_more: false })
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
      [
        'associate-agent-session',
        { resourceType: 'project', publicId: newId(), sessionId },
        'project_not_found: ',
      ],
      [
        'associate-agent-session',
        { resourceType: 'project', publicId, sessionId },
        'project_session_not_found: ',
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
