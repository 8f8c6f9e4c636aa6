/** The tools that read what customers said: what they find, and what of it each user may see. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { SettingsChange } from '../../src/hear/agents/applications/model.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { createSearchChanges } from '../../src/understand/search/backfill.ts'
import { insertEvent, insertSession, insertSignal } from '../support/agents-http.ts'
import { eventually } from '../support/eventually.ts'
import { createTenant, type Tenant } from '../support/metadata.ts'
import { createFolder, createRecording, utterance } from '../support/recordings.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { connectTo, type ToolClient } from './support.ts'

let server: TestServer
let tenant: Tenant
let ada: ToolClient
/** Another user of the organization. */
let bob: ToolClient
/** A user of another organization. */
let stranger: ToolClient
let adaToken: string
/** Ids by what they are. */
const made: Record<string, string> = {}
let graceUuid: string

const AT = (day: number) => `2026-03-${String(day).padStart(2, '0')}T12:00:00.000Z`

beforeAll(async () => {
  server = await startTestServer({ actors: true, env: { PUBLIC_BASE_URL: 'http://ears.localhost' } })
  tenant = await createTenant(server)
  const other = await createTenant(server)
  const adaUser = await server.createUser(tenant.organizationId, 'viewer')
  adaToken = adaUser.userToken
  const bobUser = await server.createUser(tenant.organizationId)
  const connect = (userToken: string) =>
    connectTo(
      'new',
      { url: `${server.baseUrl}/mcp`, headers: { authorization: `Bearer ${userToken}` } },
      null,
    )
  ;[ada, bob, stranger] = await Promise.all([
    connect(adaToken),
    connect(bobUser.userToken),
    connect(other.userToken),
  ])
  await feedback()
  await recordings(server.as({ userToken: bobUser.userToken }))
  await conversations(bobUser.userId)
})
afterAll(async () => {
  await Promise.all([ada?.close(), bob?.close(), stranger?.close()])
  await server?.stop()
})

async function feedback() {
  const source = (await tenant.key.post('/v3/rest/feedback-sources', { name: 'Help desk' })).body
  const grace = (await tenant.key.put('/v3/rest/people', { email: 'grace@example.com', first_name: 'Grace' }))
    .body
  graceUuid = grace.uuid
  const record = await tenant.key.post(`/v3/rest/feedback-sources/${source.id}/records`, {
    person_id: grace.id,
    display_ts: AT(1),
    fields: [
      {
        category: 'content',
        type: 'string',
        name: 'comment',
        value: 'The invoice export is 100% blue\nand plain.',
      },
      { category: 'metadata', type: 'string', name: 'plan', value: 'platinum' },
    ],
  })
  made.feedback = String(record.body.id)
  made.source = String(source.id)
}

async function recordings(bobClient: ReturnType<TestServer['as']>) {
  const shown = await createRecording(tenant.key, {
    displayName: 'Call with Grace',
    startedAt: AT(2),
    transcript: [
      utterance(0, 5, 0, 'Good morning.'),
      utterance(61, 70, 1, 'Your invoices export is in the menu.'),
    ],
    participants: [{ speaker: 1, email: 'grace@example.com' }],
  })
  const hidden = await createRecording(bobClient, {
    displayName: 'Private invoice talk',
    startedAt: AT(3),
    folderIds: [await createFolder(bobClient, false)],
    participants: [{ speaker: 0, email: 'grace@example.com' }],
    transcript: [utterance(0, 1, 0, 'The export of the invoice.')],
  })
  made.recording = shown.id
  made.hiddenRecording = hidden.id
}

async function conversations(bobId: string) {
  const { sql } = server.database
  const { organizationId } = tenant
  for (const [name, settings] of [
    ['open', {}],
    ['restricted', { conversationAccess: { type: 'restricted', userIds: [bobId] } }],
  ] satisfies [string, SettingsChange][]) {
    const { applicationId } = await server.createApplication(organizationId, { agentKey: name, settings })
    const sessionId = await insertSession(sql, organizationId, applicationId, {
      created_at: AT(4),
      participants: sql.json([{ externalId: 'g', personId: graceUuid }]),
    })
    // As the turn of the session does.
    await sql`
      insert into agent_session_person (organization_id, session_id, participant_external_id, person_id, sole, occurred_at)
      select ${organizationId}, ${sessionId}, 'g', id, true, ${AT(4)} from person where public_id = ${graceUuid}`
    const content = 'Why does the export of my invoice never end?'
    await insertEvent(sql, organizationId, sessionId, 1, { occurred_at: AT(4), body: sql.json({ content }) })
    await insertEvent(sql, organizationId, sessionId, 2, {
      type: 'assistant_message',
      occurred_at: AT(5),
      body: sql.json({ content: 'The invoice export ends at midnight.' }),
    })
    for (const [day, rating] of [
      [4, 'negative'],
      [4, 'negative'],
      [6, 'positive'],
    ] as const)
      await insertSignal(sql, { organizationId, applicationId, sessionId }, { occurred_at: AT(day), rating })
    made[name] = sessionId
    const change = await createSearchChanges(server.deps.textWork)[0]!.compute(sql, [sessionId])
    await transaction(sql, (tx) => change(tx, [sessionId]))
  }
}

const search = async (client: ToolClient, args: object) => {
  const { isError, text, structured } = await client.call('search-customer-voice', args)
  if (isError) throw new Error(text)
  return structured.data
}
const idsOf = (data: readonly { id: string }[]) => data.map(({ id }) => id)

describe('search-customer-voice', () => {
  test('finds what was said on every channel, with quotations and links', async () => {
    await eventually(async () => {
      const found: Record<string, string>[] = await search(ada, { query: 'invoice export' })
      found.sort((a, b) => (String(a.occurredAt) < String(b.occurredAt) ? 1 : -1))
      expect<unknown>(found).toEqual([
        {
          channel: 'conversation',
          id: made.open,
          title: 'open',
          text: 'Why does the export of my invoice never end?',
          occurredAt: AT(4),
          startSec: null,
          link: `http://ears.localhost/v3/rest/agent-conversations/sessions/${made.open}`,
        },
        {
          channel: 'recording',
          id: made.recording,
          title: 'Call with Grace',
          text: 'Your invoices export is in the menu.',
          occurredAt: AT(2),
          startSec: 61,
          link: `http://ears.localhost/v3/rest/recordings/${made.recording}`,
        },
        {
          channel: 'feedback',
          id: made.feedback,
          title: 'Help desk',
          text: 'The invoice export is 100% blue and plain.',
          occurredAt: AT(1),
          startSec: null,
          link: `http://ears.localhost/v3/rest/feedback-sources/${made.source}/records/${made.feedback}`,
        },
      ])
    })
  })

  test('shows to each user what the user may see', async () => {
    await eventually(async () =>
      expect(idsOf(await search(bob, { query: 'invoice' })).toSorted()).toEqual(
        [
          made.open,
          made.restricted,
          made.recording,
          made.hiddenRecording,
          made.feedback,
        ].toSorted() as string[],
      ),
    )
    expect(await search(stranger, { query: 'invoice' })).toEqual([])
  })

  test('has links that the same user can follow', async () => {
    const { body } = await server.as({ userToken: adaToken }).get('/v3/rest/session')
    expect(body.user.id).toBeString()
    for (const { link } of await search(ada, { query: 'export' })) {
      const answer = await server.as({ userToken: adaToken }).get(new URL(link).pathname)
      expect([link, answer.status]).toEqual([link, 200])
    }
  })

  test('says when no passage has all of the words', async () => {
    const answer = async (query: string) =>
      (await ada.call('search-customer-voice', { query, channel: 'conversation' })).structured
    await eventually(async () => expect((await answer('invoice')).match).toBe('all'))
    expect(await answer('invoice export')).toMatchObject({ match: 'all', note: null })
    const any = await answer('invoice zeppelin')
    expect(any).toMatchObject({
      match: 'any',
      note: 'No passage has all of these words. These have some of them.',
    })
    expect(idsOf(any.data)).toContain(made.open as string)
  })

  test.each([
    [{ query: 'platinum' }, []],
    [{ query: 'midnight' }, []],
    [{ query: '100%', channel: 'feedback' }, ['feedback']],
    [{ query: '"10_% blue"', channel: 'feedback' }, []],
    [{ query: 'INVOICE', channel: 'conversation' }, ['open']],
    [{ query: 'export', since: AT(2), until: AT(4) }, ['recording']],
    [{ query: 'export', since: AT(4) }, ['open']],
    [{ query: 'exporting', until: AT(2) }, ['feedback']],
  ])('%j finds %j', async (args, names) => {
    await eventually(async () =>
      expect(idsOf(await search(ada, args))).toEqual(names.map((name) => made[name] as string)),
    )
  })

  test.each([
    [{}],
    [{ query: '' }],
    [{ query: '%%' }],
    [{ query: 'a', limit: 21 }],
    [{ query: 'a', since: 'today' }],
  ])('%j is refused', async (args) => {
    expect((await ada.call('search-customer-voice', args)).isError).toBe(true)
  })
})

describe('get-insights', () => {
  const PERIOD = { since: AT(1), until: AT(31) }
  const counts = async (client: ToolClient, args: object) => {
    const { isError, text, structured } = await client.call('get-insights', { ...PERIOD, ...args })
    if (isError) throw new Error(text)
    return structured
  }

  test('counts signals by day and rating, of conversations that the user may see', async () => {
    const { coverage, ...found } = await counts(ada, { by: ['day', 'rating'] })
    // How far the analysis is does not matter here.
    expect(coverage.read + coverage.waiting + coverage.notRead).toBe(3)
    expect(found).toEqual({
      metric: 'signals',
      timeZone: 'UTC',
      since: '2026-03-01T00:00:00.000Z',
      until: '2026-04-01T00:00:00.000Z',
      data: [
        { keys: { day: '2026-03-06', rating: 'positive' }, count: 1 },
        { keys: { day: '2026-03-04', rating: 'negative' }, count: 2 },
      ],
      total: 3,
      complete: true,
    })
    expect((await counts(bob, { by: ['rating'] })).total).toBe(6)
    expect((await counts(stranger, { by: ['rating'] })).data).toEqual([])
  })

  test.each([
    [{ by: ['week'] }, [{ keys: { week: '2026-03-02' }, count: 3 }]],
    [{ by: ['kind'], filters: { rating: 'positive' } }, [{ keys: { kind: 'message_feedback' }, count: 1 }]],
    [{ by: ['kind'], filters: { kind: 'praise' } }, []],
    [{ by: ['agentKey'], filters: { agentKey: 'restricted' } }, []],
    [
      { metric: 'sessions', by: ['agentKey', 'status'] },
      [{ keys: { agentKey: 'open', status: 'open' }, count: 1 }],
    ],
    [{ metric: 'feedback', by: ['source'] }, [{ keys: { source: 'Help desk' }, count: 1 }]],
    [
      { metric: 'signals', by: ['channel', 'day'], until: AT(5) },
      [{ keys: { channel: 'conversation', day: '2026-03-04' }, count: 2 }],
    ],
  ])('%j is %j', async (args, data) => {
    expect((await counts(ada, args)).data).toEqual(data)
  })

  test('counts the recordings that the user may see, by default of the last 30 days', async () => {
    const recent = { metric: 'recordings', by: ['source'] }
    expect((await counts(ada, { ...recent, since: undefined, until: undefined })).data).toEqual([])
    expect((await counts(ada, recent)).data).toEqual([{ keys: { source: 'api' }, count: 1 }])
    const sources = (await counts(bob, recent)).data.map(({ count }: { count: number }) => count)
    expect(sources.reduce((sum: number, count: number) => sum + count, 0)).toBe(2)
  })

  test.each([
    [{ by: [] }],
    [{ by: ['day', 'week', 'kind'] }],
    [{ by: ['day', 'day'] }],
    [{ metric: 'feedback', by: ['kind'] }],
    [{ metric: 'feedback', by: ['day'], filters: { rating: 'positive' } }],
    [{ by: ['day'], since: AT(5), until: AT(4) }],
    [{ by: ['day'], since: '2024-01-01T00:00:00Z' }],
  ])('%j is refused', async (args) => {
    expect((await ada.call('get-insights', { ...PERIOD, ...args })).isError).toBe(true)
  })
})

describe('get-person-timeline', () => {
  const timeline = async (client: ToolClient, args: object) => client.call('get-person-timeline', args)

  test('lists what a person said on every channel, newest first', async () => {
    const { structured } = await timeline(ada, { email: 'GRACE@example.com' })
    expect(structured.person).toEqual({
      personId: graceUuid,
      email: 'grace@example.com',
      firstName: 'Grace',
      lastName: null,
    })
    expect(idsOf(structured.data)).toEqual([made.open, made.recording, made.feedback] as string[])
    expect(structured.data).toMatchObject([
      {
        text: 'Why does the export of my invoice never end?',
        said: [{ messageId: 'e1' }],
        signals: [{}, {}, {}],
      },
      { text: 'Your invoices export is in the menu.', startSec: 61 },
      { text: 'The invoice export is 100% blue and plain.' },
    ])
    expect(structured.data[1].link).toBe(`http://ears.localhost/v3/rest/recordings/${made.recording}`)
    const older = await timeline(ada, { personId: graceUuid, until: AT(2), limit: 5 })
    expect(idsOf(older.structured.data)).toEqual([made.feedback] as string[])
  })

  test('shows to each user what the user may see', async () => {
    const { structured } = await timeline(bob, { personId: graceUuid.toUpperCase() })
    expect(new Set(idsOf(structured.data))).toEqual(
      new Set([made.open, made.restricted, made.recording, made.hiddenRecording, made.feedback] as string[]),
    )
    expect(await timeline(stranger, { email: 'grace@example.com' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('person_not_found: '),
    })
  })

  test.each([[{}], [{ personId: 'x' }], [{ personId: 'x', email: 'y' }], [{ email: 'nobody@example.com' }]])(
    '%j is refused',
    async (args) => {
      expect((await timeline(ada, args)).isError).toBe(true)
    },
  )
})
