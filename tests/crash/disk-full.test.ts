/**
 * The disk of an embedded start fills up under load and is freed again: everything answered with 200 is stored, everything
 * else was refused, and the service recovers by itself, including its crashed PostgreSQL.
 *
 * The disk is a small file system in memory, which only root may mount. Otherwise the test is skipped with a message.
 */
import { afterAll, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from '../../src/platform/db/pool.ts'
import { postgresFolders } from '../../src/platform/embedded/postgres.ts'
import { type Demo, demoCredentials } from '../startup/facts.ts'
import { INGEST } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { type Service, useServices } from '../support/process.ts'
import { fill, mountSmallDisk, unmount } from './support/small-disk.ts'

const SIZE = '192m'
/** After this many refusals in a row the disk counts as full. */
const MIN_REFUSALS = 10
const CLIENTS = 4

const disk = mountSmallDisk(SIZE)
const services = useServices()
afterAll(() => unmount(disk))

if (disk === null) console.log('SKIPPED: only root, where it may mount a file system, can test a full disk')
test.skipIf(disk === null)(
  'a full disk: accepted requests are kept, others are refused, and service resumes once there is room',
  async () => {
    const dataDir = join(disk!, 'data')
    const service = await services.start({
      env: { DATA_DIR: dataDir, LOG_LEVEL: 'error', RATE_LIMIT_AGENT_INGEST: '0' },
    })
    const demo = demoCredentials(dataDir)
    const accepted = new Set<string>()
    await sendUntil(service, demo, accepted, () => accepted.size >= 20)
    fill(join(disk!, 'ballast'))
    let refusals = 0
    await sendUntil(service, demo, accepted, (status) => {
      refusals = status === 200 ? 0 : refusals + 1
      return refusals >= MIN_REFUSALS
    })
    const before = accepted.size
    rmSync(join(disk!, 'ballast'))
    await sendUntil(service, demo, accepted, () => accepted.size >= before + 20)
    await expectKept(dataDir, accepted)
    await service.kill()
  },
  540_000,
)

/** Several clients send requests, each once and for its own session, until `isOver` returns true for a response. */
async function sendUntil(
  service: Service,
  demo: Demo,
  accepted: Set<string>,
  isOver: (status: number) => boolean,
): Promise<void> {
  let over = false
  const deadline = performance.now() + 60_000
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      while (!over) {
        const session = crypto.randomUUID()
        const status = await send(service, demo, session)
        if (status === 200) accepted.add(session)
        else expect([503, 507]).toContain(status)
        over ||= isOver(status)
        if (performance.now() > deadline) throw new Error(`still not over:\n${service.output()}`)
        if (status !== 200) await Bun.sleep(50)
      }
    }),
  )
}

async function send(service: Service, { agentKey, agentSecret }: Demo, session: string): Promise<number> {
  const event = {
    externalEventId: 'e1',
    sequence: 0,
    revision: 1,
    occurredAt: '2026-01-02T03:04:05Z',
    type: 'user_message',
    content: crypto.getRandomValues(new Uint8Array(12_000)).toHex(),
  }
  const response = await fetch(`${service.baseUrl}${INGEST}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-service-agent-key': agentSecret },
    body: JSON.stringify({ agentKey, externalSessionId: session, events: [event] }),
  })
  await response.text()
  return response.status
}

/** Everything accepted is stored once, and its messages were processed. */
async function expectKept(dataDir: string, accepted: ReadonlySet<string>): Promise<void> {
  const socketDir = postgresFolders(dataDir).socket
  const sql = connect(
    { socketDir, user: 'postgres', database: 'postgres' },
    { max: 1, applicationName: 'test' },
  )
  try {
    const rows = await sql<{ id: string; events: number }[]>`
      select s.external_session_id as id, count(e.session_id) as events
      from agent_session s
      left join agent_event e on e.session_id = s.id
      group by s.id`
    const stored = new Map(rows.map(({ id, events }) => [id, events]))
    expect([...accepted].filter((id) => stored.get(id) !== 1)).toEqual([])
    await eventually(
      async () => {
        const waiting = await sql`
          select key, type, attempts from actor_message where key not like 'themes:%' limit 3`
        if (waiting.length > 0) throw new Error(`still waiting: ${JSON.stringify(waiting)}`)
      },
      // Turns that met the full disk wait for some time before they are tried again.
      { deadlineMs: 400_000 },
    )
    expect([...(await sql`select * from actor_dead_letter`)]).toEqual([])
  } finally {
    await sql.end({ timeout: 1 })
  }
}
