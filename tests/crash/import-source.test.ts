/** A worker is killed with SIGKILL while it reads a help desk: every message is stored once, in order. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { eventually } from '../support/eventually.ts'
import {
  AGENT_EMAIL,
  API_TOKEN,
  type FakeZendesk,
  fakeTicket,
  startFakeZendesk,
} from '../support/fake-zendesk.ts'
import { endLeases } from '../support/mailboxes.ts'
import { useServices } from '../support/process.ts'
import { rounds } from '../support/rounds.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const TICKETS = 40
/**
 * The worker is killed at the first comments from these requests on, while their answer is under way. At the 30th a page is recorded, and
 * of the next page some tickets are stored that are not recorded.
 */
const KILLS = rounds([30], [9, 30, 61])

let server: TestServer
let zendesk: FakeZendesk
beforeAll(async () => {
  server = await startTestServer({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } })
  zendesk = startFakeZendesk(10)
}, 300_000)
afterAll(async () => {
  await zendesk?.stop()
  await server?.stop()
})
const services = useServices()

const startWorker = () =>
  services.start({
    ready: 'none',
    env: {
      DATABASE_URL: server.database.url,
      DATA_DIR: server.deps.config.dataDir,
      LOG_LEVEL: 'error',
      OUTBOUND_ALLOW: '127.0.0.0/8',
      ROLE: 'worker',
      WORKER_THREADS: '1',
    },
  })

test('a source whose worker is killed stores every message once', async () => {
  const { organizationId, apiKey } = await server.createTenant()
  const { applicationId } = await server.createApplication(organizationId)
  for (let id = 1; id <= TICKETS; id++) zendesk.tickets.push(fakeTicket(id))
  const kills = [...KILLS]
  let reached = Promise.withResolvers<void>()
  zendesk.intercept = async (path, number) => {
    if (number < (kills[0] ?? Number.POSITIVE_INFINITY) || !path.includes('/comments')) return null
    kills.shift()
    // The other tickets that are read at the same time are stored, but not recorded yet.
    await eventually(async () => {
      const [row] = await server.database.sql`
        select (select count(*) from agent_event) > messages as ahead from import_source`
      return row?.ahead
    })
    reached.resolve()
    // The answer never comes: the worker dies first.
    return new Promise<Response>(() => {})
  }
  let worker = await startWorker()
  const path = `/v3/rest/agent-applications/${applicationId}/import-sources`
  const client = server.as({ apiKey })
  const { body: source } = await client.post(path, {
    provider: 'zendesk',
    url: zendesk.url,
    account: AGENT_EMAIL,
    secret: API_TOKEN,
    since: '2026-01-01T00:00:00Z',
  })
  for (const _ of KILLS) {
    await reached.promise
    reached = Promise.withResolvers<void>()
    await worker.kill('SIGKILL')
    await endLeases(server.database.sql)
    worker = await startWorker()
  }
  const done = await eventually(
    async () => {
      const { body } = await client.get(`${path}/${source.id}`)
      return body.caughtUpAt !== null && body
    },
    { deadlineMs: 90_000 },
  )
  await worker.kill('SIGKILL')
  expect(done).toMatchObject({ refused: 0, errorCode: null })
  const rows = await server.database.sql`
    select s.external_session_id as session, array_agg(e.body ->> 'content' order by e.sequence) as said,
      max(e.revision)::int as revision
    from agent_session s join agent_event e on e.session_id = s.id
    where s.application_id = ${applicationId}
    group by 1`
  const said = new Map(rows.map(({ session, said, revision }) => [session, { said, revision }]))
  const host = new URL(zendesk.url).host
  expect(said).toEqual(
    new Map(
      Array.from({ length: TICKETS }, (_, index) => [
        `zendesk:${host}:${index + 1}`,
        { said: [`Question ${index + 1}`, `Answer ${index + 1}`], revision: 1 },
      ]),
    ),
  )
}, 240_000)
