/** Imports of CSV files for tests. */
import type { Sql } from '../../src/platform/db/pool.ts'
import { eventually } from './eventually.ts'
import type { Client } from './server.ts'

export const importsOf = (sourceId: number) => `/v3/rest/feedback-sources/${sourceId}/imports`

/** As in the example of the operations. */
const HEADER = ['Ticket', 'Requester', 'Created', 'Comment', 'Score', 'Internal note']

/** @returns the id of an import that waits for its mapping; no file stands behind it */
export async function createImport(client: Client, sourceId: number, sql: Sql): Promise<string> {
  const { status, body } = await client.post(importsOf(sourceId), { file_name: 'a.csv', file_size: 100 })
  if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`)
  await sql`update upload set phase = 'processing' where id = ${body.id}`
  await sql`
    update feedback_import set header = ${JSON.stringify(HEADER)}::text::jsonb, sample = '[]'
    where upload_id = ${body.id}`
  return body.id
}

/** Creates an import and sends its bytes. @returns the id */
export async function uploadCsv(
  client: Client,
  sourceId: number,
  content: string | Uint8Array,
  members = {},
) {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : new Uint8Array(content)
  const file = { file_name: 'tickets.csv', file_size: bytes.byteLength, ...members }
  const { status, body } = await client.post(importsOf(sourceId), file)
  if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`)
  const sent = await fetch(body.upload_url, { method: 'PUT', body: bytes })
  if (sent.status !== 201) throw new Error(`the bytes: ${sent.status}`)
  return body.id as string
}

/** Waits until the import has one of the phases. */
export function importIn(client: Client, sourceId: number, id: string, ...phases: readonly string[]) {
  return eventually(
    async () => {
      const { body } = await client.get(`${importsOf(sourceId)}/${id}`)
      if (!phases.includes(body.phase)) throw new Error(`the import is ${body.phase} (${body.error_code})`)
      return body
    },
    { deadlineMs: 100_000 },
  )
}
