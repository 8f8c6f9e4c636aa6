/** Clients of event streams that come and go while somebody writes harm no other organization. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { STREAM } from '../support/event-stream.ts'
import { createSource } from '../support/feedback.ts'
import {
  attackersHeaders,
  expectNeighbourUnharmed,
  type Neighbours,
  useNeighbours,
} from './support/neighbours.ts'

setDefaultTimeout(240_000)

/** Far below the limit of an organization, because those that left are noticed a little later. */
const CLIENTS = 30
const STAYS_MS = 250

const neighbours = useNeighbours()

/** Writes past the service, in both kinds of windows: only what the streams add is compared. @returns how to end it */
async function write({ server, attacker }: Neighbours): Promise<() => Promise<void>> {
  const source = await createSource(server.as({ apiKey: attacker.tenant.apiKey }))
  const { sql } = server.database
  let isOver = false
  const writing = (async () => {
    while (!isOver) {
      await sql`
        insert into feedback_record (organization_id, feedback_source_id, fields, display_ts)
        select ${attacker.tenant.organizationId}, ${source}, '[]', now() from generate_series(1, 3)`
      await Bun.sleep(5)
    }
  })()
  return () => {
    isOver = true
    return writing
  }
}

test('30 clients that join, read and leave while rows are written', async () => {
  const end = await write(neighbours())
  try {
    const statuses = await expectNeighbourUnharmed(neighbours(), {
      clients: CLIENTS,
      requests: (all) => [{ method: 'GET', path: STREAM, headers: attackersHeaders(all), leaveMs: STAYS_MS }],
    })
    // `lost`: left before its answer began, on a busy machine.
    expect(statuses['200']).toBeGreaterThan(CLIENTS)
    expect(Object.keys(statuses).filter((status) => status !== '200' && status !== 'lost')).toEqual([])
  } finally {
    await end()
  }
})
