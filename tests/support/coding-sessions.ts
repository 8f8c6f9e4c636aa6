/** Sessions of coding agents for tests. */
import { newId } from '../../src/platform/ids.ts'
import type { Client } from './server.ts'

export const SESSIONS = '/v3/rest/coding-sessions'

/** @returns the id of a new session */
export async function createCodingSession(client: Client, members: object = {}): Promise<string> {
  const input = { format: 'normalized', externalSessionId: newId(), events: [{ text: newId() }], ...members }
  const { status, body } = await client.post(SESSIONS, input)
  if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`)
  return body.sessionId
}
