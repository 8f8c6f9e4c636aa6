/** The kinds of actors and the features that define them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { ACTOR_POOLS } from '../../src/actors/types.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.stop())

test('every kind has one definition, in the pool of the kind', () => {
  const actors = server.features.actors.map(({ kind, pool }) => [kind, pool] as const)
  expect(Object.fromEntries(actors)).toEqual(ACTOR_POOLS)
  expect(actors).toHaveLength(Object.keys(ACTOR_POOLS).length)
})
