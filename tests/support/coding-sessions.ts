/** Sessions of coding agents for tests. */
import { newId } from '../../src/platform/ids.ts'
import { eventually } from './eventually.ts'
import type { Client } from './server.ts'

export const SESSIONS = '/v3/rest/coding-sessions'

/** @returns the id of a new session */
export async function createCodingSession(client: Client, members: object = {}): Promise<string> {
  const input = { format: 'normalized', externalSessionId: newId(), events: [{ text: newId() }], ...members }
  const { status, body } = await client.post(SESSIONS, input)
  if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`)
  return body.sessionId
}

/** @returns the id of an upload that waits for its bytes */
export async function createSessionUpload(client: Client): Promise<string> {
  const { body } = await client.post(`${SESSIONS}/uploads`, { fileName: 'session.jsonl', fileSize: 100 })
  return body.uploadId
}

/** Uploads a session file. @returns the id of the upload */
export async function sendSessionFile(
  client: Client,
  content: string | Uint8Array,
  members: object = {},
): Promise<string> {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
  const created = await client.post(`${SESSIONS}/uploads`, {
    fileName: 'session.jsonl',
    fileSize: bytes.byteLength,
    ...members,
  })
  if (created.status !== 201) throw new Error(`${created.status} ${JSON.stringify(created.body)}`)
  const { status } = await fetch(created.body.uploadUrl, { method: 'PUT', body: new Uint8Array(bytes) })
  if (status !== 201) throw new Error(`the bytes: ${status}`)
  return created.body.uploadId
}

/** Uploads a session file, and waits until it was read. @returns the upload */
export async function uploadSessionFile(client: Client, content: string | Uint8Array, members: object = {}) {
  const id = await sendSessionFile(client, content, members)
  return eventually(async () => {
    const { body } = await client.get(`${SESSIONS}/uploads/${id}`)
    if (body.phase === 'processing') throw new Error('the file is being read')
    return body
  })
}
