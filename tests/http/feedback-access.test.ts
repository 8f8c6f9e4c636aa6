/** Users read feedback and people. Administrators change what is there; only the key sends records and people. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  createRecord,
  createSource,
  field,
  PEOPLE,
  putPerson,
  recordsOf,
  SOURCES,
} from '../support/feedback.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let key: Client
let user: Client
let stranger: Client

beforeAll(async () => {
  server = await startTestServer()
  const tenant = await server.createTenant()
  key = server.as({ apiKey: tenant.apiKey })
  user = server.as({ userToken: tenant.userToken })
  stranger = server.as({ userToken: (await server.createTenant()).userToken })
})
afterAll(() => server?.stop())

test('a user token reads sources, records and people like the API key; a user of another organization gets 404', async () => {
  const sourceId = await createSource(key)
  const person = await putPerson(key, { email: 'ada@example.com' })
  const record = await createRecord(key, sourceId, { person_id: person.id, fields: [field()] })
  for (const path of [
    SOURCES,
    `${SOURCES}/${sourceId}`,
    recordsOf(sourceId),
    `${recordsOf(sourceId)}/${record.id}`,
    PEOPLE,
    `${PEOPLE}/${person.id}`,
  ]) {
    const [byUser, byKey] = [await user.get(path), await key.get(path)]
    expect([path, byUser.status]).toEqual([path, 200])
    expect(byUser.body).toEqual(byKey.body)
    const other = await stranger.get(path)
    if (other.status !== 404) expect([path, other.body.data]).toEqual([path, []])
  }
})

test('a user token sends no records and no people: 401, even of an administrator', async () => {
  const sourceId = await createSource(key)
  const answers = await Promise.all([
    user.post(recordsOf(sourceId), { fields: [field()] }),
    user.put(PEOPLE, { email: 'bea@example.com' }),
  ])
  expect(answers.map(({ status }) => status)).toEqual([401, 401])
})

test('an administrator creates, renames and deletes sources, deletes records, and erases people', async () => {
  const created = await user.post(SOURCES, { name: 'by an administrator' })
  expect(created.status).toBe(201)
  const { id } = created.body
  const person = await putPerson(key, { email: 'bea@example.com' })
  const record = await createRecord(key, id)
  expect((await user.patch(`${SOURCES}/${id}`, { name: 'renamed' })).status).toBe(200)
  expect((await user.delete(`${recordsOf(id)}/${record.id}`)).status).toBe(204)
  expect((await user.delete(`${PEOPLE}/${person.id}`)).status).toBe(202)
  expect((await user.delete(`${SOURCES}/${id}`)).status).toBe(204)
})
