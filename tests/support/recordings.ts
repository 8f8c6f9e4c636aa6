/** Helpers for tests of recordings: bodies, folders, fields, and the number of rows in the database. */
import type { Sql } from '../../src/platform/db/pool.ts'
import { canonicalSource, createField } from './metadata.ts'
import type { Client } from './server.ts'

export const RECORDINGS = '/v3/rest/recordings'

export const utterance = (startSec: number, endSec: number, speaker = 0, text = `text at ${startSec}`) => ({
  startSec,
  endSec,
  speaker,
  text,
})

/** Creates a recording and returns it. */
export async function createRecording(client: Client, body: object = {}) {
  const answer = await client.post(RECORDINGS, body)
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
  return answer.body
}

/** Creates a folder and returns its id. */
export async function createFolder(client: Client, shared = true): Promise<string> {
  const { status, body } = await client.post('/v3/rest/folders', { name: crypto.randomUUID(), shared })
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body.id
}

/** Creates a field of the canonical source and returns its id. */
export async function createCanonicalField(client: Client, type = 'string'): Promise<string> {
  return createField(client, await canonicalSource(client), { name: crypto.randomUUID(), type })
}

/** Every table that creating a recording writes to, except those of definitions and folders. */
export const RECORDING_TABLES = [
  'recording',
  'recording_folder',
  'recording_participant',
  'person',
  'metadata_record',
  'metadata_value',
  'transcript_utterance',
  'transcript_search',
  'actor_mailbox',
  'actor_message',
] as const

/** The number of rows of each table. */
export async function countRows(sql: Sql): Promise<Readonly<Record<string, number>>> {
  const counts = await Promise.all(
    RECORDING_TABLES.map(async (table) => {
      const [row] = await sql<{ count: number }[]>`select count(*)::int as count from ${sql(table)}`
      return [table, row?.count ?? -1] as const
    }),
  )
  return Object.fromEntries(counts)
}

/** The result of `countRows` if nothing was ever written. */
export const NOTHING = Object.fromEntries(RECORDING_TABLES.map((table) => [table, 0]))
