/** People are found by e-mail, keep values that a request leaves out, and are erased with everything that names them. */
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { createRecord, createSource, field, PEOPLE, putPerson, recordsOf } from '../support/feedback.ts'
import { createRecording, RECORDINGS, utterance } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let key: Client
let organizationId: string

beforeAll(async () => {
  server = await startTestServer()
  const tenant = await server.createTenant()
  organizationId = tenant.organizationId
  key = server.as(tenant)
})
afterAll(() => server?.stop())

const address = () => `${crypto.randomUUID()}@example.com`

describe('PUT people', () => {
  test('200 even when it creates, with the specified members', async () => {
    const email = address()
    const { status, body } = await key.put(PEOPLE, {
      first_name: 'Ada',
      last_name: 'Lovelace',
      email,
      boundary: 'external',
      company: { name: 'Example', domain: `${crypto.randomUUID()}.example` },
    })
    expect(status).toBe(200)
    expect(body).toEqual({
      id: expect.any(Number),
      uuid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      first_name: 'Ada',
      last_name: 'Lovelace',
      email,
      boundary: 'external',
      company_id: expect.any(Number),
      created_at: expect.stringMatching(/Z$/),
    })
    expect((await key.get(`${PEOPLE}/${body.id}`)).body).toEqual(body)
  })

  test('matches the person by e-mail, ignoring case and surrounding spaces', async () => {
    const email = address()
    const first = await putPerson(key, { email })
    const second = await putPerson(key, { email: ` ${email.toUpperCase()} `, first_name: 'Ann' })
    expect(second).toEqual({ ...first, first_name: 'Ann' })
  })

  test('absent members never overwrite; null clears a name and the company, not the boundary', async () => {
    const email = address()
    const company = { domain: 'absent.example' }
    const before = await putPerson(key, {
      email,
      first_name: 'Ann',
      last_name: 'Lee',
      boundary: 'internal',
      company,
    })
    expect(await putPerson(key, { email })).toEqual(before)
    expect(await putPerson(key, { email, last_name: 'Li' })).toEqual({ ...before, last_name: 'Li' })
    expect(await putPerson(key, { email, first_name: null, boundary: null })).toEqual({
      ...before,
      first_name: null,
      last_name: 'Li',
    })
    expect(await putPerson(key, { email, last_name: null, company: null })).toEqual({
      ...before,
      first_name: null,
      last_name: null,
      company_id: null,
    })
  })

  test('the uuid can be used as personId of a recording', async () => {
    const { uuid } = await putPerson(key, { email: address(), first_name: 'Uma' })
    const recording = await createRecording(key, { participants: [{ speaker: 0, personId: uuid }] })
    expect(recording.participants).toMatchObject([{ speaker: 0, personId: uuid, firstName: 'Uma' }])
  })

  test('boundary defaults to external', async () => {
    expect((await putPerson(key, { email: address() })).boundary).toBe('external')
    expect((await putPerson(key, { email: address(), boundary: 'internal' })).boundary).toBe('internal')
  })

  test('finds a person that a recording created', async () => {
    const email = address()
    await createRecording(key, {
      transcript: [utterance(0, 1)],
      participants: [{ speaker: 0, email, firstName: 'Rec' }],
    })
    expect(await putPerson(key, { email, last_name: 'Ording' })).toMatchObject({
      first_name: 'Rec',
      last_name: 'Ording',
    })
  })

  test('other organizations have their own people', async () => {
    const email = address()
    const other = server.as(await server.createTenant())
    const { id } = await putPerson(key, { email, first_name: 'Ours' })
    expect(await putPerson(other, { email })).toMatchObject({ first_name: null })
    expect((await putPerson(other, { email })).id).not.toBe(id)
  })

  test.each([
    ['by domain', { name: 'Rush', domain: 'rush.example' }],
    ['by name', { name: 'Hurry' }],
  ])('64 at once for one new address and one new company %s: one person, one company', async (_, company) => {
    const email = address()
    // Connections that are open already begin at the same moment.
    await Promise.all(Array.from({ length: 64 }, () => putPerson(key, { email: address() })))
    const people = await Promise.all(Array.from({ length: 64 }, () => putPerson(key, { email, company })))
    expect(new Set(people.map(({ id }) => id)).size).toBe(1)
    expect(new Set(people.map(({ company_id }) => company_id)).size).toBe(1)
  })

  test.each([
    ['no email', { first_name: 'Ada' }],
    ['email null', { email: null }],
    ['no address', { email: 'ada' }],
    ['a space in the address', { email: 'a da@example.com' }],
    ['an address of 321 characters', { email: `${'a'.repeat(309)}@example.com` }],
    ['a first name of 256 characters', { email: 'a@example.com', first_name: 'x'.repeat(256) }],
    ['a last name that is no string', { email: 'a@example.com', last_name: 7 }],
    ['another boundary', { email: 'a@example.com', boundary: 'partner' }],
    ['a company that is no object', { email: 'a@example.com', company: 'Example' }],
    ['a company with neither name nor domain', { email: 'a@example.com', company: {} }],
    ['a company with a blank name', { email: 'a@example.com', company: { name: ' ' } }],
    ['a company name of 256 characters', { email: 'a@example.com', company: { name: 'x'.repeat(256) } }],
    ['a domain with a scheme', { email: 'a@example.com', company: { domain: 'https://example.com' } }],
    ['a domain of one word', { email: 'a@example.com', company: { domain: 'example' } }],
    ['U+0000', { email: 'a@example.com', first_name: '\0' }],
  ])('400 for %s', async (_, body) => {
    const answer = await key.put(PEOPLE, body)
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed'])
  })

  test('POST is 405 with Allow', async () => {
    const { status, headers } = await key.post(PEOPLE, { email: 'a@example.com' })
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, PUT'])
  })
})

describe('a company', () => {
  const companyOf = async (company: object) =>
    (await putPerson(key, { email: address(), company })).company_id
  const stored = async (id: number) => {
    const [row] = await server.database.sql`select name, domain from company where id = ${id}`
    return { ...row }
  }

  test('is matched by domain in any case; another name renames it', async () => {
    const id = await companyOf({ name: 'Dom', domain: 'Dom.example' })
    expect(await companyOf({ name: 'Dom Ltd', domain: 'dom.EXAMPLE' })).toBe(id)
    expect(await companyOf({ domain: 'dom.example' })).toBe(id)
    expect(await stored(id)).toEqual({ name: 'Dom Ltd', domain: 'dom.example' })
  })

  test('is otherwise matched by name and gets the domain', async () => {
    const id = await companyOf({ name: 'Nam' })
    expect(await companyOf({ name: 'Nam' })).toBe(id)
    expect(await companyOf({ name: 'Nam', domain: 'nam.example' })).toBe(id)
    expect(await companyOf({ name: 'Nam' })).toBe(id)
    expect(await stored(id)).toEqual({ name: 'Nam', domain: 'nam.example' })
  })

  test('with another domain is another company, even with the same name', async () => {
    expect(await companyOf({ name: 'Two', domain: 'one.example' })).not.toBe(
      await companyOf({ name: 'Two', domain: 'two.example' }),
    )
  })
})

describe('GET people', () => {
  test('by e-mail in any case, by time, newest first by page and cursor', async () => {
    const own = server.as(await server.createTenant())
    const people = []
    for (const name of ['a', 'b', 'c']) people.unshift(await putPerson(own, { email: `${name}@x.example` }))
    expect((await own.get(PEOPLE)).body.data).toEqual(people)
    expect((await own.get(`${PEOPLE}?email=B@X.example`)).body.data).toEqual([people[1]])
    const first = (await own.get(`${PEOPLE}?limit=2`)).body
    const rest = (await own.get(`${PEOPLE}?limit=2&cursor=${first.next_cursor}`)).body
    expect([...first.data, ...rest.data]).toEqual(people)
    expect((await own.get(`${PEOPLE}?page=2&limit=2`)).body.data).toEqual(rest.data)
    expect((await own.get(`${PEOPLE}?since=2100-01-01T00:00:00Z`)).body.data).toEqual([])
    expect((await own.get(`${PEOPLE}?until=2100-01-01T00:00:00Z`)).body.data).toEqual(people)
    expect((await own.get(`${PEOPLE}?since=yesterday`)).status).toBe(400)
  })

  test('by uuid, of the own organization only', async () => {
    const [own, other] = [server.as(await server.createTenant()), server.as(await server.createTenant())]
    const [first, second] = [
      await putPerson(own, { email: 'a@x.example' }),
      await putPerson(own, { email: 'b@x.example' }),
    ]
    await putPerson(own, { email: 'c@x.example' })
    const theirs = await putPerson(other, { email: 'd@x.example' })
    const uuids = [first, theirs, second].map(({ uuid }) => uuid)
    expect((await own.get(`${PEOPLE}?uuids=${uuids.join(',')}`)).body.data).toEqual([second, first])
    for (const bad of ['', 'x', `${first.uuid},`, Array(101).fill(first.uuid).join(',')])
      expect((await own.get(`${PEOPLE}?uuids=${bad}`)).status).toBe(400)
  })

  test.each(['0', 'x', '9007199254740993'])('an id of %s is 404 person_not_found', async (id) => {
    const { status, body } = await key.get(`${PEOPLE}/${id}`)
    expect([status, body.code]).toEqual([404, 'person_not_found'])
  })
})

describe('erasure of a person', () => {
  async function personWithTraces() {
    const email = address()
    const person = await putPerson(key, { email, first_name: 'Gone' })
    const sourceId = await createSource(key)
    const recordId = (await createRecord(key, sourceId, { person_id: person.id })).id
    const recording = await createRecording(key, {
      transcript: [utterance(0, 1)],
      participants: [{ speaker: 0, email }],
    })
    return { email, person, sourceId, recordId, recordingId: recording.id }
  }

  test('202: deletes the person, their records and participations, and keeps the recording', async () => {
    const { email, person, sourceId, recordId, recordingId } = await personWithTraces()
    const other = await createRecord(key, sourceId, { fields: [field()] })
    const { status, body } = await key.delete(`${PEOPLE}/${person.id}`)
    expect(status).toBe(202)
    expect(body).toMatchObject({
      person_id: person.id,
      status: 'running',
      erased: { feedbackRecords: 1, participations: 1 },
    })
    expect((await key.get(`${PEOPLE}/${person.id}`)).status).toBe(404)
    expect((await key.get(`${recordsOf(sourceId)}/${recordId}`)).body.code).toBe('feedback_record_not_found')
    expect((await key.get(`${recordsOf(sourceId)}/${other.id}`)).status).toBe(200)
    const recording = await key.get(`${RECORDINGS}/${recordingId}`)
    expect([recording.status, recording.body.participants]).toEqual([200, []])
    expect((await key.delete(`${PEOPLE}/${person.id}`)).body.code).toBe('person_not_found')
    expect((await putPerson(key, { email })).id).not.toBe(person.id)
  })

  test('logs a receipt with counts and without names', async () => {
    const { email, person } = await personWithTraces()
    const info = spyOn(server.deps.log, 'info')
    try {
      await key.delete(`${PEOPLE}/${person.id}`)
      const erased = { feedbackRecords: 1, participations: 1 }
      expect(info.mock.calls as unknown[][]).toContainEqual([
        { organizationId, personId: person.id, erased },
        'person erased',
      ])
      expect(JSON.stringify(info.mock.calls)).not.toContain(email)
    } finally {
      info.mockRestore()
    }
  })

  test('is all or nothing', async () => {
    const { person, sourceId, recordId, recordingId } = await personWithTraces()
    const { sql } = server.database
    await sql.unsafe(`
      create function refuse() returns trigger language plpgsql as
        $$ begin raise exception 'refused' using errcode = 'P0001'; end $$;
      create trigger refuse before delete on person for each row execute function refuse()`)
    try {
      expect((await key.delete(`${PEOPLE}/${person.id}`)).status).toBe(500)
    } finally {
      await sql.unsafe('drop trigger refuse on person; drop function refuse()')
    }
    expect((await key.get(`${recordsOf(sourceId)}/${recordId}`)).body.person_id).toBe(person.id)
    expect((await key.get(`${RECORDINGS}/${recordingId}`)).body.participants).toHaveLength(1)
  })

  test('while records arrive: each is erased with the person or gets 404', async () => {
    const { person, sourceId } = await personWithTraces()
    const [erased, ...answers] = await Promise.all([
      key.delete(`${PEOPLE}/${person.id}`),
      ...Array.from({ length: 30 }, () =>
        key.post(recordsOf(sourceId), { person_id: person.id, fields: [field()] }),
      ),
    ])
    expect(erased?.status).toBe(202)
    for (const { status, body } of answers)
      if (status !== 201) expect([status, body.code]).toEqual([404, 'person_not_found'])
    const [left] = await server.database.sql`
      select count(*)::int as count from feedback_record
      where organization_id = ${organizationId} and person_id = ${person.id}`
    expect(left?.count).toBe(0)
  })
})
