/** Reads of one organization that take long leave a connection to those of another. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { asCaller } from '../../src/platform/concurrency/caller.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { newId } from '../../src/platform/ids.ts'
import { connectTo } from '../mcp/support.ts'
import { waitUntilBlockedBy } from '../support/mailboxes.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

let server: TestServer
let slow: TestTenant
let other: TestTenant
beforeAll(async () => {
  server = await startTestServer({ env: { DATABASE_POOL_SIZE: '6' } })
  slow = await server.createTenant()
  other = await server.createTenant()
})
afterAll(async () => {
  await server?.stop()
})

/** More than there are connections for reads. */
const MANY = 12

/** The order in which many reads of a locked table and those of another organization end. */
async function besideSlow(table: string, read: () => Promise<unknown>): Promise<readonly string[]> {
  const order: string[] = []
  let all: Promise<unknown> = Promise.resolve()
  await transaction(server.database.sql, async (tx) => {
    const [holder] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
    await tx`lock table ${tx(table)} in access exclusive mode`
    const one = () => read().then(() => order.push('slow'))
    all = Promise.all(Array.from({ length: MANY }, one))
    await waitUntilBlockedBy(server.database.sql, holder?.pid ?? 0)
    for (let index = 0; index < MANY; index++) {
      const { status } = await server.as(other).get('/v3/rest/folders')
      order.push(`other ${status}`)
    }
  })
  await all
  return order
}

const EXPECTED = [...Array(MANY).fill('other 200'), ...Array(MANY).fill('slow')]

test('reads of the REST interface', async () => {
  const { get } = server.as(slow)
  const read = () => get('/v3/rest/agent-conversations/sessions')
  expect(await besideSlow('agent_session', read)).toEqual(EXPECTED)
}, 30_000)

test.each(['new', 'old'] as const)(
  'reads of tools, by a client of the %s generation',
  async (generation) => {
    const address = { url: `${server.baseUrl}/mcp`, headers: { authorization: `Bearer ${slow.userToken}` } }
    const client = await connectTo(generation, address, null)
    const read = () => client.call('get-project', { publicId: newId() })
    expect(await besideSlow('project', read)).toEqual(EXPECTED)
    await client.close()
  },
  30_000,
)

test('a failed read leaves its place', async () => {
  const { reads } = server.deps
  await asCaller('caller', async () => {
    for (let index = 0; index < MANY; index++)
      await expect(Promise.resolve(reads`select 1 / ${0}::int`)).rejects.toMatchObject({ code: '22012' })
    expect([...(await reads`select 1 as one`)]).toEqual([{ one: 1 }])
  })
})
