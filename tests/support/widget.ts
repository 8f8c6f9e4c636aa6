/** A publishable key, and a page that uses it. */
import { type Agent, openAgent } from './agents.ts'
import type { Answer, TestServer } from './server.ts'

export const ORIGIN = 'https://shop.example'

export interface PageOfAgent {
  readonly agent: Agent
  readonly key: string
  readonly keyId: string
  /** Sends like the widget. */
  send(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
  feedback(body: object): Promise<Answer>
}

export const keysPath = (applicationId: string) =>
  `/v3/rest/agent-applications/${applicationId}/publishable-keys`

export async function openPage(
  server: TestServer,
  origins: readonly string[] = [ORIGIN],
): Promise<PageOfAgent> {
  const agent = await openAgent(server)
  const { apiKey } = agent.tenant
  const created = await server.as({ apiKey }).post(keysPath(agent.applicationId), { name: 'Shop', origins })
  if (created.status !== 201) throw new Error(`no publishable key: ${JSON.stringify(created.body)}`)
  const { id, key } = created.body
  const page = server.as({ publishableKey: key })
  const send: PageOfAgent['send'] = (path, body, headers = {}) =>
    page.post(`/widget/${path}`, body, { origin: ORIGIN, ...headers })
  return { agent, key, keyId: id, send, feedback: (body) => send('feedback', body) }
}
