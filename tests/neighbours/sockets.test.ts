/**
 * 10,000 connections of one caller that all become due at the same moment: the process answers each, sees no unhandled error, and goes
 * on serving others.
 */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { fileURLToPath } from 'node:url'
import { INGEST } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { useServices } from '../support/process.ts'
import { rounds } from '../support/rounds.ts'
import { attackersHeaders, expectNeighbourUnharmed, useNeighbours } from './support/neighbours.ts'
import type { Sockets } from './support/sockets.process.ts'
import { type OpenSockets, openSockets } from './support/sockets.ts'

setDefaultTimeout(300_000)

const SOCKETS = 10_000

const open: OpenSockets[] = []
afterAll(async () => {
  await Promise.all(open.map((sockets) => sockets.close()))
})
const neighbours = useNeighbours({ BODY_TIMEOUT: '3', LOG_LEVEL: 'warn' })
const services = useServices()

/** The head of a request, and the first byte of its body. */
const beginning = (path: string, secret: string, framing: string, byte: string) =>
  `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n` +
  `x-service-agent-key: ${secret}\r\n${framing}\r\n\r\n${byte}`

async function openMany(baseUrl: string, bytes: string): Promise<OpenSockets> {
  const sockets = await openSockets(baseUrl, SOCKETS, bytes)
  open.push(sockets)
  return sockets
}

/** Resolves when each socket has an answer. */
async function allAnswered(baseUrl: string, sockets: OpenSockets): Promise<Sockets['statuses']> {
  const { statuses } = await eventually(
    async () => {
      expect((await fetch(`${baseUrl}/health`)).status).toBe(200)
      const seen = await sockets.seen()
      const answers = Object.values(seen.statuses).reduce((sum, count) => sum + count, 0)
      return answers === SOCKETS && seen
    },
    { deadlineMs: 60_000 },
  )
  return statuses
}

const SMALL = ['small', 'content-length: 15000', '{'] as const
const OTHERS = [
  ['large', 'content-length: 1000000', '{'],
  ['in chunks', 'transfer-encoding: chunked', '1\r\n{\r\n'],
] as const
test.each(rounds([SMALL], [SMALL, ...OTHERS]))(
  'one byte of 10,000 bodies ends no process, and harms nobody: %s',
  async (_, framing, byte) => {
    const { service, attacker } = neighbours()
    const bytes = beginning(INGEST, attacker.agentSecret, framing, byte)
    const sent: OpenSockets[] = []
    // The first are refused while the last are opened, all others beside the measurement.
    await expectNeighbourUnharmed(neighbours(), {
      clients: 1,
      async requests(all) {
        sent.push(await openMany(service.baseUrl, bytes))
        return [{ method: 'GET', path: '/v3/rest/folders', headers: attackersHeaders(all) }]
      },
    })
    for (const sockets of sent) {
      const statuses = await allAnswered(service.baseUrl, sockets)
      expect(Object.keys(statuses).every((status) => ['408', '503'].includes(status))).toBe(true)
      await sockets.close()
    }
    expect(service.output()).not.toContain('"level":5')
  },
)

test('10,000 answers that are ready at the same moment end no process', async () => {
  const gate = await services.start({
    command: [process.execPath, fileURLToPath(new URL('./support/gate.process.ts', import.meta.url))],
    ready: /^Address\s+/m,
  })
  const baseUrl = /http:\S+/.exec(gate.output())?.[0] ?? ''
  const sockets = await openMany(baseUrl, beginning('/gate', 'none', 'content-length: 15000', '{'))
  expect((await fetch(`${baseUrl}/open`, { method: 'POST' })).status).toBe(200)
  expect(await allAnswered(baseUrl, sockets)).toEqual({ '403': SOCKETS })
  await gate.kill()
})
