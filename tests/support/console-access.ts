/** An organization in which some callers may read what others may not: who they are, and what must stay hidden. */
import type { Role } from '../../src/kernel/roles.rules.ts'
import { newId } from '../../src/platform/ids.ts'
import { type Agent, assistantMessage, feedbackOn, openAgent, userMessage } from './agents.ts'
import { eventually } from './eventually.ts'
import { createRecord, createSource, field } from './feedback.ts'
import { fileIn, insertFinding } from './findings.ts'
import { createRecording, utterance } from './recordings.ts'
import type { TestServer } from './server.ts'

export interface Caller {
  readonly name: string
  readonly userId: string
  readonly userToken: string
  readonly organizationId: string
  /** What the caller may read. */
  readonly reads: readonly Hidden[]
}

/** A conversation of a restricted application, and a call in the private folder of the analyst. */
export type Hidden = 'conversation' | 'call'

export interface AccessData {
  readonly organizationId: string
  /** The application that only some may read, and one that everybody in the organization reads. */
  readonly restricted: Agent
  readonly open: Agent
  readonly callers: readonly Caller[]
  /** Words that customers said, and what belongs to these objects only. The names of people are those of the organization. */
  readonly words: Readonly<Record<Hidden, readonly string[]>>
  readonly ids: Readonly<Record<Hidden, readonly string[]>>
  /** Addresses of pages of these objects, by route. */
  readonly addresses: Readonly<Record<string, readonly string[]>>
}

const PATIENT = { deadlineMs: 150_000 }
/** Everybody's text has it. */
const COMMON = 'lantern'
const HOUR_MS = 3_600_000

export async function seedAccess(server: TestServer): Promise<AccessData> {
  const tenant = await server.createTenant()
  const { organizationId } = tenant
  const key = server.as({ apiKey: tenant.apiKey })
  const caller = async (name: string, role: Role, reads: readonly Hidden[]): Promise<Caller> => ({
    name,
    ...(await server.createUser(organizationId, role)),
    organizationId,
    reads,
  })
  const stranger = await server.createTenant()
  const inside = [
    await caller('administrator', 'administrator', ['conversation']),
    await caller('analyst', 'analyst', ['conversation', 'call']),
    await caller('viewer', 'viewer', ['conversation']),
  ]
  const callers = [
    ...inside,
    await caller('viewer outside', 'viewer', []),
    await caller('administrator outside', 'administrator', []),
    { name: 'stranger', ...stranger, reads: [] },
  ]
  const userIds = inside.map(({ userId }) => userId)
  const settings = { conversationAccess: { type: 'restricted' as const, userIds } }
  const restricted = await openAgent(server, { tenant, settings })
  const open = await openAgent(server, { tenant })
  await open.accept([userMessage(1, { content: `Where is the ${COMMON}?` }), assistantMessage(2)], {
    externalSessionId: 'open',
    status: 'ended',
  })
  await createRecord(key, await createSource(key), { fields: [field({ value: `A fine ${COMMON}` })] })
  const sessionId = await hiddenConversation(restricted)
  const recordingId = await hiddenCall(server, organizationId, key, inside[1]?.userId ?? '')
  await untilSearchable(server, userIdToken(inside[1]), sessionId, recordingId)
  const { sql } = server.database
  await insertFinding(sql, organizationId, {
    application_id: restricted.applicationId,
    session_id: sessionId,
    external_event_id: 'u1',
    sequence: 1,
    revision: 1,
    comment: 'The pepino crashes',
    occurred_at: new Date().toISOString(),
  })
  const signals = (
    await sql<
      { id: string }[]
    >`select id from agent_signal where organization_id = ${organizationId} and session_id = ${sessionId}`
  ).map(({ id }) => id)
  const themeId = await themeOf(server, organizationId, sessionId, signals[0] ?? '')
  const people = await key.get('/v3/rest/people?limit=100')
  return {
    organizationId,
    restricted,
    open,
    callers,
    words: { conversation: ['kiwano', 'tamarillo', 'pepino'], call: ['marzipan', 'nougatine'] },
    ids: { conversation: [sessionId, ...signals], call: [recordingId] },
    addresses: {
      '': ['?days=7', '?days=90'],
      '/findings': ['/findings?rating=negative', `/findings?q=${COMMON}`],
      '/conversations/:id': [`/conversations/${sessionId}`],
      '/calls/:id': [`/calls/${recordingId}`],
      '/themes/:id': [`/themes/${themeId}`],
      '/people/:id': people.body.data.map(
        ({ uuid, id }: { uuid?: string; id: string }) => `/people/${uuid ?? id}`,
      ),
      '/search': [`/search?q=${COMMON}`],
    },
  }
}

const userIdToken = (caller: Caller | undefined) => ({ userToken: caller?.userToken ?? '' })

async function hiddenConversation(agent: Agent): Promise<string> {
  const occurredAt = new Date(Date.now() - HOUR_MS).toISOString()
  const { sessionId } = await agent.accept(
    [
      userMessage(1, { content: `The ${COMMON} kiwano fails every morning and I hate it.`, occurredAt }),
      assistantMessage(2, { content: 'Please shake the tamarillo.', occurredAt }),
      { ...feedbackOn('a2', 3, { rating: 'negative', comment: 'The pepino still fails' }), occurredAt },
    ],
    {
      externalSessionId: 'hidden',
      status: 'ended',
      context: { productArea: 'pepino-area' },
      participants: [
        { externalId: 'q', displayName: 'Quillon', email: 'customer@example.com', boundary: 'external' },
      ],
    },
  )
  return sessionId
}

async function hiddenCall(
  server: TestServer,
  organizationId: string,
  key: Parameters<typeof createRecording>[0],
  ownerId: string,
): Promise<string> {
  const { id } = await createRecording(key, {
    displayName: 'About nougatine',
    startedAt: new Date().toISOString(),
    transcript: [utterance(0, 2, 0, `The ${COMMON} marzipan is late`)],
  })
  await fileIn(server.database.sql, organizationId, id, ownerId)
  return id
}

/**
 * Waits until both are analysed, and nothing about the conversation waits any more. The second pass begins after 5 s, with a model that is
 * loaded at a low priority: beside other programs on every core this takes 15 s and more.
 */
async function untilSearchable(
  server: TestServer,
  credential: { readonly userToken: string },
  sessionId: string,
  recordingId: string,
): Promise<void> {
  const reader = server.as(credential)
  const { sql } = server.database
  await eventually(async () => {
    const found = (await reader.get(`/v3/rest/search?q=${COMMON}&limit=20`)).body.data
    const ids: string[] = found.map(({ id }: { id: string }) => id)
    const [waiting] =
      await sql`select count(*)::int as n from actor_message where key like ${`%${sessionId}`}`
    return waiting?.n === 0 && [sessionId, recordingId].every((id) => ids.includes(id))
  }, PATIENT)
}

/** A theme with one quotation, of the hidden conversation. Titles and counts are those of the organization. */
async function themeOf(
  { database: { sql } }: TestServer,
  organizationId: string,
  sessionId: string,
  signalId: string,
): Promise<string> {
  const themeId = newId()
  await sql`
    insert into theme (id, organization_id, title, centroid, weight, count)
    values (${themeId}, ${organizationId}, 'export', ${Buffer.alloc(2_048)}, 1, 1)`
  await sql`
    insert into theme_item (organization_id, channel, subject_id, passage, signal_id, rating, occurred_at, theme_id, vector, terms)
    values (
      ${organizationId}, 'conversation', ${sessionId}, 'seeded', ${signalId}, 'negative', now(), ${themeId},
      ${Buffer.alloc(512)}, '{export}'
    )`
  return themeId
}
