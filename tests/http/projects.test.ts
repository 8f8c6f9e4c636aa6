/** Projects of coding agents over HTTP, and which sessions a project shows to whom. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../src/platform/ids.ts'
import { createCodingSession } from '../support/coding-sessions.ts'
import { createTenant, type Tenant } from '../support/metadata.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

const PROJECTS = '/v3/rest/projects'

let server: TestServer
let tenant: Tenant
let stranger: Tenant
/** Another user of the same organization. */
let bob: Client
beforeAll(async () => {
  server = await startTestServer()
  tenant = await createTenant(server)
  stranger = await createTenant(server)
  bob = server.as({ userToken: (await server.createUser(tenant.organizationId)).userToken })
})
afterAll(() => server?.stop())

const create = async (client: Client, body: object = {}): Promise<string> =>
  (await client.post(PROJECTS, { name: newId(), ...body })).body.publicId

const sessionOf = (client: Client) =>
  createCodingSession(client, { agent: 'claude-code', title: 'Fix the checkout' })

describe('creating a project', () => {
  test('is 201 with Location and the project', async () => {
    for (const client of [tenant.key, tenant.user]) {
      const answer = await client.post(PROJECTS, { name: '  Checkout ', description: 'Pay' })
      expect(answer.status).toBe(201)
      expect(answer.headers.get('location')).toBe(`${PROJECTS}/${answer.body.publicId}`)
      expect(answer.body).toEqual({
        publicId: expect.any(String),
        name: 'Checkout',
        description: 'Pay',
        externalKey: null,
        createdAt: expect.stringMatching(/Z$/),
        updatedAt: expect.stringMatching(/Z$/),
      })
      expect(await bob.get(`${PROJECTS}/${answer.body.publicId}`)).toMatchObject({
        status: 200,
        body: answer.body,
      })
    }
  })

  test('with a known external key answers with the known project, unchanged, however many ask at once', async () => {
    const externalKey = newId()
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => tenant.user.post(PROJECTS, { name: `P${index}`, externalKey })),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
    expect(new Set(answers.map(({ body }) => `${body.publicId} ${body.name}`)).size).toBe(1)
    const listed = await tenant.key.get(`${PROJECTS}?externalKey=${externalKey}`)
    expect(listed.body.data).toHaveLength(1)
    const elsewhere = await stranger.user.post(PROJECTS, { name: 'Other', externalKey })
    expect(elsewhere.body.publicId).not.toBe(answers[0]?.body.publicId)
  })

  test.each([
    [{}],
    [{ name: ' ' }],
    [{ name: 'x'.repeat(256) }],
    [{ name: 'a', externalKey: ' ' }],
    [{ name: 'a', externalKey: '' }],
    [{ name: 'a', externalKey: 'k'.repeat(256) }],
    [{ name: 'a', description: 'x'.repeat(10_001) }],
  ])('with %j is 400', async (body) => {
    expect(await tenant.user.post(PROJECTS, body)).toMatchObject({
      status: 400,
      body: { code: 'validation_failed' },
    })
  })
})

test('a project can be changed and deleted', async () => {
  const id = await create(tenant.user, { description: 'Old' })
  const renamed = await bob.patch(`${PROJECTS}/${id}`, { name: ' New ' })
  expect(renamed).toMatchObject({ status: 200, body: { name: 'New', description: 'Old' } })
  const cleared = await tenant.key.patch(`${PROJECTS}/${id}`, { description: null })
  expect(cleared).toMatchObject({ status: 200, body: { name: 'New', description: null } })
  expect((await tenant.key.patch(`${PROJECTS}/${id}`, { name: '' })).status).toBe(400)
  expect((await tenant.user.delete(`${PROJECTS}/${id}`)).status).toBe(204)
  for (const answer of [
    await tenant.user.get(`${PROJECTS}/${id}`),
    await tenant.user.delete(`${PROJECTS}/${id}`),
    await tenant.user.patch(`${PROJECTS}/${id}`, {}),
  ])
    expect(answer).toMatchObject({ status: 404, body: { code: 'project_not_found' } })
})

test('the list shows the projects of the organization, newest first, page by page', async () => {
  const fresh = await createTenant(server)
  const made: string[] = []
  for (let index = 0; index < 5; index++) made.unshift(await create(fresh.user))
  const found: string[] = []
  let cursor = ''
  for (;;) {
    const { body } = await fresh.key.get(`${PROJECTS}?limit=2${cursor}`)
    found.push(...body.data.map(({ publicId }: { publicId: string }) => publicId))
    if (!body.has_more) break
    cursor = `&cursor=${body.next_cursor}`
  }
  expect(found).toEqual(made)
})

describe('the sessions of a project', () => {
  test('are associated once, listed, and removed; the session stays', async () => {
    const id = await create(tenant.user)
    const sessionId = await sessionOf(tenant.user)
    const path = `${PROJECTS}/${id}/agent-sessions`
    const answers = [
      await tenant.user.post(path, { sessionId }),
      await tenant.user.post(path, { sessionId: sessionId.toUpperCase() }),
    ]
    expect(answers.map(({ status, body }) => [status, body])).toEqual([
      [200, { associated: true, alreadyAssociated: false }],
      [200, { associated: true, alreadyAssociated: true }],
    ])
    const { body } = await tenant.user.get(path)
    expect(body.data).toEqual([
      {
        sessionId,
        agent: 'claude-code',
        title: 'Fix the checkout',
        repo: null,
        branch: null,
        commit: null,
        startedAt: null,
        endedAt: null,
        eventCount: 1,
        associatedAt: expect.stringMatching(/Z$/),
      },
    ])
    expect((await tenant.user.delete(`${path}/${sessionId}`)).status).toBe(204)
    expect(await tenant.user.delete(`${path}/${sessionId}`)).toMatchObject({
      status: 404,
      body: { code: 'coding_session_not_found' },
    })
    const again = await tenant.user.post(path, { sessionId })
    expect(again.body).toEqual({ associated: true, alreadyAssociated: false })
  })

  test('are visible to their owner only, those of API keys to all', async () => {
    const id = await create(tenant.user)
    const path = `${PROJECTS}/${id}/agent-sessions`
    const [own, common] = [await sessionOf(tenant.user), await sessionOf(tenant.key)]
    for (const client of [bob, tenant.key])
      expect(await client.post(path, { sessionId: own })).toMatchObject({
        status: 404,
        body: { code: 'coding_session_not_found' },
      })
    await tenant.user.post(path, { sessionId: own })
    await bob.post(path, { sessionId: common })
    const shown = async (client: Client) =>
      (await client.get(path)).body.data.map(({ sessionId }: { sessionId: string }) => sessionId)
    expect(await shown(tenant.user)).toEqual([common, own])
    for (const client of [bob, tenant.key]) {
      expect(await shown(client)).toEqual([common])
      expect((await client.delete(`${path}/${own}`)).status).toBe(404)
    }
    expect(await shown(tenant.user)).toEqual([common, own])
  })

  test('of another organization do not exist', async () => {
    const [mine, theirs] = [await create(tenant.user), await create(stranger.user)]
    const session = await sessionOf(tenant.key)
    const foreign = await createCodingSession(stranger.key)
    for (const [project, sessionId, code] of [
      [mine, foreign, 'coding_session_not_found'],
      [mine, newId(), 'coding_session_not_found'],
      [theirs, session, 'project_not_found'],
    ])
      expect(await tenant.user.post(`${PROJECTS}/${project}/agent-sessions`, { sessionId })).toMatchObject({
        status: 404,
        body: { code },
      })
    const malformed = await tenant.user.post(`${PROJECTS}/${mine}/agent-sessions`, { sessionId: 'x' })
    expect(malformed.status).toBe(400)
  })

  test('are listed page by page, the latest first', async () => {
    const id = await create(tenant.user)
    const path = `${PROJECTS}/${id}/agent-sessions`
    const made: string[] = []
    for (let index = 0; index < 5; index++) {
      const sessionId = await sessionOf(tenant.user)
      await tenant.user.post(path, { sessionId })
      made.unshift(sessionId)
    }
    const found: string[] = []
    let cursor = ''
    for (;;) {
      const { body } = await tenant.user.get(`${path}?limit=2${cursor}`)
      found.push(...body.data.map(({ sessionId }: { sessionId: string }) => sessionId))
      if (!body.has_more) break
      cursor = `&cursor=${body.next_cursor}`
    }
    expect(found).toEqual(made)
  })
})
