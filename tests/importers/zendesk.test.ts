/** Import sources end to end: the operations, the actor and an account of Zendesk over HTTP. */
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
import { MAX_SOURCES } from '../../src/hear/importers/sources/model.ts'
import { QUICK } from '../support/actors.ts'
import { eventually } from '../support/eventually.ts'
import {
  AGENT_EMAIL,
  API_TOKEN,
  type FakeZendesk,
  fakeTicket,
  startFakeZendesk,
} from '../support/fake-zendesk.ts'
import { type Client, startTestServer, type TestApplication, type TestServer } from '../support/server.ts'

setDefaultTimeout(300_000)

let server: TestServer
let runtime: Runtime
let zendesk: FakeZendesk
let client: Client
let organizationId: string
let application: TestApplication

beforeAll(async () => {
  server = await startTestServer({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } })
  runtime = createRuntime(server.deps, server.features.actors, QUICK)
  await runtime.start()
})
beforeEach(async () => {
  zendesk = startFakeZendesk()
  const tenant = await server.createTenant()
  organizationId = tenant.organizationId
  client = server.as({ apiKey: tenant.apiKey })
  application = await server.createApplication(organizationId)
})
afterEach(() => zendesk.stop())
afterAll(async () => {
  await runtime?.stop(5_000)
  await server?.stop()
})

const sources = () => `/v3/rest/agent-applications/${application.applicationId}/import-sources`
const SETTINGS = {
  provider: 'zendesk',
  account: AGENT_EMAIL,
  secret: API_TOKEN,
  since: '2026-01-01T00:00:00Z',
}

async function create(more: object = {}) {
  const created = await client.post(sources(), { ...SETTINGS, url: zendesk.url, ...more })
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

/** Makes the source due, as time does. */
async function due(id: string) {
  await server.database.sql`update import_source set due_at = now(), paused_until = null where id = ${id}`
  await wakeDueSources(server.deps)
}

const stored = async () => [
  ...(await server.database.sql`
    select s.external_session_id as session, s.status, e.external_event_id as id, e.sequence::int as sequence,
      e.revision::int as revision, e.type, e.occurred_at as at, e.body
    from agent_session s join agent_event e on e.session_id = s.id
    where s.application_id = ${application.applicationId}
    order by s.external_session_id, e.sequence`),
]

const messages = async () => (await stored()).map(({ body }) => body.content)
const expected = (...ids: readonly number[]) => ids.flatMap((id) => [`Question ${id}`, `Answer ${id}`])

describe('reading', () => {
  test('tickets become conversations: who, what, when, where', async () => {
    zendesk.tickets.push(
      fakeTicket(1),
      { ...fakeTicket(2), status: 'open' },
      { ...fakeTicket(3), status: 'deleted' },
    )
    const { id } = await create()
    expect(await caughtUp(id)).toMatchObject({ conversations: 2, messages: 4, refused: 0, errorCode: null })
    const host = new URL(zendesk.url).host
    expect(await stored()).toEqual([
      {
        session: `zendesk:${host}:1`,
        status: 'ended',
        id: '11',
        sequence: 1,
        revision: 1,
        type: 'user_message',
        at: new Date('2026-01-05T09:01:00Z'),
        body: expect.objectContaining({ content: 'Question 1', participantExternalId: '12' }),
      },
      expect.objectContaining({ id: '13', type: 'assistant_message', sequence: 2 }),
      expect.objectContaining({ session: `zendesk:${host}:2`, status: 'open', id: '21' }),
      expect.objectContaining({ id: '23' }),
    ])
    const [session] = await server.database.sql`
      select context, participants from agent_session
      where application_id = ${application.applicationId} order by external_session_id limit 1`
    expect(session?.context).toEqual({
      surface: 'zendesk',
      entityType: 'ticket',
      entityId: '1',
      properties: { subject: 'Ticket 1', tags: ['export'] },
    })
    expect(session?.participants).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ externalId: '12', displayName: 'Grace', email: 'grace@example.com' }),
        expect.objectContaining({ externalId: '91', boundary: 'internal' }),
      ]),
    )
  })

  test('all pages are read, and a later look goes on behind the last one', async () => {
    for (let id = 1; id <= 8; id++) zendesk.tickets.push(fakeTicket(id))
    const { id } = await create()
    const { caughtUpAt } = await caughtUp(id)
    expect(await messages()).toEqual(expected(1, 2, 3, 4, 5, 6, 7, 8))
    const before = zendesk.requests.length
    // A new ticket, and a new comment on an old one.
    zendesk.tickets.push(fakeTicket(9))
    const old = zendesk.tickets[1]
    if (old === undefined) throw new Error('no ticket')
    old.updated_at = '2026-01-05T10:00:00Z'
    old.comments.push({ id: 29, author_id: 11, public: true, body: 'Again', created_at: old.updated_at })
    await due(id)
    expect(await caughtUp(id, Date.parse(caughtUpAt))).toMatchObject({ messages: 19 })
    expect(await messages()).toEqual([...expected(1, 2), 'Again', ...expected(3, 4, 5, 6, 7, 8, 9)])
    const later = zendesk.requests.slice(before)
    const asked = later.filter((path) => path.includes('/comments')).map((path) => path.split('/')[4])
    expect(asked.toSorted()).toEqual(['2', '2', '9', '9'])
    expect(later.some((path) => path.includes('start_time'))).toBe(false)
  })

  test('only tickets that changed since the given moment are asked for', async () => {
    zendesk.tickets.push(fakeTicket(1), fakeTicket(30))
    const { id } = await create({ since: '2026-01-05T09:20:00Z' })
    await caughtUp(id)
    expect(await messages()).toEqual(expected(30))
  })

  test('a source that was deleted and created again doubles nothing', async () => {
    for (let id = 1; id <= 4; id++) zendesk.tickets.push(fakeTicket(id))
    const first = await create()
    await caughtUp(first.id)
    const before = await stored()
    expect((await client.delete(`${sources()}/${first.id}`)).status).toBe(204)
    const second = await create()
    expect(await caughtUp(second.id)).toMatchObject({ conversations: 4, messages: 0 })
    expect(await stored()).toEqual(before)
  })

  test('what the application refuses does not hold up the rest', async () => {
    const [first, second] = [fakeTicket(1), fakeTicket(2)]
    ;(first.comments[0] as { body: string }).body = 'x'.repeat(300_000)
    zendesk.tickets.push(first, second)
    const { id } = await create()
    expect(await caughtUp(id)).toMatchObject({ conversations: 2, messages: 3, refused: 1 })
    expect(await messages()).toEqual(['Answer 1', ...expected(2)])
  })
})

describe('a help desk that does not answer as usual', () => {
  test('429 with Retry-After is a pause, which run does not shorten, and nothing is read twice', async () => {
    for (let id = 1; id <= 5; id++) zendesk.tickets.push(fakeTicket(id))
    let limited = 0
    zendesk.intercept = (path) => {
      if (!path.includes('/tickets/2/comments') || limited > 0) return null
      limited++
      return new Response('', { status: 429, headers: { 'retry-after': '600' } })
    }
    const { id } = await create()
    const paused = await eventually(async () => {
      const source = await sourceOf(id)
      return limited === 1 && Date.parse(source.nextReadAt) > Date.now() + 500_000 && source
    })
    expect(paused).toMatchObject({ errorCode: null, caughtUpAt: null, messages: 4 })
    const run = await client.post(`${sources()}/${id}/run`, {})
    expect([run.status, run.body.nextReadAt]).toEqual([202, paused.nextReadAt])
    const before = zendesk.requests.length
    await wakeDueSources(server.deps)
    expect(zendesk.requests.length).toBe(before)
    await due(id)
    expect(await caughtUp(id)).toMatchObject({ conversations: 5, messages: 10 })
    expect(await messages()).toEqual(expected(1, 2, 3, 4, 5))
    // Tickets of the page that were stored before the pause are not asked for again.
    const asked = zendesk.requests.slice(before).filter((path) => path.includes('/comments'))
    expect(asked.some((path) => path.includes('/tickets/1/'))).toBe(false)
  })

  test.each([
    ['a wrong token', 401, 'unauthorized'],
    ['an error', 500, 'unreachable'],
    ['another service', 200, 'unexpected_answer'],
    ['a redirect', 302, 'unexpected_answer'],
    ['a wrong address', 404, 'not_found'],
  ])('%s is shown, and tried again', async (_, status, code) => {
    zendesk.tickets.push(fakeTicket(1))
    let failures = 0
    zendesk.intercept = () => {
      if (failures++ > 0) return null
      return new Response('<html>', { status, headers: { location: 'http://127.0.0.1:1/' } })
    }
    const { id } = await create()
    const failed = await eventually(async () => {
      const source = await sourceOf(id)
      return source.errorCode !== null && source
    })
    expect(failed.errorCode).toBe(code)
    expect(Date.parse(failed.nextReadAt) - Date.parse(failed.failedAt)).toBe(60_000)
    expect((await client.post(`${sources()}/${id}/run`, {})).status).toBe(202)
    expect(await caughtUp(id)).toMatchObject({ errorCode: null, failedAt: null, messages: 2 })
  })

  test('run during a reading looks again when it has ended', async () => {
    zendesk.tickets.push(fakeTicket(1))
    const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    zendesk.intercept = async (path, number) => {
      if (number > 1 || path.includes('/comments')) return null
      // The page is empty: the ticket comes too late for it.
      asked.resolve()
      await answered.promise
      return Response.json({
        tickets: [],
        users: [],
        end_of_stream: true,
        after_cursor: null,
        after_url: null,
      })
    }
    const { id } = await create()
    await asked.promise
    expect((await client.post(`${sources()}/${id}/run`, {})).status).toBe(202)
    answered.resolve()
    await eventually(async () => {
      await wakeDueSources(server.deps)
      return (await sourceOf(id)).messages === 2
    })
  })

  test('a ticket that is deleted meanwhile is left out', async () => {
    zendesk.tickets.push(fakeTicket(1), fakeTicket(2))
    zendesk.intercept = (path) =>
      path.includes('/tickets/1/') ? Response.json({ error: 'RecordNotFound' }, { status: 404 }) : null
    const { id } = await create()
    expect(await caughtUp(id)).toMatchObject({ conversations: 1 })
    expect(await messages()).toEqual(expected(2))
  })

  test('a ticket that cannot be read is left out after several attempts', async () => {
    zendesk.tickets.push(fakeTicket(1), fakeTicket(2))
    zendesk.intercept = (path) => (path.includes('/tickets/1/') ? Response.json({ odd: true }) : null)
    const { id } = await create()
    for (let attempt = 1; attempt <= 3; attempt++) {
      await eventually(async () => {
        await wakeDueSources(server.deps)
        const [row] = await server.database.sql`select failures from import_source where id = ${id}`
        return row?.failures === attempt
      })
      expect(await sourceOf(id)).toMatchObject({
        errorCode: 'unexpected_answer',
        caughtUpAt: null,
        refused: 0,
      })
      await client.post(`${sources()}/${id}/run`, {})
    }
    expect(await caughtUp(id)).toMatchObject({ conversations: 1, refused: 1, errorCode: null })
    expect(await messages()).toEqual(expected(2))
  })

  test('an application whose organization has no agent chats any more stops the source', async () => {
    await server.database
      .sql`update organization set agent_chats_enabled = false where id = ${organizationId}`
    zendesk.tickets.push(fakeTicket(1))
    const { id } = await create()
    const failed = await eventually(async () => {
      const source = await sourceOf(id)
      return source.errorCode !== null && source
    })
    expect(failed.errorCode).toBe('agent_chats_disabled')
  })
})

describe('beside each other', () => {
  test('a source of another organization is read meanwhile', async () => {
    // All sources of one organization get no answer.
    zendesk.intercept = () => new Promise<Response>(() => {})
    for (let count = 0; count < MAX_SOURCES; count++) await create()
    await eventually(() => zendesk.requests.length > 0)
    const other = startFakeZendesk()
    try {
      other.tickets.push(fakeTicket(1))
      const neighbour = await server.createTenant()
      client = server.as({ apiKey: neighbour.apiKey })
      application = await server.createApplication(neighbour.organizationId)
      const { id } = await create({ url: other.url })
      expect(await caughtUp(id)).toMatchObject({ messages: 2 })
    } finally {
      await other.stop()
    }
  })
})

describe('operations', () => {
  test('a source is created, listed, read and deleted; its secret is never shown and stored sealed', async () => {
    const own = {
      ...SETTINGS,
      url: 'https://example.zendesk.com/?x=1',
      everyMinutes: 60,
      environment: 'test',
    }
    const { status, headers, body } = await client.post(sources(), own)
    expect(status).toBe(201)
    expect(headers.get('location')).toBe(`${sources()}/${body.id}`)
    expect(body).toMatchObject({
      applicationId: application.applicationId,
      provider: 'zendesk',
      url: 'https://example.zendesk.com',
      account: AGENT_EMAIL,
      everyMinutes: 60,
      environment: 'test',
      since: '2026-01-01T00:00:00.000Z',
      conversations: 0,
    })
    const list = await client.get(sources())
    expect(list.body.data.map(({ id }: { id: string }) => id)).toEqual([body.id])
    expect(JSON.stringify([body, list.body])).not.toContain(API_TOKEN)
    const [row] = await server.database.sql`select secret from import_source where id = ${body.id}`
    expect(Buffer.from(row?.secret).includes(API_TOKEN)).toBe(false)
    expect((await client.delete(`${sources()}/${body.id}`)).status).toBe(204)
    expect((await client.get(`${sources()}/${body.id}`)).body.code).toBe('import_source_not_found')
    expect((await client.delete(`${sources()}/${body.id}`)).status).toBe(404)
    expect((await client.post(`${sources()}/${body.id}/run`, {})).status).toBe(404)
  })

  test.each([
    [{ url: 'http://localhost/' }, 'url_not_allowed'],
    [{ url: 'http://10.0.0.1/' }, 'url_not_allowed'],
    [{ provider: 'freshdesk' }, 'validation_failed'],
    [{ secret: 'two words' }, 'validation_failed'],
    [{ since: '2026-02-30T00:00:00Z' }, 'validation_failed'],
    [{ everyMinutes: 1 }, 'validation_failed'],
    [{ more: 1 }, 'unknown_member'],
  ])('%p is 400 %s', async (more, code) => {
    const answer = await client.post(sources(), { ...SETTINGS, url: 'https://example.zendesk.com', ...more })
    expect([answer.status, answer.body.code]).toEqual([400, code])
  })

  test(`an organization has at most ${MAX_SOURCES} sources, also where they are created at once`, async () => {
    const body = { ...SETTINGS, url: zendesk.url }
    const answers = await Promise.all(
      Array.from({ length: MAX_SOURCES + 3 }, () => client.post(sources(), body)),
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(MAX_SOURCES)
    expect(answers.find(({ status }) => status !== 201)?.body.code).toBe('too_many_import_sources')
  })
})
