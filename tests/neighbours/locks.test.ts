/** Many requests of one organization that lock the same rows do not delay those of another. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { createRecording, RECORDINGS } from '../support/recordings.ts'
import { clientOf } from '../support/server.ts'
import {
  attackersHeaders,
  expectNeighbourUnharmed,
  type Neighbours,
  useNeighbours,
} from './support/neighbours.ts'

setDefaultTimeout(240_000)

const neighbours = useNeighbours()

const attackersClient = ({ service, attacker }: Neighbours) =>
  clientOf(service.baseUrl, { apiKey: attacker.tenant.apiKey })

test('100 concurrent changes of one recording', async () => {
  const { id } = await createRecording(attackersClient(neighbours()))
  const statuses = await expectNeighbourUnharmed(neighbours(), {
    clients: 100,
    requests: (all) =>
      ['One', 'Two', 'Three'].map((displayName) => ({
        method: 'PATCH',
        path: `${RECORDINGS}/${id}`,
        headers: attackersHeaders(all),
        body: JSON.stringify({ displayName }),
      })),
  })
  expect(Object.keys(statuses)).toEqual(['200'])
})

test('300 merges of people', async () => {
  const { attacker, server } = neighbours()
  const statuses = await expectNeighbourUnharmed(neighbours(), {
    clients: 100,
    repeats: false,
    async requests(all, window) {
      const people = await server.database.sql<{ id: string }[]>`
        insert into person (public_id, organization_id, email)
        select gen_random_uuid(), ${attacker.organizationId}, 'p' || n || '-' || ${window}::int || '@example.com'
        from generate_series(0, 300) as n
        returning public_id as id`
      const [kept, ...others] = people.map(({ id }) => id)
      return others.map((personId) => ({
        method: 'POST',
        path: `/v3/rest/people/${kept}/merge`,
        headers: attackersHeaders(all),
        body: JSON.stringify({ personId }),
      }))
    },
  })
  expect(Object.keys(statuses)).toEqual(['200'])
})

test('a change that waits too long for a lock is 503, as are those behind it, and the others go on', async () => {
  const { server, service, recordingId, neighbour } = neighbours()
  const client = clientOf(service.baseUrl, { apiKey: neighbour.tenant.apiKey })
  const other = await createRecording(client)
  const change = (id: string) => client.patch(`${RECORDINGS}/${id}`, { displayName: 'Changed' })
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
  const held = server.database.sql.begin(async (tx) => {
    await tx`select 1 from recording where id = ${recordingId} for update`
    await isReleased
  })
  const waiting = Array.from({ length: 12 }, () => change(recordingId))
  expect((await change(other.id)).status).toBe(200)
  for (const { status, body, headers } of await Promise.all(waiting)) {
    expect({ status, code: body.code }).toEqual({ status: 503, code: 'object_busy' })
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  }
  release()
  await held
  expect((await change(recordingId)).status).toBe(200)
})
