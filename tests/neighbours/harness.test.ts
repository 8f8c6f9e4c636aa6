/** The comparison itself: it names what a neighbour pays. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { RECORDINGS } from '../support/recordings.ts'
import {
  attackersHeaders,
  compare,
  expectNeighbourUnharmed,
  type Neighbours,
  useNeighbours,
} from './support/neighbours.ts'

setDefaultTimeout(240_000)

const neighbours = useNeighbours()

const lists = (all: Neighbours) => [{ method: 'GET', path: RECORDINGS, headers: attackersHeaders(all) }]

test('a few lists harm nobody', async () => {
  const statuses = await expectNeighbourUnharmed(neighbours(), { clients: 1, requests: lists })
  expect(Object.keys(statuses)).toEqual(['200'])
})

test('a lock that the second organization waits for is named', async () => {
  const { server, recordingId } = neighbours()
  let held: Promise<unknown> = Promise.resolve()
  const { broken } = await compare(
    neighbours(),
    {
      clients: 1,
      requests(all) {
        held = server.database.sql.begin(async (tx) => {
          await tx`select 1 from recording where id = ${recordingId} for update`
          await tx`select pg_sleep(1)`
        })
        return lists(all)
      },
    },
    1,
  )
  await held
  expect(broken.some((text) => text.startsWith('write p99'))).toBe(true)
})
