/** Helpers for tests of feedback: paths, bodies, and short functions that create a source, a person and a record. */
import type { Answer, Client } from './server.ts'

export const SOURCES = '/v3/rest/feedback-sources'
export const PEOPLE = '/v3/rest/people'
export const recordsOf = (sourceId: number) => `${SOURCES}/${sourceId}/records`

/** A valid field, with the changes in `field`. */
export const field = (change: object = {}) => ({
  category: 'content',
  type: 'string',
  name: 'comment',
  value: 'quick',
  ...change,
})

/** Creates a source and returns its id. */
export async function createSource(
  client: Client,
  name = `Help desk ${crypto.randomUUID()}`,
): Promise<number> {
  return expectStatus(201, await client.post(SOURCES, { name })).id
}

/** Creates or updates a person and returns it. */
export async function putPerson(client: Client, person: object) {
  return expectStatus(200, await client.put(PEOPLE, person))
}

/** Creates a record and returns the response body. */
export async function createRecord(client: Client, sourceId: number, record: object = {}) {
  return expectStatus(201, await client.post(recordsOf(sourceId), { fields: [field()], ...record }))
}

function expectStatus(status: number, answer: Answer) {
  if (answer.status !== status) throw new Error(JSON.stringify(answer.body))
  return answer.body
}
