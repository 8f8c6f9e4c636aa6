/** Two people become one: everything moves, the old ids and the old address go on working, and one person is left. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { createRuntime } from '../../src/actors/runtime.ts'
import { newId } from '../../src/platform/ids.ts'
import { type Agent, assistantMessage, feedbackOn, openAgent, userMessage } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { createRecord, createSource, PEOPLE, putPerson, recordsOf, SOURCES } from '../support/feedback.ts'
import { createRecording, RECORDINGS, utterance } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let agent: Agent
let key: Client
/** Of the organization of the test. */
let count = 0

beforeAll(async () => {
  server = await startTestServer({ actors: true })
})
afterAll(() => server?.stop())
beforeEach(async () => {
  agent = await openAgent(server)
  key = server.as({ apiKey: agent.tenant.apiKey })
})

const address = () => `p${++count}@example.com`
const person = (members: object = {}) => putPerson(key, { email: address(), ...members })
const merge = (kept: unknown, personId: unknown, client = key) =>
  client.post(`${PEOPLE}/${kept}/merge`, { personId })

interface Place {
  readonly source: string
  readonly email: string | null
}

/** Whom the references of the organization name. */
const places = async () => [
  ...(await server.database.sql<Place[]>`
    select r.source, p.email
    from (
      select 'feedback' as source, organization_id, person_id from feedback_record
      union all select 'recording', organization_id, person_id from recording_participant
      union all select 'session', organization_id, person_id from agent_session_person
      union all select 'signal', organization_id, person_id from agent_signal where source = 'explicit_feedback'
    ) r
    left join person p on p.id = r.person_id
    where r.organization_id = ${agent.organizationId}
    order by 1, 2`),
]

const sessionOf = (email: string, externalSessionId = 'chat') =>
  agent.accept([userMessage(1), assistantMessage(2), feedbackOn('a2', 3)], {
    externalSessionId,
    participants: [{ externalId: 'c', email }],
  })

const rows = async () => [
  ...(await server.database.sql`select email from person where organization_id = ${agent.organizationId}`),
]

test('everything of the merged person moves, and its ids and its address go on working', async () => {
  const kept = await person({ first_name: 'Ann' })
  const other = await person({ first_name: 'Annie', last_name: 'Lee', company: { domain: 'lee.example' } })
  const sourceId = await createSource(key)
  await createRecord(key, sourceId, { person_id: other.id })
  const { id } = await createRecording(key, { participants: [{ speaker: 0, email: other.email }] })
  await sessionOf(other.email)
  await eventually(async () => (await places()).filter(({ email }) => email === other.email).length === 4)

  const merged = await merge(kept.id, other.uuid)
  expect(merged).toMatchObject({ status: 200 })
  expect(merged.body).toEqual({ ...kept, last_name: 'Lee', company_id: other.company_id })
  expect(await places()).toEqual(
    ['feedback', 'recording', 'session', 'signal'].map((source) => ({ source, email: kept.email })),
  )
  expect(await rows()).toEqual([{ email: kept.email }])
  // By every id, everywhere.
  for (const ref of [kept.id, kept.uuid, other.id, other.uuid, other.uuid.toUpperCase()])
    expect((await key.get(`${PEOPLE}/${ref}`)).body).toEqual(merged.body)
  expect((await key.get(`${PEOPLE}?email=${other.email}`)).body.data).toEqual([merged.body])
  expect((await key.get(PEOPLE)).body.data).toEqual([merged.body])
  expect((await key.get(`${recordsOf(sourceId)}?person_id=${other.id}`)).body.data).toHaveLength(1)
  expect((await key.get(`${RECORDINGS}/${id}`)).body.participants).toMatchObject([{ personId: kept.uuid }])
  // A retry answers the same.
  expect(await merge(kept.uuid, other.uuid)).toMatchObject({ status: 200, body: merged.body })

  // What arrives by the old ids and the old address is the person's who was kept.
  await createRecord(key, sourceId, { person_id: other.id })
  await createRecording(key, { participants: [{ speaker: 0, personId: other.uuid }] })
  await createRecording(key, { participants: [{ speaker: 0, email: other.email.toUpperCase() }] })
  await sessionOf(other.email, 'next')
  await agent.accept([userMessage(1)], {
    externalSessionId: 'by-id',
    participants: [{ externalId: 'c', personId: other.uuid }],
  })
  expect((await putPerson(key, { email: other.email, first_name: 'Anna' })).id).toBe(kept.id)
  await eventually(async () => (await places()).filter(({ email }) => email === kept.email).length === 10)
  expect((await places()).filter(({ email }) => email !== kept.email)).toEqual([])
  expect(await rows()).toEqual([{ email: kept.email }])
})

test('both take part in one recording and in one session', async () => {
  const [kept, other] = [await person(), await person()]
  const { id } = await createRecording(key, {
    transcript: [utterance(0, 1, 0), utterance(1, 2, 1)],
    participants: [
      { speaker: 0, personId: kept.uuid },
      { speaker: 1, personId: other.uuid },
    ],
  })
  await agent.accept([userMessage(1)], {
    participants: [
      { externalId: 'a', email: kept.email },
      { externalId: 'b', email: other.email },
    ],
  })
  await eventually(async () => (await places()).length === 4)
  expect(await merge(kept.id, other.uuid)).toMatchObject({ status: 200 })
  expect(await places()).toEqual(
    ['recording', 'recording', 'session', 'session'].map((source) => ({ source, email: kept.email })),
  )
  expect((await key.get(`${RECORDINGS}/${id}`)).body.participants).toMatchObject([
    { speaker: 0, personId: kept.uuid },
    { speaker: 1, personId: kept.uuid },
  ])
})

test('a person without an address takes that of the merged one', async () => {
  const other = await person({ first_name: 'Only' })
  const { sql } = server.database
  const [kept] = await sql<{ id: number }[]>`
    insert into person (public_id, organization_id) values (${newId()}, ${agent.organizationId}) returning id`
  expect((await merge(kept?.id, other.uuid)).body).toMatchObject({ email: other.email, first_name: 'Only' })
  expect((await putPerson(key, { email: other.email })).id).toBe(kept?.id)
})

test('a chain of merges ends at the last person', async () => {
  const [a, b, c] = [await person(), await person(), await person()]
  expect((await merge(b.id, a.uuid)).status).toBe(200)
  expect((await merge(c.id, b.uuid)).status).toBe(200)
  for (const ref of [a.id, a.uuid, b.id, b.uuid])
    expect((await key.get(`${PEOPLE}/${ref}`)).body.id).toBe(c.id)
  expect((await putPerson(key, { email: a.email })).id).toBe(c.id)
})

describe('a merge is refused', () => {
  test('with itself, with nobody, with a person of another organization, and to viewers', async () => {
    const [kept, other] = [await person(), await person()]
    const foreign = server.as({ apiKey: (await server.createTenant()).apiKey })
    const stranger = await putPerson(foreign, { email: 'x@example.com' })
    expect(await merge(kept.id, kept.uuid)).toMatchObject({
      status: 400,
      body: { code: 'validation_failed' },
    })
    for (const [id, personId] of [
      [kept.id, newId()],
      [kept.id, stranger.uuid],
      [stranger.id, other.uuid],
      [999_999_999, other.uuid],
      ['nonsense', other.uuid],
    ])
      expect(await merge(id, personId)).toMatchObject({ status: 404, body: { code: 'person_not_found' } })
    for (const personId of [other.id, 'x', undefined])
      expect(await merge(kept.id, personId)).toMatchObject({
        status: 400,
        body: { code: 'validation_failed' },
      })
    const as = async (role: 'viewer' | 'analyst') =>
      server.as({ userToken: (await server.createUser(agent.organizationId, role)).userToken })
    expect((await merge(kept.id, other.uuid, await as('viewer'))).status).toBe(403)
    expect((await merge(kept.id, other.uuid, await as('analyst'))).status).toBe(200)
  })
})

test('a large merge answers at once, and the rest moves in the background', async () => {
  const alone = await startTestServer()
  try {
    const own = await openAgent(alone)
    const client = alone.as({ apiKey: own.tenant.apiKey })
    const kept = await putPerson(client, { email: 'kept@example.com' })
    const other = await putPerson(client, { email: 'other@example.com' })
    const sourceId = await createSource(client)
    const { sql } = alone.database
    await sql`
      insert into feedback_record (organization_id, feedback_source_id, person_id, display_ts, fields)
      select ${own.organizationId}, ${sourceId}, ${other.id}, now(), '[]' from generate_series(1, 3500)`
    expect((await client.post(`${PEOPLE}/${kept.id}/merge`, { personId: other.uuid })).status).toBe(200)
    const left = async () =>
      (await sql`select from feedback_record where person_id = ${other.id}`).count +
      (await sql`select from person where id = ${other.id}`).count
    expect(await left()).toBe(2_501)
    expect((await client.get(`${PEOPLE}/${other.id}`)).body.id).toBe(kept.id)
    expect((await client.get(PEOPLE)).body.data).toHaveLength(1)
    const actors = alone.features.actors.filter(({ kind }) => kind === 'person_merge')
    const runtime = createRuntime(alone.deps, actors, {})
    await runtime.start()
    await eventually(async () => (await left()) === 0)
    await runtime.stop(5_000)
    expect((await sql`select from feedback_record where person_id = ${kept.id}`).count).toBe(3_500)
  } finally {
    await alone.stop()
  }
})

test('a person who is erased while a merge moves is erased with all that is not moved yet', async () => {
  const alone = await startTestServer()
  try {
    const own = await openAgent(alone)
    const client = alone.as({ apiKey: own.tenant.apiKey })
    const kept = await putPerson(client, { email: 'kept@example.com' })
    const other = await putPerson(client, { email: 'other@example.com' })
    const sourceId = await createSource(client)
    const { sql } = alone.database
    await sql`
      insert into feedback_record (organization_id, feedback_source_id, person_id, display_ts, fields)
      select ${own.organizationId}, ${sourceId}, ${other.id}, now(), '[]' from generate_series(1, 1500)`
    expect((await client.post(`${PEOPLE}/${kept.id}/merge`, { personId: other.uuid })).status).toBe(200)
    const timeline = await client.get(`${PEOPLE}/${kept.id}/timeline?limit=50`)
    expect(timeline.body.data).toHaveLength(50)
    expect((await client.delete(`${PEOPLE}/${other.uuid}`)).body.erased).toMatchObject({
      feedbackRecords: 1_500,
    })
    expect((await sql`select from person`).count + (await sql`select from feedback_record`).count).toBe(0)
    expect((await sql`select from person_alias`).count).toBe(0)
    // The actor of the merge finds nothing to do.
    const actors = alone.features.actors.filter(({ kind }) => kind === 'person_merge')
    const runtime = createRuntime(alone.deps, actors, {})
    await runtime.start()
    await eventually(
      async () => (await sql`select from actor_message where key like 'person_merge:%'`).count === 0,
    )
    await runtime.stop(5_000)
    expect((await sql`select from actor_dead_letter`).count).toBe(0)
  } finally {
    await alone.stop()
  }
})

test('merges in circles while everything arrives: one person is left, and nothing is lost', async () => {
  const people = [await person(), await person(), await person()]
  const [a, b, c] = people
  const sourceId = await createSource(key)
  const merges = [
    [a, b],
    [b, c],
    [c, a],
    [a, c],
    [c, b],
  ].map(async ([kept, other]) => (await merge(kept.id, other.uuid)).status)
  // No more at a time than wait less than ten seconds for the lock of one person on a busy machine. Beyond that is 503.
  const arriving = Array.from({ length: 5 }, async (_, lane) => {
    for (let n = lane; n < 30; n += 5) {
      const one = people[n % 3]
      await createRecord(key, sourceId, { person_id: one.id })
      await createRecording(key, { participants: [{ speaker: 0, email: one.email }] })
      await createRecording(key, { participants: [{ speaker: 0, personId: one.uuid }] })
      await sessionOf(one.email, `s${n}`)
      await putPerson(key, { email: one.email })
    }
  })
  expect(new Set(await Promise.all(merges))).toEqual(new Set([200]))
  await Promise.all(arriving)
  await eventually(async () => (await places()).filter(({ email }) => email !== null).length === 30 * 5)
  await eventually(async () => (await rows()).length === 1)
  expect(new Set((await places()).map(({ email }) => email)).size).toBe(1)
  expect(
    (await key.get(`${SOURCES}/${sourceId}/records?person_id=${a.id}&limit=100`)).body.data,
  ).toHaveLength(30)
})
