/** Reading a session file survives the end of its process at any point: nothing is lost, nothing is doubled. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LongTurn } from '../../src/actors/types.ts'
import { Fenced } from '../../src/actors/types.ts'
import { processUpload } from '../../src/hear/coding-sessions/process.ts'
import { createReadWork } from '../../src/hear/coding-sessions/read.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import type { ObjectStore } from '../../src/platform/storage/storage.ts'
import { SESSIONS } from '../support/coding-sessions.ts'
import { writeLongSession } from '../support/long-session.ts'
import { createTenant, type Tenant } from '../support/metadata.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

setDefaultTimeout(300_000)

const MIB = 1024 * 1024
const readWork = createReadWork()

let server: TestServer
let tenant: Tenant
let folder: string
beforeAll(async () => {
  server = await startTestServer()
  tenant = await createTenant(server)
  folder = mkdtempSync(join(tmpdir(), 'earshot-file-'))
})
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true })
})

async function upload(bytes: Uint8Array): Promise<string> {
  const file = { fileName: 'a.jsonl', fileSize: bytes.length }
  const { body } = await tenant.user.post(`${SESSIONS}/uploads`, file)
  expect((await fetch(body.uploadUrl, { method: 'PUT', body: new Uint8Array(bytes) })).status).toBe(201)
  return body.uploadId
}

const stateOf = async (uploadId: string) => (await tenant.user.get(`${SESSIONS}/uploads/${uploadId}`)).body

/** A turn as the runtime makes it, whose worker loses the actor after so many steps. */
function turnOf(uploadId: string, steps = Number.POSITIVE_INFINITY): LongTurn {
  let left = steps
  const { sql, log } = server.deps
  const step: LongTurn['step'] = (work) => {
    if (left-- <= 0) return Promise.reject(new Fenced('the worker was killed'))
    return transaction(sql, (tx) => work(tx, async () => {}))
  }
  const message = {
    key: `coding-session:${uploadId}`,
    id: uploadId,
    seq: 1,
    type: 'process_upload',
    payload: {},
    attempts: 0,
  } as const
  const { signal } = new AbortController()
  return { message, organization: tenant.organizationId, signal, log, step, finish: step, read: step }
}

const process = (uploadId: string, steps?: number, storage: ObjectStore = server.deps.storage) =>
  processUpload({ ...server.deps, storage, readWork, secretRules: async () => [] })(
    turnOf(uploadId, steps),
  ).then(
    () => 'done',
    (error: Error) => error.name,
  )

test('an attempt that ends after any number of batches is continued without loss or repetition', async () => {
  const path = join(folder, 'long.jsonl')
  const turns = writeLongSession(path, 20 * MIB)
  const uploadId = await upload(readFileSync(path))
  const done: number[] = []
  let outcome = ''
  // One more batch with each attempt; the first step of an attempt begins it.
  for (let steps = 0; steps < 50 && outcome !== 'done'; steps++) {
    outcome = await process(uploadId, 2 + (steps % 2))
    done.push((await stateOf(uploadId)).processedBytes)
  }
  expect(outcome).toBe('done')
  expect(done.length).toBeGreaterThan(2)
  expect(done).toEqual(done.toSorted((a, b) => a - b))
  const { phase, session } = await stateOf(uploadId)
  expect(phase).toBe('ready')
  expect(session).toMatchObject({
    eventCount: 3 * turns,
    deduplicatedEventCount: 0,
    messages: 2 * turns,
    toolCalls: turns,
    fileEdits: turns,
    usage: { inputTokens: 10 * turns, outputTokens: 3 * turns },
  })
  expect(await process(uploadId)).toBe('done') // the message once more
  expect((await stateOf(uploadId)).session).toEqual(session)
})

test('memory does not grow with the file', async () => {
  const { storage } = server.deps
  const path = join(folder, 'part.jsonl')
  writeLongSession(path, 2 * MIB, 'repeated')
  const part = readFileSync(path)
  const uploadId = await upload(part)
  const copies = 90
  let [sent, most] = [0, 0]
  const endless: ObjectStore = {
    ...storage,
    incoming: storage.incoming,
    read: async () =>
      new ReadableStream<Uint8Array>({
        pull(controller) {
          if (sent % 15 === 0) most = Math.max(most, memoryInUse())
          if (sent++ < copies) controller.enqueue(new Uint8Array(part))
          else controller.close()
        },
      }),
  }
  const before = memoryInUse()
  expect(await process(uploadId, undefined, endless)).toBe('done')
  expect(sent).toBe(copies + 1)
  expect(most - before).toBeLessThan(40 * MIB) // of 180 MiB that were read
})

/** Bytes of objects and buffers that are not garbage. The memory of the process would count what other tests left, too. */
function memoryInUse(): number {
  Bun.gc(true)
  const { heapUsed, external } = globalThis.process.memoryUsage()
  return Math.max(heapUsed, external)
}
