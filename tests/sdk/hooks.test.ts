/**
 * The hooks of the TypeScript SDK, in its examples: each has a conversation of ten turns through the real framework with a mock model, and
 * the service ends with the session that the SDK makes of the same conversation by itself.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { resolve } from 'node:path'
import { TURNS } from '../../sdk/typescript/examples/conversation.ts'
import { Earshot } from '../../sdk/typescript/src/earshot.ts'
import { type Agent, openAgent } from '../support/agents.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const EXAMPLES = resolve(import.meta.dir, '../../sdk/typescript/examples')

let server: TestServer
let agent: Agent
beforeAll(async () => {
  server = await startTestServer()
  agent = await openAgent(server)
  const errors: unknown[] = []
  const earshot = new Earshot({ ...options(), onError: (error) => errors.push(error) })
  const session = earshot.session('direct')
  session.sync(TURNS.flatMap(([content, answer]) => [user(content), assistant(answer)]))
  session.end()
  await earshot.close()
  expect(errors).toEqual([])
})
afterAll(() => server.stop())

const user = (content: string) => ({ role: 'user', content })
const assistant = (content: string) => ({ role: 'assistant', content })
const options = () => ({ url: server.baseUrl, agentKey: agent.agentKey, secret: agent.agentSecret })

/** What the service has of a session, without the times. */
async function stored(externalSessionId: string, withIds = true) {
  return server.database.sql`
    select s.status, e.sequence, e.revision, e.type, case when ${withIds} then e.external_event_id end as id, e.body
    from agent_session s
    join agent_event e on e.session_id = s.id and e.organization_id = s.organization_id
    where s.organization_id = ${agent.organizationId} and s.external_session_id = ${externalSessionId}
    order by e.sequence`
}

describe('a conversation of ten turns ends as the same session as by the SDK directly', () => {
  for (const name of ['ai-sdk', 'openai-agents', 'langchain', 'mastra'])
    test(name, async () => {
      const { url, agentKey, secret } = options()
      const example = Bun.spawn([process.execPath, `${name}.ts`], {
        cwd: EXAMPLES,
        env: { ...process.env, EARSHOT_URL: url, EARSHOT_AGENT_KEY: agentKey, EARSHOT_SECRET: secret },
        stdout: 'pipe',
        stderr: 'pipe',
      })
      const output = await Promise.all([
        new Response(example.stdout).text(),
        new Response(example.stderr).text(),
      ])
      expect({ code: await example.exited, output }).toMatchObject({ code: 0 })
      // The memory of Mastra has ids of its own.
      const withIds = name !== 'mastra'
      expect(await stored(name, withIds)).toEqual((await stored('direct', withIds)) as never)
      expect(await stored(name)).toHaveLength(2 * TURNS.length)
    })
})
