/** Operators transcribe media that arrived before a transcriber was configured. */

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
  organizationId = JSON.parse((await earshot('org', 'create', 'Acme')).out).id
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
  return { out: await new Response(child.stdout).text(), code: await child.exited }
}

interface Stored {
  readonly transcript: string
  readonly source?: 'api' | 'automatic'
  readonly asset?: string
  readonly organization?: string
}

async function store({ transcript, source, asset = 'completed', organization = organizationId }: Stored) {
  const id = crypto.randomUUID()
  await database.sql`
    insert into recording (id, organization_id, source, asset_status, transcript_status, transcript_source)
    values (${id}, ${organization}, 'api', ${asset}, ${transcript}, ${source ?? null})`
  return id
}

const statusOf = async (id: string) =>
  (await database.sql`select transcript_status as status from recording where id = ${id}`)[0]?.status
const messagesOf = async (id: string) =>
  (await database.sql`select type from actor_message where key = ${`transcription:${id}`}`).map(
    ({ type }) => type,
  )

test('transcribes one recording whose transcription is waiting or has failed', async () => {
  for (const transcript of ['waiting', 'failed']) {
    const id = await store({ transcript })
    const { out, code } = await earshot('recording', 'transcribe', id)
    expect([code, JSON.parse(out)]).toEqual([0, { organizationId, recordingId: id, queued: true }])
    expect([await statusOf(id), await messagesOf(id)]).toEqual(['queued', ['transcribe']])
  }
})

test('refuses a recording with a transcript, a running transcription, or no media', async () => {
  const stored: readonly Stored[] = [
    { transcript: 'completed', source: 'api' },
    { transcript: 'completed', source: 'automatic' },
    { transcript: 'queued' },
    { transcript: 'processing' },
    { transcript: 'waiting', asset: 'queued' },
  ]
  for (const recording of stored) {
    const id = await store(recording)
    expect((await earshot('recording', 'transcribe', id)).code).toBe(1)
    expect([await statusOf(id), await messagesOf(id)]).toEqual([recording.transcript, []])
  }
  expect((await earshot('recording', 'transcribe', 'nonsense')).code).toBe(1)
})

test('transcribes all waiting recordings of one organization, and failed ones with --failed', async () => {
  await database.sql`delete from recording`
  const other = JSON.parse((await earshot('org', 'create', 'Other')).out).id
  const foreign = await store({ transcript: 'waiting', organization: other })
  const waiting = [await store({ transcript: 'waiting' }), await store({ transcript: 'waiting' })]
  const failed = await store({ transcript: 'failed' })
  const all = async (...flags: readonly string[]) =>
    JSON.parse((await earshot('recording', 'transcribe-all', '--org', organizationId, ...flags)).out).queued
  expect(await all()).toBe(2)
  expect(await Promise.all([...waiting, failed, foreign].map(statusOf))).toEqual([
    'queued',
    'queued',
    'failed',
    'waiting',
  ])
  expect([await all('--failed'), await statusOf(failed), await all('--failed')]).toEqual([1, 'queued', 0])
})
