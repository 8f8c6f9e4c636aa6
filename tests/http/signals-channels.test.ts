/** The list of signals over three channels: members, filters, and who sees which row. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../src/platform/ids.ts'
import {
  type Agents,
  createApplicationOf,
  ids,
  insertEvent,
  readAll,
  startAgents,
} from '../support/agents-http.ts'
import { fileIn, insertFinding, insertPerson, insertRecord, insertRecording } from '../support/findings.ts'
import type { Credential } from '../support/server.ts'

const SIGNALS = '/v3/rest/signals'

let agents: Agents
beforeAll(async () => {
  agents = await startAgents()
})
afterAll(() => agents?.stop())

const organizationId = () => agents.organization.id
const get = (path: string, caller: Credential = agents.organization.key) => agents.call(caller, 'GET', path)
const everybody = { conversationAccess: { type: 'workspace' as const } }
const finding = (values: Readonly<Record<string, unknown>>) =>
  insertFinding(agents.sql, organizationId(), values)

describe('one list', () => {
  test('a finding of feedback quotes the field, one of a recording the second, one of a conversation the message', async () => {
    const { sql } = agents
    const personId = await insertPerson(sql, organizationId())
    const { recordId, sourceId } = await insertRecord(sql, organizationId())
    const recordingId = await insertRecording(sql, organizationId())
    const application = await createApplicationOf(agents, everybody)
    const sessionId = await application.session({
      agent_version: '2.1',
      context: sql.json({ productArea: 'billing' }),
    })
    const ofRecord = await finding({
      channel: 'feedback',
      feedback_record_id: recordId,
      field: 'answer',
      comment: 'It is slow.',
      person_id: personId.id,
    })
    const ofRecording = await finding({
      channel: 'recording',
      recording_id: recordingId,
      start_sec: 12.5,
      comment: 'It broke.',
    })
    const ofConversation = await finding({
      session_id: sessionId,
      application_id: application.id,
      external_event_id: 'm3',
      sequence: 3,
      revision: 1,
      comment: 'That is wrong.',
    })
    const none = {
      agentKey: null,
      sessionId: null,
      externalSessionId: null,
      recordId: null,
      feedbackSourceId: null,
      recordingId: null,
      externalEventId: null,
      targetEventExternalId: null,
      sequence: null,
      revision: null,
      participantExternalId: null,
      productArea: null,
      agentVersion: null,
      personId: null,
    }
    const shared = {
      source: 'qualitative_inference',
      kind: 'complaint',
      rating: 'negative',
      labels: [],
      confidence: 0.9,
      analyzer: { name: 'builtin', version: '1' },
      occurredAt: '2026-01-02T03:04:05.000Z',
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    }
    expect((await get(`${SIGNALS}/${ofRecord}`)).body).toEqual({
      ...none,
      ...shared,
      id: ofRecord,
      channel: 'feedback',
      recordId,
      feedbackSourceId: sourceId,
      personId: personId.uuid,
      comment: 'It is slow.',
      evidence: { quote: 'It is slow.', recordId, field: 'answer' },
    })
    expect((await get(`${SIGNALS}/${ofRecording}`)).body).toEqual({
      ...none,
      ...shared,
      id: ofRecording,
      channel: 'recording',
      recordingId,
      comment: 'It broke.',
      evidence: { quote: 'It broke.', recordingId, startSec: 12.5 },
    })
    expect((await get(`${SIGNALS}/${ofConversation}`)).body).toMatchObject({
      channel: 'conversation',
      agentKey: application.agentKey,
      sessionId,
      productArea: 'billing',
      agentVersion: '2.1',
      evidence: { quote: 'That is wrong.', messageId: 'm3' },
    })
    const list = async (query: string) =>
      ids(await get(`${SIGNALS}?createdAfter=2026-01-01T00:00:00Z${query}`))
    expect(await list('')).toEqual([ofConversation, ofRecording, ofRecord])
    expect(await list('&channel=feedback')).toEqual([ofRecord])
    expect(await list('&channel=recording')).toEqual([ofRecording])
    expect(await list('&channel=conversation')).toEqual([ofConversation])
    expect(await list('&productArea=billing')).toEqual([ofConversation])
    expect(await list('&productArea=Billing')).toEqual([])
    expect(await list('&agentVersion=2.1')).toEqual([ofConversation])
    expect(await list('&agentVersion=2.2')).toEqual([])
    expect(await list(`&recordId=${recordId}`)).toEqual([ofRecord])
    expect(await list(`&recordingId=${recordingId.toUpperCase()}`)).toEqual([ofRecording])
    expect(await list(`&personId=${personId.id}`)).toEqual([ofRecord])
    expect(await list(`&personId=${personId.uuid}`)).toEqual([ofRecord])
    expect(await list(`&personId=${newId()}`)).toEqual([])
    expect(await list(`&personId=${personId.id}&channel=recording`)).toEqual([])
    expect(await list(`&recordId=${recordId}&kind=praise`)).toEqual([])
    expect(await list('&agentKey=nobody')).toEqual([])
    expect(ids(await get(`${SIGNALS}?sessionId=${sessionId}&productArea=billing`))).toEqual([ofConversation])
    expect(ids(await get(`${SIGNALS}?sessionId=${sessionId}&channel=feedback`))).toEqual([])
    expect(ids(await get(`${SIGNALS}?since=2026-01-02T03:04:05Z&until=2026-01-02T03:04:06Z`))).toContain(
      ofRecord,
    )
  })

  test('explicit feedback has the area of its message, or of its session, and the version of the agent', async () => {
    const application = await createApplicationOf(agents, everybody)
    const session = await application.session({
      agent_version: '3.0',
      context: agents.sql.json({ productArea: 'billing' }),
    })
    await insertEvent(agents.sql, organizationId(), session, 1, {
      body: agents.sql.json({ context: { productArea: 'export' } }),
    })
    const ofMessage = await application.signal(session, { external_event_id: 'e1' })
    const ofSession = await application.signal(session, { external_event_id: 'e2' })
    const list = async (area: string) =>
      ids(await get(`${SIGNALS}?agentKey=${application.agentKey}&agentVersion=3.0&productArea=${area}`))
    expect(await list('export')).toEqual([ofMessage])
    expect(await list('billing')).toEqual([ofSession])
  })

  test('a hidden finding is in no list', async () => {
    const { recordId } = await insertRecord(agents.sql, organizationId())
    const id = await finding({ channel: 'feedback', feedback_record_id: recordId, shown: false })
    expect(ids(await get(`${SIGNALS}?recordId=${recordId}`))).toEqual([])
    expect((await get(`${SIGNALS}/${id}`)).status).toBe(404)
  })

  test('rating=none selects those without a rating', async () => {
    const { recordId } = await insertRecord(agents.sql, organizationId())
    const of = (kind: string, rating: string | null) =>
      finding({ channel: 'feedback', feedback_record_id: recordId, kind, rating })
    const [praise, question] = [await of('praise', 'positive'), await of('question', null)]
    const list = async (rating: string) => ids(await get(`${SIGNALS}?recordId=${recordId}&rating=${rating}`))
    expect(await list('none')).toEqual([question])
    expect(await list('positive')).toEqual([praise])
  })

  test('a kind of an older version also selects the kinds that replaced it', async () => {
    const kinds = ['repeated_problem', 'resolved_confirmation', 'praise', 'wrong_answer', 'question']
    const { recordId } = await insertRecord(agents.sql, organizationId())
    const of = new Map<string, string>()
    for (const kind of kinds)
      of.set(kind, await finding({ channel: 'feedback', feedback_record_id: recordId, kind }))
    const list = async (kind: string) => ids(await get(`${SIGNALS}?recordId=${recordId}&kind=${kind}`))
    expect(await list('repeated_question')).toEqual([of.get('repeated_problem')!])
    expect(await list('resolved')).toEqual([of.get('resolved_confirmation')!])
    expect(await list('user_sentiment')).toEqual([of.get('praise')!])
    expect(await list('unresolved')).toEqual([of.get('wrong_answer')!])
  })

  test('a page joins the channels without gaps or repetitions', async () => {
    const { sql, stranger } = agents
    const { recordId } = await insertRecord(sql, stranger.id)
    const all = new Set<string>()
    for (const kind of ['praise', 'question', 'complaint'])
      for (const one of [
        { channel: 'feedback', feedback_record_id: recordId },
        { channel: 'recording', recording_id: await insertRecording(sql, stranger.id) },
      ])
        all.add(
          await insertFinding(sql, stranger.id, {
            ...one,
            kind,
            created_at: '2026-02-01T00:00:00.000001Z',
          }),
        )
    for (const caller of [stranger.key, stranger.cleo.caller]) {
      const read = await readAll(
        { ...agents, organization: { ...stranger, key: caller } },
        `${SIGNALS}?limit=2`,
      )
      expect(read).toHaveLength(6)
      expect(new Set(read.map(({ id }) => id))).toEqual(all)
    }
  })

  test.each([
    'channel=mail',
    'personId=x',
    'recordId=0',
    'recordId=x',
    'recordingId=1',
    'channel=feedback&channel=recording',
  ])('the query %s is 400', async (query) => {
    expect((await get(`${SIGNALS}?${query}`)).status).toBe(400)
  })
})

describe('access holds for each row', () => {
  test('findings of a recording in a private folder are for its owner alone', async () => {
    const { sql, organization } = agents
    const recordingId = await insertRecording(sql, organizationId())
    await fileIn(sql, organizationId(), recordingId, organization.ada.id)
    const person = await insertPerson(sql, organizationId())
    const id = await finding({ channel: 'recording', recording_id: recordingId, person_id: person.id })
    const lists = [
      SIGNALS,
      `${SIGNALS}?channel=recording`,
      `${SIGNALS}?since=2026-01-01T00:00:00Z`,
      `${SIGNALS}?recordingId=${recordingId}`,
      `${SIGNALS}?personId=${person.id}`,
    ]
    for (const [caller, sees] of [
      [organization.ada.caller, true],
      [organization.cleo.caller, false],
      [organization.key, false],
      [agents.stranger.key, false],
    ] as const) {
      expect((await get(`${SIGNALS}/${id}`, caller)).status).toBe(sees ? 200 : 404)
      for (const list of lists)
        expect([list, sees, ids(await get(list, caller)).includes(id)]).toEqual([list, sees, sees])
    }
  })

  test('findings of a restricted application are for those it names', async () => {
    const { ada, bob, key } = agents.organization
    const application = await createApplicationOf(agents, {
      conversationAccess: { type: 'restricted', userIds: [ada.id] },
    })
    const person = await insertPerson(agents.sql, organizationId())
    const sessionId = await application.session()
    const id = await finding({
      session_id: sessionId,
      application_id: application.id,
      external_event_id: 'm1',
      sequence: 1,
      revision: 1,
      person_id: person.id,
    })
    const lists = [SIGNALS, `${SIGNALS}?channel=conversation`, `${SIGNALS}?personId=${person.id}`]
    for (const [caller, sees] of [
      [ada.caller, true],
      [bob.caller, false],
      [key, true],
    ] as const) {
      expect((await get(`${SIGNALS}/${id}`, caller)).status).toBe(sees ? 200 : 404)
      for (const list of lists)
        expect([list, sees, ids(await get(list, caller)).includes(id)]).toEqual([list, sees, sees])
    }
  })

  test('everybody in the organization sees findings of feedback, and nobody else', async () => {
    const { recordId } = await insertRecord(agents.sql, organizationId())
    const id = await finding({ channel: 'feedback', feedback_record_id: recordId })
    const { key, cleo } = agents.organization
    for (const caller of [key, cleo.caller]) {
      expect(ids(await get(`${SIGNALS}?channel=feedback`, caller))).toContain(id)
      expect(ids(await get(SIGNALS, caller))).toContain(id)
    }
    for (const caller of [agents.stranger.key, agents.stranger.cleo.caller]) {
      expect((await get(`${SIGNALS}/${id}`, caller)).status).toBe(404)
      expect(ids(await get(`${SIGNALS}?recordId=${recordId}`, caller))).toEqual([])
    }
  })
})

test('a recording has the outcome of its analysis', async () => {
  const recordingId = await insertRecording(agents.sql, organizationId())
  const path = `/v3/rest/recordings/${recordingId}`
  expect((await get(path)).body).toMatchObject({ outcome: null, sentiment: null })
  await agents.sql`
    insert into insight_subject (id, organization_id, channel, recording_id, occurred_at, state, outcome, sentiment)
    values (${newId()}, ${organizationId()}, 'recording', ${recordingId}, now(), 'analyzed', 'unresolved', 'negative')`
  expect((await get(path)).body).toMatchObject({ outcome: 'unresolved', sentiment: 'negative' })
})
