/** Operators retry the processing of media that failed for reasons outside the file. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { EARSHOT } from '../support/executable.ts'

setDefaultTimeout(300_000)

let database: TestDatabase
let dataDir: string
let organizationId: string

beforeAll(async () => {
  database = await createTestDatabase()
  dataDir = mkdtempSync(join(tmpdir(), 'earshot-cli-'))
  organizationId = (await earshot('org', 'create', 'Acme')).out.id
})
afterAll(async () => {
  await database.drop()
  rmSync(dataDir, { recursive: true })
})

async function earshot(...args: readonly string[]) {
  const child = Bun.spawn([...EARSHOT, ...args, '--json'], {
    cwd: resolve(import.meta.dir, '../..'),
    env: { PATH: process.env.PATH ?? '', DATA_DIR: dataDir, DATABASE_URL: database.url },
    stdin: 'ignore',
    stderr: 'ignore',
  })
  return { out: JSON.parse(await new Response(child.stdout).text()), code: await child.exited }
}

/** A recording with that asset, and an upload of it in that phase. */
async function store(asset: string | null, phase: string | null, organization = organizationId) {
  const id = crypto.randomUUID()
  await database.sql`
    insert into recording (id, organization_id, source, asset_status, transcript_status)
    values (${id}, ${organization}, 'api', ${asset}, 'waiting')`
  if (phase === null) return id
  await database.sql`
    insert into upload (
      id, organization_id, recording_id, phase, bytes_kept, file_name, file_size, source, token_hash, object_key,
      expires_at
    )
    values (
      ${crypto.randomUUID()}, ${organization}, ${id}, ${phase}, ${phase === 'failed'}, 'call.mp4', 10, 'api',
      ${crypto.getRandomValues(new Uint8Array(32))}, ${crypto.randomUUID()}, now()
    )`
  return id
}

const messagesOf = async (id: string) =>
  (await database.sql`select type from actor_message where key = ${`recording:${id}`}`).map(
    ({ type }) => type,
  )

test('retries one recording whose bytes were kept, without a new upload', async () => {
  const id = await store('failed', 'failed')
  const first = await earshot('recording', 'retry', id)
  expect(first).toEqual({ code: 0, out: { organizationId, recordingId: id, queued: true } })
  const second = await earshot('recording', 'retry', id)
  expect(second).toEqual({ code: 0, out: { organizationId, recordingId: id, queued: false } })
  expect(await messagesOf(id)).toEqual(['process_upload'])
})

test('a refused retry names the reason', async () => {
  const refused = [
    [await store('completed', 'ready'), 'media_ingestion_active', 'is already processed'],
    [await store('uploading', 'waiting'), 'media_ingestion_active', 'waits for its media'],
    [await store('failed', 'cancelled'), 'upload_closed', 'Upload it again'],
    [await store(null, null), 'upload_closed', 'Upload it again'],
    [crypto.randomUUID(), 'recording_not_found', 'no such recording'],
    ['nonsense', 'recording_not_found', 'no such recording'],
  ] as const
  for (const [id, code, message] of refused) {
    const answer = await earshot('recording', 'retry', id)
    expect([answer.code, answer.out.error.code]).toEqual([1, code])
    expect(answer.out.error.message).toContain(message)
    expect(await messagesOf(id)).toEqual([])
  }
})

test('retries all retryable failures of one organization', async () => {
  const other = (await earshot('org', 'create', 'Other')).out.id
  const foreign = await store('failed', 'failed', other)
  const kept = [await store('failed', 'failed'), await store('failed', 'failed')]
  const lost = await store('failed', 'cancelled')
  const all = async () => (await earshot('recording', 'retry-all', '--org', organizationId)).out.queued
  expect([await all(), await all()]).toEqual([2, 0])
  for (const id of kept) expect(await messagesOf(id)).toEqual(['process_upload'])
  for (const id of [foreign, lost]) expect(await messagesOf(id)).toEqual([])
})
