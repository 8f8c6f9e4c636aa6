/** Search by meaning: what it finds, for whom, in which order, and what is no longer found. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { TextWork } from '../../src/analysis/analyze/text-work.ts'
import { createConversations } from '../../src/hear/agents/reads/service.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { createSearchChanges } from '../../src/understand/search/backfill.ts'
import { createSearch } from '../../src/understand/search/service.ts'
import { QUICK } from '../support/actors.ts'
import { type Agent, openAgent, userMessage } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { createRecord, createSource, field } from '../support/feedback.ts'
import { createRecording, utterance } from '../support/recordings.ts'
import { searchOf, until } from '../support/search.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let agent: Agent
let key: Client
const ids: Record<string, string> = {}

beforeAll(async () => {
  server = await startTestServer({ actors: QUICK })
  agent = await openAgent(server)
  key = server.as({ apiKey: agent.tenant.apiKey })
  for (const [name, content] of [
    ['refund', 'I want my money back for the order of last week.'],
    ['parcel', 'The parcel has not arrived yet.'],
    ['password', 'Ich habe mein Passwort vergessen und komme nicht mehr ins Konto.'],
    ['weather', 'It was raining all day on our holiday.'],
  ] as const)
    ids[name] = (await say(agent, content)).sessionId
  await until(key, '"raining"', 1)
}, 300_000)
afterAll(() => server?.stop())

const say = (to: Agent, content: string) =>
  to.accept([userMessage(1, { content })], { externalSessionId: crypto.randomUUID() })
const found = async (q: string, more = '', caller = key) => {
  const { match, data } = await searchOf(caller, q, more)
  return { match, ids: data.map(({ id }) => id) }
}
/** A text process that starts on a busy machine may answer too late. The next search finds it running. */
const untilMeant = (q: string) =>
  eventually(async () => {
    const all = await found(q)
    return all.match === 'meaning' ? all : false
  })

test.each([
  ['give me a refund', 'refund'],
  ['no sign of my package', 'parcel'],
  ['delivery still missing', 'parcel'],
  ['forgotten password', 'password'],
])('%s finds the same in other words', async (q, name) => {
  expect((await untilMeant(q)).ids[0]).toBe(ids[name]!)
})

test('all words come first, and nothing is found for nonsense, codes and phrases', async () => {
  expect(await found('parcel')).toEqual({ match: 'all', ids: [ids.parcel!] })
  for (const q of ['zzzyyyxxx', 'x81c0de', '"give refund"', 'give refund -money -order'])
    expect(await found(q)).toMatchObject({ ids: [] })
})

test('a passage with some of the words and the meaning comes before one with a meaning alone', async () => {
  const { sessionId } = await say(agent, 'A refund of my invoice never came.')
  await until(key, '"refund"', 1)
  const { ids: all } = await untilMeant('give me a refund')
  expect(all.slice(0, 2)).toEqual([sessionId, ids.refund!])
  const { data } = await searchOf(key, 'give me a refund')
  expect(data.map(({ passage }) => passage).slice(0, 2)).toEqual([
    'A <mark>refund</mark> of my invoice never came.',
    'I want my money back for the order of last week.',
  ])
})

test('page by page, every result once, in the order of the first page', async () => {
  const whole = await found('give me a refund')
  const pages: string[] = []
  for (let cursor = ''; ; ) {
    const page = await searchOf(key, 'give me a refund', `&limit=1${cursor}`)
    pages.push(...page.data.map(({ id }) => id))
    if (page.next_cursor === null) break
    cursor = `&cursor=${page.next_cursor}`
  }
  expect(pages).toEqual(whole.ids)
  expect(pages.length).toBeGreaterThan(1)
})

describe('sees', () => {
  test('what the lists show: no restricted application, nothing of another organization', async () => {
    const closed = await openAgent(server, {
      tenant: agent.tenant,
      settings: { conversationAccess: { type: 'restricted', userIds: [] } },
    })
    const hidden = (await say(closed, 'The courier lost my shipment.')).sessionId
    await until(key, '"courier"', 1)
    const user = server.as({
      userToken: (await server.createUser(agent.tenant.organizationId, 'viewer')).userToken,
    })
    const q = 'package was lost by the carrier'
    expect((await untilMeant(q)).ids).toContain(hidden)
    expect((await found(q, '', user)).ids).not.toContain(hidden)
    const stranger = server.as({ apiKey: (await server.createTenant()).apiKey })
    expect(await found(q, '', stranger)).toEqual({ match: 'all', ids: [] })
    // A cursor of somebody else shows nothing that the caller may not see.
    const { next_cursor } = await searchOf(key, q, '&limit=1')
    const page = await searchOf(user, q, `&limit=20&cursor=${next_cursor}`)
    expect(page.data.map(({ id }) => id)).not.toContain(hidden)
  })

  test('every channel, and only the one asked for, in the period', async () => {
    const record = await createRecord(key, await createSource(key), {
      display_ts: '2025-03-04T00:00:00Z',
      fields: [field({ value: 'Signing in is impossible since I lost my passphrase.' })],
    })
    const call = await createRecording(key, {
      transcript: [utterance(0, 5, 0, 'I cannot log in to my account any more.')],
    })
    await until(key, '"passphrase"', 1)
    await until(key, '"log in"', 1)
    const q = 'cannot sign in'
    const all = (await untilMeant(q)).ids
    expect(all).toContain(String(record.id))
    expect(all).toContain(call.id)
    expect((await found(q, '&channel=recording')).ids).toEqual([call.id])
    expect((await found(q, '&since=2025-03-01T00:00:00Z&until=2025-04-01T00:00:00Z')).ids).toEqual([
      String(record.id),
    ])
  })
})

test('what is deleted leaves no vector', async () => {
  const { sessionId } = await say(agent, 'My umbrella is broken.')
  await until(key, '"umbrella"', 1)
  expect((await untilMeant('parasol damaged')).ids).toContain(sessionId)
  const vectors = () => server.database.sql`
    select 1 from search_vector v join search_passage p on p.id = v.passage_id where p.session_id = ${sessionId}`
  expect(await vectors()).toHaveLength(1)
  expect((await key.delete(`/v3/rest/agent-conversations/sessions/${sessionId}`)).status).toBe(204)
  expect(await vectors()).toHaveLength(0)
  expect((await found('parasol damaged')).ids).not.toContain(sessionId)
})

test('without the text process, any of the words count', async () => {
  const { folders } = server.features
  const conversations = createConversations({ ...server.deps, folders })
  const textWork: TextWork = { run: () => Promise.reject(new Error('busy')) }
  const search = createSearch({ ...server.deps, folders, conversations, textWork })
  const viewer = { kind: 'organization', organizationId: agent.tenant.organizationId } as const
  const { rows, match, complete } = await search.search(viewer, {
    query: 'parcel elephant',
    limit: 5,
    after: null,
  })
  expect([match, complete, rows[0]?.id]).toEqual(['any', false, ids.parcel!])
})

test('without the text process, nothing that is found is said to be incomplete', async () => {
  const { folders } = server.features
  const conversations = createConversations({ ...server.deps, folders })
  const textWork: TextWork = { run: () => Promise.reject(new Error('busy')) }
  const search = createSearch({ ...server.deps, folders, conversations, textWork })
  const viewer = { kind: 'organization', organizationId: agent.tenant.organizationId } as const
  const nothing = { query: 'xylophone zeppelin', limit: 5, after: null }
  expect(await search.search(viewer, nothing)).toMatchObject({ rows: [], complete: false })
  const working = createSearch({ ...server.deps, folders, conversations })
  expect(await working.search(viewer, nothing)).toMatchObject({ complete: true })
  expect((await search.passages(viewer, { q: nothing.query, limit: 5 })).complete).toBe(false)
  const first = await search.search(viewer, { query: 'parcel elephant', limit: 1, after: null })
  const after = first.rows[0]?.after ?? null
  const second = await search.search(viewer, { query: 'parcel elephant', limit: 1, after })
  expect([first.complete, second.complete]).toEqual([false, false])
})

test('what is indexed again while the text process works is found', async () => {
  const { sql } = server.database
  const { folders } = server.features
  const conversations = createConversations({ ...server.deps, folders })
  const [change] = createSearchChanges(server.deps.textWork)
  const again = [ids.parcel!]
  let times = 0
  const textWork: TextWork = {
    async run(job, input, signal, organization) {
      const write = await change!.compute(sql, again)
      await transaction(sql, (tx) => write(tx, again))
      times += 1
      return server.deps.textWork.run(job, input, signal, organization)
    },
  }
  const search = createSearch({ ...server.deps, folders, conversations, textWork })
  const viewer = { kind: 'organization', organizationId: agent.tenant.organizationId } as const
  const { rows } = await search.search(viewer, { query: 'parcel elephant', limit: 5, after: null })
  expect([times, rows.map(({ id }) => id)]).toEqual([1, expect.arrayContaining(again)])
})

test('passages of a question: all words first, then related ones', async () => {
  const { sessionId } = await say(agent, 'The delivery was fine.')
  await until(key, '"delivery"', 1)
  const { folders } = server.features
  const conversations = createConversations({ ...server.deps, folders })
  const search = createSearch({ ...server.deps, folders, conversations })
  const viewer = { kind: 'organization', organizationId: agent.tenant.organizationId } as const
  const { passages, match } = await eventually(async () => {
    const some = await search.passages(viewer, { q: 'delivery was fine', limit: 3 })
    return some.passages.length > 1 && some
  })
  expect(match).toBe('all')
  expect(passages[0]?.id).toBe(sessionId)
  expect(new Set(passages.map(({ id }) => id)).size).toBe(passages.length)
})
