/** A stopping process ends its periodic tasks where nothing is half done, and another process continues the round. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { EventEmitter } from 'node:events'
import { keepMaintaining, runIfDue } from '../../src/actors/maintenance.ts'
import { createSharedMark } from '../../src/actors/running.ts'
import { serveThread } from '../../src/actors/thread.ts'
import type { FromThread, StartOrder } from '../../src/actors/thread-protocol.ts'
import type { MaintenanceTask } from '../../src/actors/types.ts'
import { loadConfig } from '../../src/app/config.ts'
import { type Container, createContainer } from '../../src/app/container.ts'
import { mediaMaintenance } from '../../src/calls/media/service.ts'
import { uploadMaintenance } from '../../src/calls/uploads/maintenance.ts'
import { agentMaintenance } from '../../src/hear/agents/sessions/maintenance.ts'
import type { Sql } from '../../src/platform/db/pool.ts'
import { createApplication } from '../support/agent-sessions.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const RUNNING = new AbortController().signal
const MANY = 450

let database: TestDatabase
let container: Container
let sql: Sql
const config = loadConfig({ LOG_LEVEL: 'silent' })
beforeAll(async () => {
  database = await createTestDatabase()
  sql = database.sql
  container = createContainer(config, { database: { url: database.url }, redis: null }, 'test')
})
afterAll(async () => {
  await container.close()
  await database.drop()
})

/** A task that runs until its order to stop. */
function endlessTask(name: string, ended: () => Promise<unknown> = async () => {}) {
  const begun = Promise.withResolvers<void>()
  const task: MaintenanceTask = {
    name,
    everySeconds: 3_600,
    async run(stopping) {
      begun.resolve()
      await new Promise((resolve) => stopping.addEventListener('abort', resolve))
      await ended()
    },
  }
  return { task, begun: begun.promise }
}

test('a task that is stopped ends, and the next process that asks runs its round', async () => {
  const { task, begun } = endlessTask('endless')
  const stopping = new AbortController()
  const maintained = keepMaintaining(container, [task], stopping.signal)
  await begun
  let runs = 0
  const next = {
    ...task,
    run: async () => {
      runs += 1
    },
  }
  expect(await runIfDue(container, next, RUNNING)).toBe(false)
  stopping.abort()
  await maintained
  expect(await runIfDue(container, next, RUNNING)).toBe(true)
  expect(runs).toBe(1)
})

test('a stopping thread closes its connections only after the task has ended', async () => {
  const own = createContainer(config, { database: { url: database.url }, redis: null }, 'test-thread')
  let outcome = 'none'
  const { task, begun } = endlessTask('last words', async () => {
    await own.sql`select pg_sleep(0.3)`
    await own.sql`select 1`
    outcome = 'ended'
  })
  const port = new EventEmitter()
  const said: FromThread['type'][] = []
  serveThread({ on: port.on.bind(port), postMessage: ({ type }) => void said.push(type) }, () => ({
    container: own,
    actors: [],
    maintenance: [task],
  }))
  port.emit('message', {
    type: 'start',
    index: 0,
    config,
    servers: own.servers,
    port: null,
    running: createSharedMark(),
  } satisfies StartOrder)
  await begun
  port.emit('message', { type: 'stop', budgetMs: 10_000 })
  await eventually(() => said.includes('stopped'))
  expect(outcome).toBe('ended')
})

/** Runs a task and stops it when it first reads `member` of `subject`. */
async function stoppedAt<T extends object>(
  subject: T,
  member: keyof T,
  tasks: (subject: T) => readonly MaintenanceTask[],
  name: string,
): Promise<void> {
  const stopping = new AbortController()
  const watched = new Proxy(subject, {
    get(target, property) {
      if (property === member) stopping.abort()
      return Reflect.get(target, property)
    },
  })
  await tasks(watched)
    .find((task) => task.name === name)!
    .run(stopping.signal)
  expect(stopping.signal.aborted).toBe(true)
}

test('retention ends after the current batch', async () => {
  const { organizationId, applicationId } = await createApplication(sql, { settings: { retentionDays: 1 } })
  await sql`
    insert into agent_session (
      id, organization_id, application_id, external_session_id, status, processing_status, created_at, last_activity_at
    )
    select gen_random_uuid(), ${organizationId}, ${applicationId}, n::text, 'ended', 'completed',
      now() - interval '2 days', now() - interval '2 days'
    from generate_series(1, ${MANY}::int) n`
  await stoppedAt(
    container.sql,
    'begin',
    (watched) => agentMaintenance({ ...container, sql: watched }),
    'agent_retention',
  )
  const left = await sql`select 1 from agent_session where application_id = ${applicationId}`
  expect(left.length).toBeGreaterThan(0)
  expect(left.length).toBeLessThan(MANY)
})

test('orphan objects: the current one is deleted, the others later', async () => {
  await sql`
    insert into media_garbage (object_key, organization_id, recording_id, delete_after)
    select 'recordings/' || n, gen_random_uuid(), gen_random_uuid(), now() from generate_series(1, 5) n`
  await stoppedAt(
    container.storage,
    'delete',
    (storage) => mediaMaintenance({ ...container, storage }),
    'media_garbage',
  )
  expect(await sql`select 1 from media_garbage`).toHaveLength(4)
})

test('bytes of ended uploads: those of the current upload are deleted, the others later', async () => {
  await sql`
    insert into upload_garbage (object_key, organization_id, resume_state, delete_after, again)
    select 'recordings/' || n, gen_random_uuid(), null, now(), true from generate_series(1, 5) n`
  await stoppedAt(
    container.storage,
    'delete',
    (storage) => uploadMaintenance({ ...container, storage }),
    'upload_garbage',
  )
  expect(await sql`select 1 from upload_garbage`).toHaveLength(4)
})
