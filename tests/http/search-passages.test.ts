/** `search.passages`: the passages that answer a question, for other features. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createConversations } from '../../src/hear/agents/reads/service.ts'
import { createSearch } from '../../src/understand/search/service.ts'
import { QUICK } from '../support/actors.ts'
import { openAgent, userMessage } from '../support/agents.ts'
import { createRecord, createSource, field } from '../support/feedback.ts'
import { createRecording, utterance } from '../support/recordings.ts'
import { until } from '../support/search.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ actors: QUICK })
}, 300_000)
afterAll(() => server?.stop())

test('passages say where they are, have their whole text, and can be those of one agent', async () => {
  const agent = await openAgent(server)
  const { tenant } = agent
  const other = await openAgent(server, { tenant })
  const key = server.as({ apiKey: tenant.apiKey })
  const { sessionId } = await agent.accept([userMessage(1, { content: 'The telescope\nis <late>.' })])
  await other.accept([userMessage(1, { content: 'Another telescope' })])
  const record = await createRecord(key, await createSource(key), {
    fields: [field({ name: 'wish', value: 'A larger telescope' })],
  })
  const call = await createRecording(key, { transcript: [utterance(3, 5, 0, 'Our telescope broke.')] })
  await until(key, 'telescope', 4)
  const viewer = { kind: 'organization', organizationId: tenant.organizationId } as const
  const { folders } = server.features
  const search = createSearch({
    ...server.deps,
    folders,
    conversations: createConversations({ ...server.deps, folders }),
  })
  const asked = (more: object = {}) => search.passages(viewer, { q: 'telescope', limit: 10, ...more })
  const { passages, match } = await asked()
  expect(match).toBe('all')
  expect(passages).toHaveLength(4)
  const of = (id: string) => passages.find((one) => one.id === id)
  expect(of(sessionId)).toMatchObject({
    channel: 'conversation',
    messageId: 'u1',
    field: null,
    text: 'The telescope is <late>.',
  })
  expect(of(String(record.id))).toMatchObject({ channel: 'feedback', messageId: null, field: 'wish' })
  expect(of(call.id)).toMatchObject({ channel: 'recording', startSec: 3, text: 'Our telescope broke.' })
  const own = await asked({ agentKey: agent.agentKey })
  expect(own.passages.map(({ id }) => id)).toEqual([sessionId])
  expect((await asked({ limit: 2 })).passages).toHaveLength(2)
  const stranger = await server.createTenant()
  const elsewhere = await search.passages(
    { kind: 'organization', organizationId: stranger.organizationId },
    { q: 'telescope', limit: 10, agentKey: agent.agentKey },
  )
  expect(elsewhere.passages).toEqual([])
})
