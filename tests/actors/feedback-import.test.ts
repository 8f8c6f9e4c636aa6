/** An import survives the end of its process after any batch: every row is stored once, every refused row is kept once. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { Fenced, type LongHandler, type LongTurn } from '../../src/actors/types.ts'
import { feedbackImportActor } from '../../src/hear/feedback/import-jobs/actor.ts'
import { createPeople } from '../../src/people/service.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import type { ObjectStore } from '../../src/platform/storage/storage.ts'
import { createSource } from '../support/feedback.ts'
import { importsOf, uploadCsv } from '../support/feedback-imports.ts'
import { createTenant, type Tenant } from '../support/metadata.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

setDefaultTimeout(300_000)

let server: TestServer
let tenant: Tenant
beforeAll(async () => {
  server = await startTestServer()
  tenant = await createTenant(server)
})
afterAll(() => server.stop())

/** A turn as the runtime makes it, whose worker loses the actor after so many steps. */
function turnOf(id: string, type: string, steps = Number.POSITIVE_INFINITY): LongTurn {
  let left = steps
  const { sql, log } = server.deps
  const step: LongTurn['step'] = (work) => {
    if (left-- <= 0) return Promise.reject(new Fenced('the worker was killed'))
    return transaction(sql, (tx) => work(tx, async () => {}))
  }
  const message = { key: `feedback-import:${id}`, id, seq: 1, type, payload: {}, attempts: 0 } as const
  const { signal } = new AbortController()
  return { message, organization: tenant.organizationId, signal, log, step, finish: step, read: step }
}

function work(
  id: string,
  type: 'inspect' | 'run',
  steps?: number,
  storage: ObjectStore = server.deps.storage,
) {
  const { handlers } = feedbackImportActor({ storage, people: createPeople(server.deps) })
  const handler = handlers[type] as LongHandler
  return handler(turnOf(id, type, steps)).then(
    () => 'done',
    (error: Error) => error.name,
  )
}

async function started(csv: string | Uint8Array, mapping: object) {
  const sourceId = await createSource(tenant.key)
  const id = await uploadCsv(tenant.user, sourceId, csv)
  expect(await work(id, 'inspect')).toBe('done')
  const path = `${importsOf(sourceId)}/${id}`
  expect((await tenant.user.post(`${path}/start`, { mapping })).status).toBe(202)
  return { id, sourceId, state: async () => (await tenant.user.get(path)).body }
}

const valuesOf = async (sourceId: number) =>
  (
    await server.database.sql<{ value: number }[]>`
      select (fields -> 0 ->> 'value')::int as value from feedback_record
      where feedback_source_id = ${sourceId} order by id`
  ).map(({ value }) => value)

test('an attempt that ends after any number of batches is continued without loss or repetition', async () => {
  const numbers = Array.from({ length: 4_500 }, (_, index) => index)
  // Every tenth row is refused; the rows have no external id, so nothing but the progress keeps them apart.
  const isRefused = (index: number) => index % 10 === 3
  const csv = `Number\n${numbers.map((index) => (isRefused(index) ? `no ${index}\n` : `${index}\n`)).join('')}"open`
  const { id, sourceId, state } = await started(csv, { columns: { Number: 'metadata:integer' } })
  const done: number[] = []
  let outcome = ''
  for (let attempts = 0; attempts < 30 && outcome !== 'done'; attempts++) {
    // The first step begins; then none, one or two batches are stored.
    outcome = await work(id, 'run', 1 + (attempts % 3))
    done.push((await state()).rows)
  }
  expect(outcome).toBe('done')
  expect(new Set(done).size).toBeGreaterThan(3)
  expect(done).toEqual(done.toSorted((a, b) => a - b))
  expect(await state()).toMatchObject({ phase: 'imported', rows: 4_501, imported: 4_050, refused: 451 })
  expect(await valuesOf(sourceId)).toEqual(numbers.filter((index) => !isRefused(index)))
  const lines = await server.database.sql`
    select line::int as line, position::int as position from feedback_import_refusal where upload_id = ${id} order by position`
  const expected = [...numbers.filter(isRefused).map((index) => index + 2), 4_502]
  expect(lines.map(({ line }) => line)).toEqual(expected)
  expect(lines.map(({ position }) => position)).toEqual(expected.map((_, index) => index))
  expect(await work(id, 'run')).toBe('done') // the message once more
  expect(await valuesOf(sourceId)).toHaveLength(4_050)
})

test('at most 10,000 refused rows are kept', async () => {
  const csv = `Number\n${'x\n'.repeat(10_500)}`
  const { id, state } = await started(csv, { columns: { Number: 'metadata:integer' } })
  expect(await work(id, 'run')).toBe('done')
  expect(await state()).toMatchObject({ refused: 10_500, refused_kept: 10_000 })
})

/** Copies of the part. A collection stops everything for a while. */
const MEASURED_EVERY = 3

test('memory does not grow with the file', async () => {
  const { id, state } = await started('Number,Text\n1,x\n', { columns: { Number: 'metadata:integer' } })
  const part = Buffer.from(`x,${'y'.repeat(2_000)}\n`.repeat(2_000))
  const [copies, warm] = [22, 6]
  let [sent, peak, warmPeak] = [0, 0, 0]
  // What is in use, because the process keeps memory of test files before.
  const measure = () => {
    Bun.gc(true)
    const { heapUsed, external } = process.memoryUsage()
    peak = Math.max(peak, heapUsed + external)
  }
  const endless: ObjectStore = {
    ...server.deps.storage,
    incoming: server.deps.storage.incoming,
    read: async () =>
      new ReadableStream<Uint8Array>({
        pull(controller) {
          if (sent === 0) controller.enqueue(Buffer.from('Number,Text\n'))
          if (sent % MEASURED_EVERY === 0) measure()
          if (sent === warm) warmPeak = peak
          if (sent++ < copies) controller.enqueue(new Uint8Array(part))
          else controller.close()
        },
      }),
  }
  expect(await work(id, 'run', undefined, endless)).toBe('done')
  expect(await state()).toMatchObject({ refused: copies * 2_000 })
  expect(warmPeak).toBeGreaterThan(0)
  // 64 MB of rows passed through since.
  expect(peak - warmPeak).toBeLessThan(48 * 1024 * 1024)
})

test('a cancelled import stores no further batch; what is stored stays', async () => {
  const csv = `Number\n${Array.from({ length: 2_500 }, (_, index) => `${index}\n`).join('')}`
  const { id, sourceId, state } = await started(csv, { columns: { Number: 'metadata:integer' } })
  expect(await work(id, 'run', 2)).toBe('Fenced')
  const { storage } = server.deps
  const cancelling: ObjectStore = {
    ...storage,
    incoming: storage.incoming,
    async read(key) {
      // The attempt has begun.
      const bytes = await storage.read(key)
      const cancelled = await tenant.user.delete(`${importsOf(sourceId)}/${id}`)
      expect(cancelled).toMatchObject({ status: 200, body: { phase: 'cancelled', imported: 1_000 } })
      return bytes
    },
  }
  expect(await work(id, 'run', undefined, cancelling)).toBe('done')
  expect(await state()).toMatchObject({ phase: 'cancelled', imported: 1_000 })
  expect(await valuesOf(sourceId)).toHaveLength(1_000)
})

test('an import that fails every time ends, and its file is deleted', async () => {
  const { id, state } = await started('Number\n1\n', {})
  const { giveUp } = feedbackImportActor({ storage: server.deps.storage, people: createPeople(server.deps) })
  if (giveUp === undefined) throw new Error('there is nothing that ends the import')
  const { message } = turnOf(id, 'run')
  expect(await transaction(server.deps.sql, (tx) => giveUp(message, tx, async () => {}, 'no disk'))).toBe(
    'handled',
  )
  expect(await state()).toMatchObject({ phase: 'failed', error_code: 'processing_failed' })
})
