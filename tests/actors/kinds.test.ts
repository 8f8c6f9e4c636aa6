/** The kinds of actors and the features that define them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { ACTOR_KINDS } from '../../src/kernel/messages/all.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.stop())

test('docs/operating.md says in which pool each kind runs', async () => {
  const text = await Bun.file(new URL('../../docs/operating.md', import.meta.url)).text()
  const rows = [...text.matchAll(/^\| `(\w+)` \| ((?:`[\w-]+`(?:, )?)+) \|/gm)]
  const said = rows.flatMap(([, pool = '', kinds = '']) =>
    kinds.split(', ').map((kind) => [kind.replaceAll('`', ''), pool] as const),
  )
  expect(said.toSorted()).toEqual([...ACTOR_KINDS].toSorted())
})

test('every kind has one definition, in the pool of the kind', () => {
  const actors = server.features.actors.map(({ kind, pool }) => [kind, pool] as const)
  expect(Object.fromEntries(actors)).toEqual(Object.fromEntries(ACTOR_KINDS))
  expect(actors).toHaveLength(ACTOR_KINDS.size)
})
