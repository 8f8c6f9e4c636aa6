/** More connections than file descriptors: those that say nothing keep nobody out. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { connect } from 'node:net'
import { eventually } from '../support/eventually.ts'
import { EARSHOT } from '../support/executable.ts'
import { useServices } from '../support/process.ts'

setDefaultTimeout(300_000)

const services = useServices()
const DESCRIPTORS = 256
const CONNECTIONS = 400

test.skipIf(process.platform !== 'linux')(
  '400 idle connections at 256 descriptors block nobody',
  async () => {
    const service = await services.start({
      command: ['/bin/sh', '-c', `ulimit -n ${DESCRIPTORS}; exec "$0" "$@"`, ...EARSHOT, 'serve'],
    })
    const { hostname, port } = new URL(service.baseUrl)
    let closed = 0
    const idle = Array.from({ length: CONNECTIONS }, (_, index) => {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => {})
      socket.on('close', () => (closed += 1))
      // Some have begun a request, which they never end.
      if (index % 2 === 0) socket.on('connect', () => socket.write('GET /health HTTP/1.1\r\nHost: a\r\n'))
      return socket
    })
    try {
      await eventually(() => closed > CONNECTIONS - DESCRIPTORS)
      // Each on a connection of its own.
      for (let round = 0; round < 20; round++) {
        const response = await fetch(`${service.baseUrl}/health`, { headers: { connection: 'close' } })
        expect(response.status).toBe(200)
      }
      // The database is reached, and the threads run.
      await eventually(async () => (await fetch(`${service.baseUrl}/ready`)).status === 200)
      expect(service.output()).toContain('silent connections are closed; raise the limit (ulimit -n)')
      // Not all were closed: there is room for half of the descriptors.
      expect(closed).toBeLessThan(CONNECTIONS)
    } finally {
      for (const socket of idle) socket.destroy()
    }
    expect(await service.kill()).toBe(0)
  },
)
