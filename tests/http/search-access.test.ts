/**
 * Search shows to each caller exactly what the lists show: every role, the key, a user outside of an application's access, owners of
 * private folders, and another organization. What a caller may not see takes no place among the ranked matches either.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Role } from '../../src/kernel/roles.rules.ts'
import { ROLES } from '../../src/kernel/roles.rules.ts'
import { createSearch } from '../../src/understand/search/service.ts'
import { QUICK } from '../support/actors.ts'
import { openAgent, userMessage } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { createRecord, createSource, field } from '../support/feedback.ts'
import { createFolder, createRecording, RECORDINGS, utterance } from '../support/recordings.ts'
import { searchOf, until } from '../support/search.ts'
import { type Client, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

const WORD = 'telescope'

let server: TestServer
let tenant: TestTenant
let stranger: TestTenant
let key: Client
const users: {
  readonly name: string
  readonly id: string
  readonly client: Client
  readonly folder: string
}[] = []
/** Sessions, records and recordings that contain the word. */
const all: string[] = []

beforeAll(async () => {
  server = await startTestServer({ actors: QUICK })
  tenant = await server.createTenant()
  stranger = await server.createTenant()
  key = server.as({ apiKey: tenant.apiKey })
  for (const role of [...ROLES, 'viewer'] satisfies readonly Role[]) await createUser(role)
  const [ada, bob] = users as [(typeof users)[0], (typeof users)[0]]
  for (const userIds of [null, [], [ada.id], [ada.id, bob.id]]) {
    const conversationAccess =
      userIds === null ? { type: 'workspace' as const } : { type: 'restricted' as const, userIds }
    const agent = await openAgent(server, { tenant, settings: { conversationAccess } })
    all.push((await agent.accept([userMessage(1, { content: `My ${WORD} is late` })])).sessionId)
  }
  const record = await createRecord(key, await createSource(key), {
    fields: [field({ value: `The ${WORD}` })],
  })
  all.push(String(record.id))
  const shared = await createFolder(key)
  for (const folders of [
    [],
    [shared],
    [ada.folder],
    [bob.folder],
    [ada.folder, bob.folder],
    [shared, ada.folder],
  ])
    all.push(await recordingIn(folders))
  await eventually(async () => {
    const [row] = await server.database.sql`select count(*)::int as n from search_passage`
    return row?.n === all.length
  })
}, 300_000)
afterAll(() => server?.stop())

async function createUser(role: Role): Promise<void> {
  const { userId: id, userToken } = await server.createUser(tenant.organizationId, role)
  const client = server.as({ userToken })
  // A viewer has a private folder from an earlier role.
  const folder = Bun.randomUUIDv7()
  await server.database.sql`
    insert into folder (id, organization_id, owner_user_id, name) values (${folder}, ${tenant.organizationId}, ${id}, 'mine')`
  users.push({ name: `${role} ${users.length}`, id, client, folder })
}

async function recordingIn(folderIds: readonly string[]): Promise<string> {
  const { id } = await createRecording(key, { transcript: [utterance(0, 1, 0, `Our ${WORD} broke`)] })
  for (const folderId of folderIds)
    await server.database.sql`
      insert into recording_folder (organization_id, recording_id, folder_id)
      values (${tenant.organizationId}, ${id}, ${folderId})`
  return id
}

/** Ids in the lists, of what contains the word. */
async function listed(client: Client): Promise<string[]> {
  const sessions = await client.get('/v3/rest/agent-conversations/sessions?limit=100')
  const recordings = await client.get(`${RECORDINGS}?limit=100`)
  const shown = [...sessions.body.data, ...recordings.body.data].map(({ id, sessionId }) => sessionId ?? id)
  const source = await client.get('/v3/rest/feedback-sources')
  const records =
    source.status === 200 && source.body.data.length > 0
      ? (await client.get(`/v3/rest/feedback-sources/${source.body.data[0].id}/records`)).body.data
      : []
  return [...shown, ...records.map(({ id }: { id: number }) => String(id))]
    .filter((id) => all.includes(id))
    .toSorted()
}

const idsOf = ({ passages }: { readonly passages: readonly { readonly id: string }[] }) =>
  passages.map(({ id }) => id)

const found = async (client: Client, q = WORD) =>
  (await searchOf(client, q, '&limit=20')).data.map(({ id }) => id).toSorted()

test('every caller finds what the lists show to the caller, and nothing else', async () => {
  const callers: [string, Client][] = [
    ['key', key],
    ...users.map(({ name, client }) => [name, client] as [string, Client]),
    ['stranger', server.as({ userToken: stranger.userToken })],
    ['key of the stranger', server.as({ apiKey: stranger.apiKey })],
  ]
  const counts: Record<string, number> = {}
  for (const [name, client] of callers) {
    const ids = await found(client)
    expect([name, ids]).toEqual([name, await listed(client)])
    expect((await searchOf(client, WORD)).matches).toBe(ids.length)
    const { body } = await client.post('/v3/rest/ask', { question: WORD })
    expect([name, idsOf(body).toSorted(), body.counts.subjects]).toEqual([name, ids, ids.length])
    counts[name] = ids.length
  }
  expect(counts).toEqual({
    key: 8,
    'viewer 0': 9,
    'analyst 1': 8,
    'administrator 2': 5,
    'viewer 3': 5,
    stranger: 0,
    'key of the stranger': 0,
  })
})

test('a similar word is only found where the caller may see it', async () => {
  const [ada, , , outsider] = users as [(typeof users)[0], unknown, unknown, (typeof users)[0]]
  const agent = await openAgent(server, {
    tenant,
    settings: { conversationAccess: { type: 'restricted', userIds: [ada.id] } },
  })
  await agent.accept([userMessage(1, { content: 'The gyroscope wobbles' })])
  await until(ada.client, 'gyroscope', 1)
  expect(await searchOf(ada.client, 'gyroscpoe')).toMatchObject({ matches: 1, is_corrected: true })
  expect(await searchOf(outsider.client, 'gyroscpoe')).toMatchObject({ matches: 0, is_corrected: false })
})

test('an organization with the same mark before its words finds nothing of another one', async () => {
  const other = server.as({ apiKey: stranger.apiKey })
  await createRecord(other, await createSource(other), { fields: [field({ value: 'our kaleidoscope' })] })
  await until(other, 'kaleidoscope', 1)
  await server.database.sql`
    update search_passage set document = search_document(${tenant.organizationId}, 'english', 'our kaleidoscope')
    where organization_id = ${stranger.organizationId}`
  expect(await searchOf(key, 'kaleidoscope')).toMatchObject({ matches: 0, data: [] })
})

describe('hidden matches', () => {
  test('leave room for visible ones, however many are newer', async () => {
    const [ada] = users as [(typeof users)[0]]
    const { sql } = server.database
    const { organizationId } = tenant
    const old = await createRecording(key, {
      startedAt: '2020-01-01T00:00:00Z',
      transcript: [utterance(0, 1, 0, 'about the periscope')],
    })
    await until(key, 'periscope', 1)
    await sql`
      with made as (
        insert into recording (id, organization_id, source, transcript_status)
        select gen_random_uuid(), ${organizationId}, 'api', 'completed' from generate_series(1, 5000)
        returning id
      ), filed as (
        insert into recording_folder (organization_id, recording_id, folder_id)
        select ${organizationId}, id, ${ada.folder} from made
      )
      insert into search_passage (
        organization_id, recording_id, place, last_place, start_sec, is_customer, occurred_at, configuration, document
      )
      select ${organizationId}, id, 0, 0, 0, false, now(), 'english', search_document(${organizationId}, 'english', 'a periscope')
      from made`
    expect(await searchOf(key, 'periscope')).toMatchObject({ matches: 1, data: [{ id: old.id }] })
    expect(await searchOf(ada.client, 'periscope')).toMatchObject({ matches: 1_000, has_more_matches: true })
  }, 300_000)
})

test('one organization has at most 30 searches at a time, with a time limit, and delays no other', async () => {
  // The condition of access takes longer than the time limit.
  const conversations: Parameters<typeof createSearch>[0]['conversations'] = {
    readableApplications: (sql, { organizationId }) =>
      sql`select id from agent_application where organization_id = ${organizationId} and pg_sleep(10) is null`,
  }
  const { visibleRecording } = server.features.folders
  const search = createSearch({ ...server.deps, folders: { visibleRecording }, conversations }, 200)
  const viewer = { kind: 'organization' as const, organizationId: tenant.organizationId }
  const request = { query: WORD, limit: 1, after: null }
  const outcomes: string[] = []
  const settled = Array.from({ length: 40 }, () =>
    search.search(viewer, request).then(
      () => void outcomes.push('found'),
      (error: { code?: string }) => void outcomes.push(error.code ?? String(error)),
    ),
  )
  const other = await search.search({ ...viewer, organizationId: stranger.organizationId }, request)
  expect(other.rows).toEqual([])
  const before = outcomes.filter((outcome) => outcome === 'search_timed_out').length
  await Promise.all(settled)
  expect(before).toBeLessThan(10)
  expect(outcomes.filter((outcome) => outcome === 'search_busy')).toHaveLength(10)
  expect(outcomes.filter((outcome) => outcome === 'search_timed_out')).toHaveLength(30)
}, 300_000)
