/** What the hooks of the TypeScript SDK make of calls that are not plain: tools, steps in between, failures, and calls beside a conversation. */
import { describe, expect, test } from 'bun:test'
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { RunnableLambda } from '@langchain/core/runnables'
import { FakeListChatModel } from '@langchain/core/utils/testing'
import { generateText, isStepCount, jsonSchema, streamText, tool } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { earshotTelemetry } from '../../sdk/typescript/src/hooks/ai-sdk.ts'
import { earshotCallbacks, SKIP } from '../../sdk/typescript/src/hooks/langchain.ts'
import { earshotProcessor } from '../../sdk/typescript/src/hooks/mastra.ts'
import { recordRun } from '../../sdk/typescript/src/hooks/openai-agents.ts'
import { Running, type SessionOf } from '../../sdk/typescript/src/hooks/session-of.ts'
import { type Message, spokenOf } from '../../sdk/typescript/src/messages.rules.ts'

/** A client that notes what each session is given. */
function recorder() {
  const calls: { session: string; said: readonly string[]; ids: readonly unknown[] }[] = []
  return {
    calls,
    session: (session: string) => ({
      sync(messages: readonly Message[]) {
        const spoken = messages.map(spokenOf).filter((one) => one !== null)
        calls.push({ session, said: spoken.map(({ text }) => text), ids: spoken.map(({ id }) => id) })
      },
    }),
  }
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}
const ended = (reason: 'stop' | 'tool-calls') => ({
  finishReason: { unified: reason, raw: reason },
  usage,
  warnings: [],
})
const question = { role: 'user', content: 'Where is my invoice?' } as const

describe('Vercel AI SDK', () => {
  const call = (earshot: ReturnType<typeof recorder>, sessionOf?: SessionOf) => ({
    messages: [question],
    runtimeContext: { conversationId: 'c1' },
    telemetry: {
      includeRuntimeContext: { conversationId: true as const },
      integrations: earshotTelemetry(earshot, sessionOf),
    },
  })

  test('the texts of every step count, what the model thinks and its tools do not', async () => {
    const earshot = recorder()
    const model = new MockLanguageModelV4({
      doGenerate: [
        {
          content: [
            { type: 'reasoning', text: 'I must look.' },
            { type: 'text', text: 'I look it up.' },
            { type: 'tool-call', toolCallId: 't1', toolName: 'find', input: '{}' },
          ],
          ...ended('tool-calls'),
        },
        { content: [{ type: 'text', text: 'Under Invoices.' }], ...ended('stop') },
      ],
    })
    const find = tool({
      description: 'Finds an invoice.',
      inputSchema: jsonSchema({ type: 'object', properties: {} }),
      execute: async () => 'invoice 7',
    })
    await generateText({ ...call(earshot), model, tools: { find }, stopWhen: isStepCount(3) })
    expect(earshot.calls).toEqual([
      {
        session: 'c1',
        said: ['Where is my invoice?', 'I look it up.', 'Under Invoices.'],
        ids: [null, null, null],
      },
    ])
  })

  test('the user is heard where the model fails', async () => {
    const earshot = recorder()
    const model = new MockLanguageModelV4({
      doGenerate: async () => Promise.reject(new Error('overloaded')),
      doStream: async () => Promise.reject(new Error('overloaded')),
    })
    await generateText({ ...call(earshot), model, maxRetries: 0 }).catch(() => null)
    const stream = streamText({ ...call(earshot), model, maxRetries: 0, onError() {} })
    await stream.consumeStream()
    const heard = { session: 'c1', said: ['Where is my invoice?'], ids: [null] }
    expect(earshot.calls).toEqual([heard, heard])
  })

  test('the application names the session, or says that there is none; its error does no harm', async () => {
    const earshot = recorder()
    const model = new MockLanguageModelV4({
      doGenerate: async () => ({ content: [{ type: 'text', text: 'Hello.' }], ...ended('stop') }),
    })
    const fails: SessionOf = () => {
      throw new Error('no')
    }
    await generateText({ ...call(earshot, () => null), model })
    expect((await generateText({ ...call(earshot, fails), model })).text).toBe('Hello.')
    expect(earshot.calls).toEqual([])
    await generateText({ ...call(earshot, () => ({ id: 'named', agentVersion: '7' })), model })
    expect(earshot.calls).toMatchObject([{ session: 'named' }])
  })
})

describe('OpenAI Agents SDK', () => {
  const history = [
    { type: 'message', role: 'user', content: 'Where?' },
    { type: 'reasoning', content: [{ type: 'input_text', text: 'Hm.' }] },
    { type: 'function_call', name: 'find', arguments: '{}' },
    {
      type: 'message',
      role: 'assistant',
      id: 'FAKE_ID',
      content: [{ type: 'output_text', text: 'Under Invoices.' }],
    },
  ]

  test('messages count without the ids of the model, whose providers repeat them', () => {
    const earshot = recorder()
    recordRun(earshot.session('c1'), { history })
    expect(earshot.calls).toEqual([{ session: 'c1', said: ['Where?', 'Under Invoices.'], ids: [null, null] }])
  })

  test('a streamed run counts when it is complete, also where it fails, and a run without a history does no harm', async () => {
    const earshot = recorder()
    const { promise, reject } = Promise.withResolvers<void>()
    recordRun(earshot.session('c1'), { history: history.slice(0, 1), completed: promise })
    expect(earshot.calls).toEqual([])
    reject(new Error('overloaded'))
    await promise.catch(() => null)
    expect(earshot.calls).toMatchObject([{ said: ['Where?'] }])
    recordRun(earshot.session('c1'), {
      get history(): never {
        throw new Error('not finished')
      },
    })
    expect(earshot.calls).toHaveLength(1)
  })
})

describe('LangChain', () => {
  const run = (earshot: ReturnType<typeof recorder>) => ({
    callbacks: [earshotCallbacks(earshot)],
    metadata: { conversationId: 'c1' },
  })
  const asked = [new HumanMessage('Where?')]
  const model = (...responses: string[]) => new FakeListChatModel({ responses })

  test('a model that is called by itself', async () => {
    const earshot = recorder()
    await model('There.').invoke(asked, run(earshot))
    expect(earshot.calls).toEqual([{ session: 'c1', said: ['Where?', 'There.'], ids: [null, null] }])
  })

  test('of several calls in a run the last one counts, but none with the tag', async () => {
    const earshot = recorder()
    const chain = RunnableLambda.from(async (messages: BaseMessage[], config) => {
      await model('a draft').invoke(messages, config)
      const answer = await model('There.').invoke(messages, config)
      await model('a title').invoke('Write a title.', { ...config, tags: [SKIP] })
      return answer.text
    })
    await chain.invoke(asked, run(earshot))
    expect(earshot.calls).toMatchObject([{ said: ['Where?', 'There.'] }])
  })

  test('the state of a graph counts as a whole', async () => {
    const earshot = recorder()
    const earlier = [new HumanMessage('Hello'), new AIMessage('Hello!')]
    const called = new AIMessage({ content: '', tool_calls: [{ id: 't', name: 'find', args: {} }] })
    const graph = RunnableLambda.from(async ({ messages }: { messages: BaseMessage[] }) => ({
      messages: [
        ...earlier,
        ...messages,
        called,
        new ToolMessage({ content: '7', tool_call_id: 't' }),
        new AIMessage('There.'),
      ],
    }))
    await graph.invoke({ messages: asked }, { ...run(earshot), metadata: { thread_id: 't1' } })
    expect(earshot.calls).toMatchObject([{ session: 't1', said: ['Hello', 'Hello!', 'Where?', 'There.'] }])
  })

  test('the user is heard where the model fails; without a session nobody is', async () => {
    const earshot = recorder()
    const broken = model('x')
    broken._generate = () => Promise.reject(new Error('overloaded'))
    await broken.invoke(asked, run(earshot)).catch(() => null)
    expect(earshot.calls).toMatchObject([{ said: ['Where?'] }])
    await model('There.').invoke(asked, { callbacks: run(earshot).callbacks })
    expect(earshot.calls).toHaveLength(1)
  })
})

describe('Mastra', () => {
  const stored = (id: string, role: string, text: string) => ({
    id,
    role,
    threadId: 't1',
    content: {
      parts: [
        { type: 'reasoning', text: 'Hm.' },
        { type: 'text', text },
      ],
    },
  })
  const output = (context: Readonly<Record<string, unknown>>) => ({
    messages: ['the answer'],
    messageList: {
      get: { all: { db: () => [stored('m1', 'user', 'Where?'), stored('m2', 'assistant', 'There.')] } },
    },
    requestContext: new Map(Object.entries(context)),
  })

  test('ids are kept only where a memory keeps them', () => {
    const earshot = recorder()
    const processor = earshotProcessor(earshot)
    expect(processor.processOutputResult(output({ MastraMemory: {} }))).toEqual(['the answer'])
    processor.processOutputResult(output({ conversationId: 'c1' }))
    expect(earshot.calls).toEqual([
      { session: 't1', said: ['Where?', 'There.'], ids: ['m1', 'm2'] },
      { session: 'c1', said: ['Where?', 'There.'], ids: [null, null] },
    ])
  })

  test('the answer arrives, whatever Mastra has changed', () => {
    const changed = { messages: ['the answer'], messageList: {} }
    expect(earshotProcessor(recorder()).processOutputResult(changed as never)).toEqual(['the answer'])
  })
})

test('calls that never end are forgotten, the oldest first', () => {
  const running = new Running<number>()
  for (let call = 0; call < 1_001; call++) running.start(String(call), call)
  expect([running.get('0'), running.get('1'), running.end('1000'), running.end('1000')]).toEqual([
    null,
    1,
    1000,
    null,
  ])
})
