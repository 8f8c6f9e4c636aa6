/**
 * An application sends conversations by the TypeScript SDK through a network that delays, refuses, cuts and loses answers, to a service
 * that is killed. Nothing is lost, nothing is stored twice, and the order is kept.
 */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { Earshot, type Message } from '../../sdk/typescript/src/index.ts'
import { eventually } from '../support/eventually.ts'
import { FAULTS, startFaultProxy } from '../support/fault-proxy.ts'
import { useServices } from '../support/process.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

setDefaultTimeout(300_000)

const SESSIONS = 6
const TURNS = 8

const stops: (() => Promise<unknown>)[] = []
// Registered before the clean-up of `useServices`, which reports processes that still run.
afterAll(async () => {
  for (const stop of stops.toReversed()) await stop()
})
const services = useServices()

async function startService(beside: TestServer) {
  const service = await services.start({
    env: {
      SECRET_KEY: 'x'.repeat(43),
      DATABASE_URL: beside.database.url,
      LOG_LEVEL: 'error',
      RATE_LIMIT_AGENT_INGEST: '0',
    },
  })
  stops.push(() => service.kill())
  return service
}

test('nothing is lost, nothing is doubled, and the order is kept', async () => {
  const beside = await startTestServer()
  stops.push(() => beside.stop())
  const tenant = await beside.createTenant()
  const { agentKey, agentSecret: secret } = await beside.createApplication(tenant.organizationId)
  const service = await startService(beside)
  let number = 0
  const proxy = await startFaultProxy(service.baseUrl, () => FAULTS[number++ % FAULTS.length] ?? 'pass')
  stops.push(proxy.stop)

  const earshot = new Earshot({ url: proxy.url, agentKey, secret, delayMs: 1, timeoutMs: 10_000 })
  const histories = Array.from({ length: SESSIONS }, () => [] as Message[])
  const say = async (from: number, to: number) => {
    for (let turn = from; turn < to; turn++) {
      for (const [at, history] of histories.entries()) {
        history.push({ role: 'user', content: 'And now?' }, { role: 'assistant', content: `${at}.${turn}` })
        earshot.session(`chaos-${at}`).sync(history)
      }
      await Bun.sleep(5)
    }
  }
  await say(0, TURNS / 2)
  await eventually(() => earshot.stats().sent > 0)
  await service.kill('SIGKILL')
  proxy.target = null
  await say(TURNS / 2, TURNS)
  for (const [at, history] of histories.entries()) {
    earshot.session(`chaos-${at}`).feedback(history[1]!, 'negative')
    earshot.session(`chaos-${at}`).end()
  }
  proxy.target = (await startService(beside)).baseUrl
  expect(await earshot.close({ timeoutMs: 100_000 })).toBe(true)

  expect(earshot.stats()).toMatchObject({
    queued: 0,
    dropped: 0,
    failed: 0,
    sent: SESSIONS * (2 * TURNS + 1),
  })
  for (const fault of FAULTS) expect(proxy.counts[fault], fault).toBeGreaterThan(0)
  const { get } = beside.as({ apiKey: tenant.apiKey })
  const list = await get('/v3/rest/agent-conversations/sessions?limit=100')
  expect(list.body.data).toHaveLength(SESSIONS)
  for (const { id, externalSessionId, status } of list.body.data) {
    const history = histories[Number(externalSessionId.slice('chaos-'.length))]!
    const { body } = await get(`/v3/rest/agent-conversations/sessions/${id}?limit=100`)
    const events = body.events.data as { type: string; content?: string; revision: number }[]
    const said = events.filter(({ type }) => type !== 'feedback')
    expect(status).toBe('ended')
    expect(said.map(({ content }) => content)).toEqual(history.map(({ content }) => content as string))
    expect(events.length - said.length).toBe(1)
    expect(events.every(({ revision }) => revision === 1)).toBe(true)
  }
})
