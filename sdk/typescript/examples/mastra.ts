/**
 * A chat with a Mastra agent whose conversations Earshot hears. In your program, replace the mock model and the memory.
 *
 *     npm install @earshot/sdk @mastra/core
 *     EARSHOT_URL=… EARSHOT_AGENT_KEY=… EARSHOT_SECRET=… node mastra.ts
 */
import { Earshot } from '@earshot/sdk'
import { earshotProcessor } from '@earshot/sdk/mastra'
import { Agent, type AgentConfig } from '@mastra/core/agent'
import { MockMemory } from '@mastra/core/memory'
import { InMemoryStore } from '@mastra/core/storage'
import { TURNS } from './conversation.ts'
import { mockModel } from './mock-model.ts'

const earshot = new Earshot()
const agent = new Agent({
  id: 'support',
  name: 'Support',
  instructions: 'Help with invoices.',
  model: mockModel() as unknown as AgentConfig['model'],
  memory: new MockMemory({ storage: new InMemoryStore() }),
  outputProcessors: [earshotProcessor(earshot)],
})

// The memory has the history. It shows the agent the last messages only.
const memory = { thread: 'mastra', resource: 'ada' }
for (const [turn, [question]] of TURNS.entries()) {
  if (turn % 2 === 0) await agent.generate(question, { memory })
  else for await (const _text of (await agent.stream(question, { memory })).textStream);
}
earshot.session('mastra').end()
await earshot.close()
process.exit(0)
