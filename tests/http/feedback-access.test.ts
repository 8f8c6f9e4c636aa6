/** The organization's key and its users can read feedback and people. Only the key can write. */
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

test('a user token cannot write any of them: 401', async () => {
  const sourceId = await createSource(key)
  const person = await putPerson(key, { email: 'bea@example.com' })
  const record = await createRecord(key, sourceId)
  const answers = await Promise.all([
    user.post(SOURCES, { name: 'x' }),
    user.patch(`${SOURCES}/${sourceId}`, { name: 'x' }),
    user.delete(`${SOURCES}/${sourceId}`),
    user.post(recordsOf(sourceId), { fields: [field()] }),
    user.delete(`${recordsOf(sourceId)}/${record.id}`),
    user.put(PEOPLE, { email: 'bea@example.com' }),
    user.delete(`${PEOPLE}/${person.id}`),
  ])
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 401))
})
