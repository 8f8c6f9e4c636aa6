/**
 * Settings that apply before storage and hashing (specification, "Application settings"): content capture, and settings that
 * change between a request and its retry.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  assistantMessage,
  eventRows,
  feedbackOn,
  openAgent,
  revisionRows,
  sessionRow,
  userMessage,
} from '../support/agents.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.stop())

const events = (sessionId: string) => eventRows(server.database.sql, sessionId)

describe('content capture off', () => {
  const settings = { captureContent: false }
  const model = { provider: 'example', name: 'assistant-1' }
  const usage = { inputTokens: 1, outputTokens: 2, latencyMs: 3 }

  test('keeps ids, sequence, type, times, model and usage; drops content, comments and names', async () => {
    const agent = await openAgent(server, { settings })
    const { sessionId } = await agent.accept(
      [
        userMessage(1, { participantExternalId: 'ada' }),
        assistantMessage(2, { model, usage, content: [{ type: 'text', text: 'secret' }] }),
        feedbackOn('a2', 3, { comment: 'secret', labels: ['slow'] }),
      ],
      {
        participants: [
          {
            externalId: 'ada',
            displayName: 'secret',
            username: 'secret',
            email: 'secret@example.com',
            companyExternalId: 'acme',
            boundary: 'internal',
          },
        ],
        context: { surface: 'widget', properties: { note: 'secret' } },
      },
    )
    expect(await events(sessionId)).toMatchObject([
      { id: 'u1', sequence: 1, type: 'user_message', occurredAt: new Date('2026-01-02T09:00:00Z') },
      { id: 'a2', sequence: 2, type: 'assistant_message', body: { model, usage } },
      { id: 'f3', sequence: 3, type: 'feedback', body: { feedback: { targetEventExternalId: 'a2' } } },
    ])
    const session = await sessionRow(server.database.sql, sessionId)
    expect(session.participants).toEqual([
      { externalId: 'ada', companyExternalId: 'acme', boundary: 'internal' },
    ])
    expect(session.context).toEqual({ surface: 'widget' })
    const bodies = (await events(sessionId)).map((event) => event.body)
    expect(JSON.stringify([bodies, session])).not.toContain('secret')
    expect(bodies[0]).toEqual({ participantExternalId: 'ada' })
    expect(bodies[2]).toEqual({
      feedback: { targetEventExternalId: 'a2', rating: 'positive', labels: ['slow'] },
    })
  })

  test('dropped content does not count as a change: the retry of an edited text is a duplicate', async () => {
    const agent = await openAgent(server, { settings })
    await agent.accept([userMessage(1, { content: 'one' })])
    expect(await agent.accept([userMessage(1, { content: 'two' })])).toMatchObject({
      deduplicatedEventCount: 1,
    })
    await agent.refuse('event_changed', [userMessage(1, { model })])
  })

  test('switched off between a request and its retry: the retry is a duplicate, and the stored event stays', async () => {
    const agent = await openAgent(server)
    const { sessionId } = await agent.accept([userMessage(1)])
    await agent.configure(settings)
    expect(await agent.accept([userMessage(1)])).toMatchObject({ deduplicatedEventCount: 1 })
    expect((await events(sessionId))[0]?.body).toEqual({ content: 'How do I export my data?' })
    await agent.refuse('event_changed', [userMessage(1, { content: 'changed' })])
    await agent.accept([userMessage(1, { revision: 2 })])
    expect((await events(sessionId))[0]?.body).toEqual({})
  })
})

describe('settings versions', () => {
  const redact = (...redactedPatterns: readonly string[]) => ({ redactedPatterns: [...redactedPatterns] })

  test('each event and each revision keeps the version that it was sanitised under', async () => {
    const agent = await openAgent(server)
    const { sessionId } = await agent.accept([userMessage(1), userMessage(2)])
    await agent.configure(redact('export'))
    await agent.accept([userMessage(2, { revision: 2 }), userMessage(3)])
    expect(await events(sessionId)).toMatchObject([
      { id: 'u1', settingsVersion: 1, body: { content: 'How do I export my data?' } },
      { id: 'u2', settingsVersion: 2, body: { content: 'How do I [redacted] my data?' } },
      { id: 'u3', settingsVersion: 2 },
    ])
    expect(await revisionRows(server.database.sql, sessionId)).toMatchObject([
      { id: 'u2', revision: 1, settingsVersion: 1 },
    ])
  })

  test('a redaction rule that changed between a request and its retry makes no conflict', async () => {
    const agent = await openAgent(server, { settings: redact('data') })
    await agent.accept([userMessage(1), userMessage(2)])
    for (const change of [redact('export'), redact(), redact('How', 'my'), { redactedFields: ['content'] }]) {
      await agent.configure(change)
      expect(await agent.accept([userMessage(1), userMessage(2)])).toMatchObject({
        acceptedEventCount: 0,
        deduplicatedEventCount: 2,
        revisedEventCount: 0,
      })
    }
  })

  test('a change that the earlier rules did not hide is still a conflict', async () => {
    const agent = await openAgent(server, { settings: redact('data') })
    await agent.accept([userMessage(1)])
    await agent.configure(redact('.+'))
    await agent.refuse('event_changed', [userMessage(1, { content: 'How do I import my data?' })])
  })

  test('a superseded revision is judged under its own settings version', async () => {
    const agent = await openAgent(server)
    await agent.accept([userMessage(1)])
    await agent.configure(redact('export'))
    await agent.accept([userMessage(1, { revision: 2, content: 'I export' })])
    await agent.configure(redact('How'))
    expect(await agent.accept([userMessage(1)])).toMatchObject({ deduplicatedEventCount: 1 })
    expect(await agent.accept([userMessage(1, { revision: 2, content: 'I export' })])).toMatchObject({
      deduplicatedEventCount: 1,
    })
    await agent.refuse('event_changed', [userMessage(1, { content: 'How else?' })])
  })

  test('a change takes effect with the next request', async () => {
    const agent = await openAgent(server)
    for (let round = 0; round < 5; round++) {
      await agent.configure(redact(`round${round}`))
      const { sessionId } = await agent.accept([userMessage(round, { content: `a round${round} b` })])
      expect((await events(sessionId))[round]?.body).toEqual({ content: 'a [redacted] b' })
    }
  })
})
