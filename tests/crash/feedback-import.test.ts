/**
 * A worker is killed with SIGKILL while it imports a CSV file, when the rows of a batch are written and their number is not: every row is
 * stored once.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { hold } from '../support/erasure.ts'
import { eventually } from '../support/eventually.ts'
import { createSource } from '../support/feedback.ts'
import { importIn, importsOf, uploadCsv } from '../support/feedback-imports.ts'
import { endLeases } from '../support/mailboxes.ts'
import { createTenant } from '../support/metadata.ts'
import { useServices } from '../support/process.ts'
import { rounds } from '../support/rounds.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const [ROWS, KILLS] = rounds([4_000, 1], [12_000, 3])

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
}, 300_000)
afterAll(() => server.stop())
const services = useServices()

const startWorker = () =>
  services.start({
    ready: 'none',
    env: {
      DATABASE_URL: server.database.url,
      DATA_DIR: server.deps.config.dataDir,
      LOG_LEVEL: 'error',
      ROLE: 'worker',
      WORKER_THREADS: '1',
    },
  })

test('an import whose worker is killed stores every row once', async () => {
  const tenant = await createTenant(server)
  const sourceId = await createSource(tenant.key)
  const rows = Array.from(
    { length: ROWS },
    (_, index) => `${index % 7 === 0 ? 'none' : index},Text ${index}\n`,
  )
  let worker = await startWorker()
  const id = await uploadCsv(tenant.user, sourceId, `Number,Comment\n${rows.join('')}`)
  await importIn(tenant.user, sourceId, id, 'mapping')
  // No column is an external id: only the recorded progress tells which rows are done.
  const mapping = { columns: { Number: 'metadata:integer', Comment: 'metadata:string' } }
  const path = `${importsOf(sourceId)}/${id}`
  expect((await tenant.user.post(`${path}/start`, { mapping })).status).toBe(202)
  let done = 0
  for (let kills = 0; kills < KILLS; kills++) {
    done = await eventually(
      async () => {
        const { body } = await tenant.user.get(path)
        expect(body.rows).toBeGreaterThan(done)
        return body.rows
      },
      { deadlineMs: 60_000, everyMs: 20 },
    )
    expect(done).toBeLessThan(ROWS)
    const { sql } = server.database
    const held = await hold(sql, (tx) => tx`select from feedback_import where upload_id = ${id} for share`)
    await held.blocks()
    await worker.kill('SIGKILL')
    await held.release()
    await endLeases(sql)
    worker = await startWorker()
  }
  const state = await eventually(
    async () => {
      const { body } = await tenant.user.get(path)
      expect(body.phase).toBe('imported')
      return body
    },
    { deadlineMs: 90_000 },
  )
  await worker.kill('SIGKILL')
  const refused = Math.ceil(ROWS / 7)
  expect(state).toMatchObject({ rows: ROWS, imported: ROWS - refused, refused })
  const [stored] = await server.database.sql`
    select count(*)::int as count, count(distinct fields::text)::int as different
    from feedback_record where feedback_source_id = ${sourceId}`
  expect(stored).toEqual({ count: ROWS - refused, different: ROWS - refused })
}, 240_000)
