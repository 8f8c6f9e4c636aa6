/** A model of the Vercel AI SDK that answers from the made-up conversation. */
import { simulateReadableStream } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { nextAnswer } from './conversation.ts'

export function mockModel(): MockLanguageModelV4 {
  const next = nextAnswer()
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  }
  const finish = { finishReason: { unified: 'stop', raw: 'stop' }, usage } as const
  return new MockLanguageModelV4({
    doGenerate: async () => ({
      content: [
        { type: 'reasoning', text: 'The user wants help.' },
        { type: 'text', text: next() },
      ],
      ...finish,
      warnings: [],
    }),
    doStream: async () => ({
      stream: simulateReadableStream({
        chunks: [
          { type: 'stream-start' as const, warnings: [] },
          { type: 'text-start' as const, id: '1' },
          ...next()
            .split(/(?<= )/)
            .map((delta) => ({ type: 'text-delta' as const, id: '1', delta })),
          { type: 'text-end' as const, id: '1' },
          { type: 'finish' as const, ...finish },
        ],
      }),
    }),
  })
}
