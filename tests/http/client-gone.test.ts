/** A client that disconnects in the middle of its body is not counted as a failure of the service. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { pino } from 'pino'
import { createApp } from '../../src/app/app.ts'
import { type Agent, INGEST, openAgent } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { TRACES } from '../support/otlp.ts'
import { openRequest } from '../support/raw-request.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let agent: Agent
let baseUrl: string
let stop: () => Promise<unknown>
const lines: { readonly level: number; readonly msg: string; readonly status?: number }[] = []

beforeAll(async () => {
  server = await startTestServer()
  agent = await openAgent(server)
  const log = pino({}, { write: (line) => void lines.push(JSON.parse(line)) })
  const app = createApp({ ...server.deps, log }).listen({ hostname: '127.0.0.1', port: 0 })
  baseUrl = `http://127.0.0.1:${app.server?.port}`
  stop = async () => app.stop(true)
})
afterAll(async () => {
  await stop?.()
  await server.stop()
})
beforeEach(() => {
  lines.length = 0
})

function announce(path: string, framing: Readonly<Record<string, string>>) {
  return openRequest('POST', `${baseUrl}${path}`, {
    'content-type': 'application/json',
    'x-service-agent-key': agent.agentSecret,
    ...framing,
  })
}

describe.each(['end', 'reset'] as const)(
  'a client that disconnects (%s) before sending its whole body',
  (leave) => {
    test.each([
      ['short', INGEST, { 'content-length': '1000' }],
      ['long', INGEST, { 'content-length': '1000000' }],
      ['in chunks', INGEST, { 'transfer-encoding': 'chunked' }],
      ['spans', TRACES, { 'content-length': '1000' }],
    ])('is 499 in the log, and no error: %s', async (_, path, framing) => {
      // A reset may overtake what was sent before it.
      await eventually(async () => {
        const request = announce(path, framing)
        await request.write(Buffer.from('5\r\n[    '))
        request[leave]()
        await request.closed
        return lines.length > 0
      })
      expect(lines.map(({ level, msg, status }) => [level, msg, status])).toContainEqual([30, 'request', 499])
      expect(lines.every(({ status }) => status === 499)).toBe(true)
    })
  },
)
