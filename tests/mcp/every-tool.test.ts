/** Every tool, called by the official clients of both generations, over HTTP and by `earshot mcp`. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../src/platform/ids.ts'
import { uploadSessionFile } from '../support/coding-sessions.ts'
import { eventually } from '../support/eventually.ts'
import { createRecord, createSource, field, putPerson } from '../support/feedback.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { connectByStdio, connectTo, GENERATIONS, mcpProcess, type ToolClient } from './support.ts'

let server: TestServer
let tenant: TestTenant
beforeAll(async () => {
  server = await startTestServer({ actors: true })
  tenant = await server.createTenant()
})
afterAll(() => server?.stop())

const TOOLS = [
  'ask-customers',
  'associate-agent-session',
  'create-project',
  'get-insights',
  'get-person-timeline',
  'get-project',
  'list-associated-agent-sessions',
  'search-customer-voice',
  'upload-agent-session',
]

const TRANSPORTS = {
  http: (generation) => {
    const headers = { authorization: `Bearer ${tenant.userToken}` }
    return connectTo(generation, { url: `${server.baseUrl}/mcp`, headers }, 'accept')
  },
  stdio: (generation) => {
    const env = { EARSHOT_URL: server.baseUrl, EARSHOT_USER_TOKEN: tenant.userToken }
    return connectByStdio(generation, mcpProcess(env), 'accept')
  },
} satisfies Record<string, (generation: (typeof GENERATIONS)[number]) => Promise<ToolClient>>

/** Creates a person with one feedback record that holds `word`. @returns the id of the person */
async function createFeedback(word: string): Promise<string> {
  const client = server.as({ apiKey: tenant.apiKey })
  const { id, uuid } = await putPerson(client, { email: `${newId()}@example.com` })
  await createRecord(client, await createSource(client), { person_id: id, fields: [field({ value: word })] })
  return uuid
}

describe.each(GENERATIONS)('a client of the %s generation', (generation) => {
  test.each(['http', 'stdio'] as const)(
    'calls each of the nine tools by %s',
    async (transport) => {
      const client = await TRANSPORTS[transport](generation)
      const called = new Set<string>()
      const call = async (name: string, args: object) => {
        const answer = await client.call(name, args)
        expect([name, answer.isError, answer.isError ? answer.text : '']).toEqual([name, false, ''])
        called.add(name)
        return answer.structured
      }
      try {
        expect((await client.tools()).map(({ name }) => name).toSorted()).toEqual(TOOLS)
        const name = newId()
        const { publicId } = await call('create-project', { name })
        expect(await call('get-project', { publicId })).toMatchObject({ publicId, name })

        const events = [{ id: '1', role: 'user', text: 'Fix the build.' }]
        const session = { format: 'normalized', externalSessionId: newId() }
        const { sessionId } = await call('upload-agent-session', { ...session, events })
        const lines = `${JSON.stringify(events[0])}\n${JSON.stringify({ id: '2', role: 'assistant', text: 'Done.' })}\n`
        const { uploadId } = await uploadSessionFile(
          server.as({ userToken: tenant.userToken }),
          lines,
          session,
        )
        const uploaded = await call('upload-agent-session', { ...session, uploadId })
        expect(uploaded).toMatchObject({ sessionId, messages: 2 })

        const place = { resourceType: 'project', publicId }
        const associated = await call('associate-agent-session', { ...place, sessionId })
        expect(associated).toEqual({ associated: true, alreadyAssociated: false })
        const { data } = await call('list-associated-agent-sessions', place)
        expect(data).toMatchObject([{ sessionId }])

        const word = `word${newId().replaceAll('-', '')}`
        const personId = await createFeedback(word)
        await eventually(async () => {
          const found = await call('search-customer-voice', { query: word })
          expect(found.data).toMatchObject([{ channel: 'feedback', text: expect.stringContaining(word) }])
        })
        const { data: counts } = await call('get-insights', { metric: 'feedback', by: ['day'] })
        expect(counts.length).toBeGreaterThan(0)
        const { passages, answerStatus } = await call('ask-customers', { question: `What is ${word}?` })
        expect([passages.length > 0, answerStatus]).toEqual([true, 'no_model_server'])
        const { data: timeline } = await call('get-person-timeline', { personId })
        expect(timeline).toHaveLength(1)
        expect([...called].toSorted()).toEqual(TOOLS)
        // One question for each call that changes something.
        expect(client.asked).toHaveLength(4)
      } finally {
        await client.close()
      }
    },
    60_000,
  )
})
