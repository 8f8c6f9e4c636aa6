/**
 * A chat with the Vercel AI SDK whose conversations Earshot hears. In your program, replace the mock model.
 *
 *     npm install @earshot/sdk ai
 *     EARSHOT_URL=… EARSHOT_AGENT_KEY=… EARSHOT_SECRET=… node ai-sdk.ts
 */
import { Earshot } from '@earshot/sdk'
import { earshotTelemetry } from '@earshot/sdk/ai-sdk'
import { generateText, type ModelMessage, registerTelemetry, streamText } from 'ai'
import { TURNS } from './conversation.ts'
import { mockModel } from './mock-model.ts'

const earshot = new Earshot()
// Once, at the start of the program:
registerTelemetry(earshotTelemetry(earshot))

const model = mockModel()
const messages: ModelMessage[] = []
for (const [turn, [question]] of TURNS.entries()) {
  messages.push({ role: 'user', content: question })
  const call = {
    model,
    messages,
    runtimeContext: { conversationId: 'ai-sdk' },
    telemetry: { includeRuntimeContext: { conversationId: true } },
  }
  if (turn % 2 === 0) {
    const { responseMessages } = await generateText(call)
    messages.push(...responseMessages)
  } else {
    const stream = streamText(call)
    for await (const _text of stream.textStream);
    messages.push(...(await stream.responseMessages))
  }
}
earshot.session('ai-sdk').end()
await earshot.close()
