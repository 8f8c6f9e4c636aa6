/** Intercom and Chatwoot as import sources, end to end. What all sources have in common is in zendesk.test.ts. */
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from 'bun:test'
import { createRuntime, type Runtime } from '../../src/actors/runtime.ts'
import { wakeDueSources } from '../../src/hear/importers/sources/maintenance.ts'
import { QUICK } from '../support/actors.ts'
import { eventually } from '../support/eventually.ts'
import {
  type FakeHelpDesk,
  fakeConversation,
  startFakeChatwoot,
  startFakeIntercom,
} from '../support/fake-help-desks.ts'
import { type Client, startTestServer, type TestApplication, type TestServer } from '../support/server.ts'

setDefaultTimeout(300_000)

let server: TestServer
let runtime: Runtime
let client: Client
let application: TestApplication
let desk: FakeHelpDesk

beforeAll(async () => {
  server = await startTestServer({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } })
  runtime = createRuntime(server.deps, server.features.actors, QUICK)
  await runtime.start()
})
beforeEach(async () => {
  const tenant = await server.createTenant()
  client = server.as({ apiKey: tenant.apiKey })
  application = await server.createApplication(tenant.organizationId)
})
afterEach(() => desk?.stop())
afterAll(async () => {
  await runtime?.stop(5_000)
  await server?.stop()
})

const sources = () => `/v3/rest/agent-applications/${application.applicationId}/import-sources`

async function create(more: object = {}) {
  const body = { url: desk.url, since: '2026-01-01T00:00:00Z', ...desk.settings, ...more }
  const created = await client.post(sources(), body)
  expect(created.status).toBe(201)
  return created.body
}

const sourceOf = async (id: string) => (await client.get(`${sources()}/${id}`)).body

/** Waits until the source has caught up after `since`. Sources that are due are woken, as maintenance does. */
const caughtUp = (id: string, since = 0) =>
  eventually(async () => {
    await wakeDueSources(server.deps)
    const source = await sourceOf(id)
    return Date.parse(source.caughtUpAt ?? '') > since && source
  })

async function again(id: string) {
  const { caughtUpAt } = await sourceOf(id)
  await server.database.sql`update import_source set due_at = now(), paused_until = null where id = ${id}`
  return caughtUp(id, caughtUpAt === null ? 0 : Date.parse(caughtUpAt))
}

const stored = async () => [
  ...(await server.database.sql`
    select s.external_session_id as session, s.status, e.external_event_id as id, e.type, e.occurred_at as at, e.body
    from agent_session s join agent_event e on e.session_id = s.id
    where s.application_id = ${application.applicationId}
    order by length(s.external_session_id), s.external_session_id, e.sequence`),
]

const said = async () => (await stored()).map(({ body }) => body.content)
const expected = (...ids: readonly number[]) => ids.flatMap((id) => [`Question ${id}`, `Answer ${id}`])

const DESKS = [
  ['intercom', startFakeIntercom, (host: string) => `intercom:${host}:1`, '5f1'],
  ['chatwoot', startFakeChatwoot, (host: string) => `chatwoot:${host}:7:1`, 'contact:21'],
] as const

for (const [name, startDesk, sessionOf, customer] of DESKS) {
  describe(name, () => {
    beforeEach(() => {
      desk = startDesk()
    })

    test('conversations become conversations, without internal notes', async () => {
      const open = fakeConversation(2)
      open.closed = false
      desk.conversations.push(fakeConversation(1), open)
      const { id } = await create()
      expect(await caughtUp(id)).toMatchObject({ conversations: 2, messages: 4, refused: 0, errorCode: null })
      const rows = await stored()
      expect(rows.map(({ body }) => body.content)).toEqual(expected(1, 2))
      expect(rows[0]).toMatchObject({
        session: sessionOf(new URL(desk.url).host),
        status: 'ended',
        id: '1001',
        type: 'user_message',
        at: new Date('2026-01-05T09:01:00Z'),
        body: { participantExternalId: customer },
      })
      expect(rows.map(({ type, status }) => [type, status]).slice(1)).toEqual([
        ['assistant_message', 'ended'],
        ['user_message', 'open'],
        ['assistant_message', 'open'],
      ])
    })

    test('all pages are read, and a later look reads only what changed', async () => {
      for (let id = 1; id <= 8; id++) desk.conversations.push(fakeConversation(id))
      const { id } = await create()
      expect(await caughtUp(id)).toMatchObject({ conversations: 8, messages: 16 })
      expect(await said()).toEqual(expected(1, 2, 3, 4, 5, 6, 7, 8))
      // Nothing changed: nothing is read.
      let before = desk.requests.length
      expect(await again(id)).toMatchObject({ conversations: 8 })
      const asked = () =>
        [1, 2, 3, 4, 5, 6, 7, 8, 9].filter((one) =>
          desk.requests
            .slice(before)
            .some((request) => request.split(' ')[1]?.split('?')[0] === desk.pathOf(one)),
        )
      expect(asked()).toEqual([])
      // A new one in the same second as the latest, and a new message in an old one.
      before = desk.requests.length
      desk.conversations.push(fakeConversation(9, 8))
      const old = desk.conversations[1] as (typeof desk.conversations)[number]
      old.changedAt += 3_600
      old.messages.push({ id: 2999, text: 'Again', at: old.changedAt, by: 'customer' })
      expect(await again(id)).toMatchObject({ conversations: 10, messages: 19 })
      expect(asked()).toEqual([2, 9])
      expect(await said()).toEqual([...expected(1, 2), 'Again', ...expected(3, 4, 5, 6, 7, 8, 9)])
    })

    test('a conversation that changes during a pass is not missed', async () => {
      for (let id = 1; id <= 7; id++) desk.conversations.push(fakeConversation(id))
      const moved = desk.conversations[3] as (typeof desk.conversations)[number]
      let requests = 0
      desk.intercept = (path) => {
        if (path !== desk.pathOf(1) && path !== desk.pathOf(7)) return null
        if (requests++ > 0) return null
        moved.changedAt += 3_600
        moved.messages.push({ id: 4999, text: 'Meanwhile', at: moved.changedAt, by: 'customer' })
        return null
      }
      const { id } = await create()
      await caughtUp(id)
      await again(id)
      expect(await said()).toEqual([...expected(1, 2, 3, 4), 'Meanwhile', ...expected(5, 6, 7)])
    })

    test('only conversations that changed since the given moment are read', async () => {
      desk.conversations.push(fakeConversation(1), fakeConversation(30))
      const { id } = await create({ since: '2026-01-05T09:20:00Z' })
      await caughtUp(id)
      expect(await said()).toEqual(expected(30))
    })

    test('429 is a pause of the length that is asked for', async () => {
      for (let id = 1; id <= 4; id++) desk.conversations.push(fakeConversation(id))
      let limited = 0
      desk.intercept = (path) => (path === desk.pathOf(2) && limited++ === 0 ? desk.limited(600) : null)
      const { id } = await create()
      const paused = await eventually(async () => {
        const source = await sourceOf(id)
        return Date.parse(source.nextReadAt) > Date.now() + 500_000 && source
      })
      expect(paused).toMatchObject({ errorCode: null, caughtUpAt: null })
      expect(Date.parse(paused.nextReadAt)).toBeLessThan(Date.now() + 610_000)
      await again(id)
      expect(await said()).toEqual(expected(1, 2, 3, 4))
    })

    test('a wrong token is shown', async () => {
      const { id } = await create({ secret: 'wrong' })
      const failed = await eventually(async () => {
        const source = await sourceOf(id)
        return source.errorCode !== null && source
      })
      expect(failed.errorCode).toBe('unauthorized')
    })
  })
}

describe('the account', () => {
  test.each([
    ['chatwoot', undefined, 'is required for chatwoot'],
    ['chatwoot', '7/../8', 'must be the number of the account'],
    ['intercom', '7', 'is not allowed for intercom'],
  ])('%s with %p is refused', async (provider, account, message) => {
    const body = { provider, url: 'https://example.com', secret: 'x', ...(account ? { account } : {}) }
    const answer = await client.post(sources(), body)
    expect([answer.status, answer.body.details[0].path]).toEqual([400, 'account'])
    expect(answer.body.details[0].message).toContain(message)
  })
})
