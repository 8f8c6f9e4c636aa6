/** The kinds of actors and the features that define them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { ACTOR_KINDS } from '../../src/messages/all.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.stop())

test('every kind has one definition, in the pool of the kind', () => {
  const actors = server.features.actors.map(({ kind, pool }) => [kind, pool] as const)
  expect(Object.fromEntries(actors)).toEqual(Object.fromEntries(ACTOR_KINDS))
  expect(actors).toHaveLength(ACTOR_KINDS.size)
})
