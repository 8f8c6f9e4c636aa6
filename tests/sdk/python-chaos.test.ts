/**
 * A Python application sends conversations through a network that delays, refuses, cuts and loses answers, to a service that is
 * killed twice. Nothing is lost, nothing is stored twice, and the order is kept. The application notices nothing.
 */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { eventually } from '../support/eventually.ts'
import { FAULTS, type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts'
import { useServices } from '../support/process.ts'
import { pythons, runPython } from '../support/python.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

setDefaultTimeout(300_000)

const SESSIONS = 6
const TURNS = 8

const stops: (() => Promise<unknown>)[] = []
// Registered before the clean-up of `useServices`, which reports processes that still run.
afterAll(async () => {
  for (const stop of stops.toReversed()) await stop()
})
const services = useServices()

test('nothing is lost, nothing is doubled, and the order is kept', async () => {
  const beside = await startTestServer()
  stops.push(() => beside.stop())
  const tenant = await beside.createTenant()
  const application = await beside.createApplication(tenant.organizationId)
  const { agentKey, agentSecret } = application
  const first = await startService(beside)
  let number = 0
  const proxy = await startFaultProxy(first.baseUrl, () => FAULTS[number++ % FAULTS.length] ?? 'pass')
  stops.push(proxy.stop)

  const [python] = pythons()
  const app = runPython(python, ['-W', 'ignore', 'tests/chat.py', 'chaos', String(SESSIONS), String(TURNS)], {
    env: { EARSHOT_URL: proxy.url, EARSHOT_AGENT_KEY: agentKey, EARSHOT_SECRET: agentSecret },
  })
  await killAndReplace(beside, proxy, first)

  const { code, output, errors } = await app
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  const said = JSON.parse(output)
  expect(said).toMatchObject({
    child: 0,
    flushed: true,
    errors: [],
    stats: { queued: 0, dropped: 0, failed: 0 },
  })
  for (const fault of FAULTS) expect(proxy.counts[fault], fault).toBeGreaterThan(0)

  const client = beside.as({ apiKey: tenant.apiKey })
  expect(await conversationsOf(client)).toEqual(
    Object.fromEntries(
      Array.from({ length: SESSIONS }, (_, session) => [`chaos-${session}`, expected(session)]),
    ),
  )
})

const startService = async (beside: TestServer) => {
  const service = await services.start({
    env: {
      SECRET_KEY: 'x'.repeat(43),
      DATABASE_URL: beside.database.url,
      LOG_LEVEL: 'error',
      RATE_LIMIT_AGENT_INGEST: '0',
      PATH: '/usr/bin/nothing',
    },
  })
  stops.push(() => service.kill())
  return service
}

/** Kills the service in the middle of the traffic, and starts another one on another port. */
async function killAndReplace(
  beside: TestServer,
  proxy: FaultProxy,
  service: Awaited<ReturnType<typeof startService>>,
) {
  await eventually(() => proxy.counts.pass >= 3)
  await service.kill('SIGKILL')
  const refusedBefore = proxy.counts.pass
  await eventually(() => proxy.counts.pass > refusedBefore)
  proxy.target = (await startService(beside)).baseUrl
}

/** What a session must hold: its messages in their order, one feedback, and its end. */
const expected = (session: number) => ({
  status: 'ended',
  feedback: 1,
  messages: Array.from({ length: TURNS }, (_, turn) => ['And now?', `${session}.${turn}`]).flat(),
})

async function conversationsOf(client: Client) {
  const { body } = await client.get('/v3/rest/agent-conversations/sessions?limit=100')
  const sessions = await Promise.all(
    (body.data as { id: string }[]).map(async ({ id }) => {
      const session = (await client.get(`/v3/rest/agent-conversations/sessions/${id}?limit=100`)).body
      const events = session.events.data as { type: string; content?: string }[]
      const messages = events.filter(({ type }) => type !== 'feedback')
      const read = {
        status: session.status,
        feedback: events.length - messages.length,
        messages: messages.map(({ content }) => content),
      }
      return [session.externalSessionId, read] as const
    }),
  )
  return Object.fromEntries(sessions)
}
