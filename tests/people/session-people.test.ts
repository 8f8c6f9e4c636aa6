/** Participants of conversations with an e-mail address or a `personId` are people. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { sessionPeopleChange } from '../../src/hear/agents/sessions/people.ts'
import { runDataChange } from '../../src/platform/db/data-change.ts'
import { newId } from '../../src/platform/ids.ts'
import { type Agent, assistantMessage, feedbackOn, openAgent, userMessage } from '../support/agents.ts'
import { insertSession } from '../support/agents-http.ts'
import { eventually } from '../support/eventually.ts'
import { PEOPLE, putPerson } from '../support/feedback.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let agent: Agent
let key: Client

beforeAll(async () => {
  server = await startTestServer({ actors: true })
})
afterAll(() => server?.stop())
beforeEach(async () => {
  agent = await openAgent(server)
  key = server.as({ apiKey: agent.tenant.apiKey })
})

interface Link {
  readonly participant: string
  readonly email: string | null
  readonly sole: boolean
}

function linksOf(sessionId: unknown): Promise<readonly Link[]> {
  return server.database.sql<Link[]>`
    select l.participant_external_id as participant, p.email, l.sole
    from agent_session_person l
    join person p on p.id = l.person_id
    where l.session_id = ${String(sessionId)}
    order by 1, 2`.then((rows) => rows.map((row) => ({ ...row })))
}

/** Waits until the session's turn has looked at its participants. */
async function linked(sessionId: unknown): Promise<readonly Link[]> {
  const { sql } = server.database
  await eventually(async () => {
    const [row] = await sql`
      select jsonb_hash_extended(participants, 0) = linked_participants as done
      from agent_session where id = ${String(sessionId)}`
    return row?.done === true
  })
  return linksOf(sessionId)
}

const people = async () => (await key.get(`${PEOPLE}?limit=100`)).body.data

describe('a participant', () => {
  test('with an unknown address becomes a person, with its boundary and its name', async () => {
    const { sessionId } = await agent.accept([userMessage(1)], {
      participants: [
        { externalId: 'c', email: ' Ada@Example.com ', displayName: 'Ada L.' },
        { externalId: 'm', email: 'max@acme.example', boundary: 'internal' },
      ],
    })
    expect(await linked(sessionId)).toEqual([
      { participant: 'c', email: 'Ada@Example.com', sole: true },
      { participant: 'm', email: 'max@acme.example', sole: false },
    ])
    const byEmail = new Map((await people()).map((one: { email: string }) => [one.email, one]))
    expect(byEmail.get('Ada@Example.com')).toMatchObject({ first_name: 'Ada L.', boundary: 'external' })
    expect(byEmail.get('max@acme.example')).toMatchObject({ first_name: null, boundary: 'internal' })
  })

  test('with a known address is that person, whose name and boundary stay', async () => {
    const person = await putPerson(key, { email: 'bea@example.com', first_name: 'Bea', boundary: 'internal' })
    const { sessionId } = await agent.accept([userMessage(1)], {
      participants: [
        { externalId: 'b', email: 'BEA@example.com', displayName: 'Somebody', boundary: 'external' },
      ],
    })
    expect(await linked(sessionId)).toHaveLength(1)
    expect(await people()).toEqual([person])
  })

  test('with a personId is that person; an unknown one, or one of another organization, leaves it to the address', async () => {
    const person = await putPerson(key, { email: 'cy@example.com' })
    const stranger = await putPerson(server.as({ apiKey: (await server.createTenant()).apiKey }), {
      email: 'x@example.com',
    })
    const { sessionId } = await agent.accept([userMessage(1)], {
      participants: [
        { personId: person.uuid.toUpperCase() },
        { externalId: 'a', personId: newId() },
        { externalId: 'b', personId: stranger.uuid },
        { externalId: 'c', personId: newId(), email: 'dee@example.com' },
      ],
    })
    expect(await linked(sessionId)).toEqual([
      { participant: '', email: 'cy@example.com', sole: false },
      { participant: 'c', email: 'dee@example.com', sole: false },
    ])
  })

  test('whose address is redacted, or is none, is nobody', async () => {
    await agent.configure({ redactedPatterns: ['[a-z]+@secret[.]example', 'half'] })
    const { sessionId } = await agent.accept([userMessage(1)], {
      participants: [
        { externalId: 'a', email: 'ann@secret.example' },
        { externalId: 'b', email: 'half@example.com' },
        { externalId: 'c', email: 'not an address' },
        { externalId: 'd', displayName: 'Dan' },
      ],
    })
    expect(await linked(sessionId)).toEqual([])
    expect(await people()).toEqual([])
  })

  test('who changes the address changes the person; a later name fills a gap', async () => {
    const { sessionId } = await agent.accept([userMessage(1)], {
      participants: [{ externalId: 'e', email: 'one@example.com' }],
    })
    expect(await linked(sessionId)).toMatchObject([{ email: 'one@example.com' }])
    await agent.accept([userMessage(2)], { participants: [{ externalId: 'e', displayName: 'Eve' }] })
    await linked(sessionId)
    expect(await people()).toMatchObject([{ email: 'one@example.com', first_name: 'Eve' }])
    await agent.accept([userMessage(3)], { participants: [{ externalId: 'e', email: 'two@example.com' }] })
    expect(await linked(sessionId)).toMatchObject([{ participant: 'e', email: 'two@example.com' }])
  })
})

test('one new address in many sessions at once is one person', async () => {
  const email = `${crypto.randomUUID()}@example.com`
  const sessions = await Promise.all(
    Array.from({ length: 40 }, (_, n) =>
      agent.accept([userMessage(1)], {
        externalSessionId: `s${n}`,
        participants: [{ externalId: 'p', email: n % 2 ? email : email.toUpperCase() }],
      }),
    ),
  )
  for (const { sessionId } of sessions) expect(await linked(sessionId)).toHaveLength(1)
  expect(await people()).toHaveLength(1)
})

test('signals name the person who spoke, whichever comes first', async () => {
  const participants = [
    { externalId: 'f', email: 'fay@example.com' },
    { externalId: 'g', email: 'gus@example.com' },
  ]
  const events = [
    userMessage(1, { participantExternalId: 'f' }),
    assistantMessage(2),
    { ...feedbackOn('a2', 3), participantExternalId: 'f' },
    { ...feedbackOn('a2', 4), participantExternalId: 'g' },
    feedbackOn('a2', 5),
  ]
  const signals = (sessionId: unknown) => server.database.sql`
    select s.external_event_id as event, p.email
    from agent_signal s left join person p on p.id = s.person_id
    where s.session_id = ${String(sessionId)} and s.source = 'explicit_feedback' order by s.sequence`
  const expected = [
    { event: 'f3', email: 'fay@example.com' },
    { event: 'f4', email: 'gus@example.com' },
    { event: 'f5', email: null },
  ]
  const first = await agent.accept(events, { participants })
  await linked(first.sessionId)
  expect([...(await signals(first.sessionId))]).toEqual(expected)
  const later = await agent.accept(events, { externalSessionId: 'later' })
  await eventually(async () => (await signals(later.sessionId)).length === 3)
  await agent.accept([userMessage(6)], { externalSessionId: 'later', participants })
  await linked(later.sessionId)
  expect([...(await signals(later.sessionId))]).toEqual(expected)
  // The only customer: messages without a participant are theirs.
  const alone = await agent.accept(events.slice(0, 2).concat(feedbackOn('a2', 3)), {
    externalSessionId: 'alone',
    participants: participants.slice(0, 1),
  })
  await linked(alone.sessionId)
  expect([...(await signals(alone.sessionId))]).toEqual([{ event: 'f3', email: 'fay@example.com' }])
})

test('sessions of an older version are linked in the background', async () => {
  const { sql } = server.database
  const ids = await Promise.all(
    Array.from({ length: 120 }, (_, n) =>
      insertSession(sql, agent.organizationId, agent.applicationId, {
        participants: sql.json([{ externalId: 'o', email: `old${n % 3}@example.com` }]),
      }),
    ),
  )
  await sql`delete from data_change where name = ${sessionPeopleChange.name}`
  const options = { runner: newId(), stopping: new AbortController().signal, pauseRatio: 0 }
  expect(await runDataChange(sql, sessionPeopleChange, options)).toBe('finished')
  for (const id of ids) expect(await linksOf(id)).toHaveLength(1)
  expect(await people()).toHaveLength(3)
})

test('a session whose people are being merged is linked afterwards, and its turn does not wait', async () => {
  const held = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const holding = server.database.sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(hashtextextended('people of ' || ${agent.organizationId}::text, 0))`
    locked.resolve()
    await held.promise
  })
  await locked.promise
  const { sessionId } = await agent.accept([userMessage(1)], {
    participants: [{ externalId: 'h', email: 'hal@example.com' }],
  })
  await eventually(async () => {
    const [row] = await server.database
      .sql`select watermark from agent_session where id = ${String(sessionId)}`
    return row?.watermark === 1
  })
  expect(await linksOf(sessionId)).toEqual([])
  held.resolve()
  await holding
  expect(await linked(sessionId)).toMatchObject([{ participant: 'h', email: 'hal@example.com' }])
})
