/**
 * A chat with the OpenAI Agents SDK whose conversations Earshot hears. In your program, leave out `model`.
 *
 *     npm install @earshot/sdk @openai/agents zod
 *     EARSHOT_URL=… EARSHOT_AGENT_KEY=… EARSHOT_SECRET=… node openai-agents.ts
 */
import { Earshot } from '@earshot/sdk'
import { recordRun } from '@earshot/sdk/openai-agents'
import { Agent, type AgentInputItem, type Model, run, setTracingDisabled, Usage } from '@openai/agents'
import { nextAnswer, TURNS } from './conversation.ts'

setTracingDisabled(true)
const earshot = new Earshot()
const session = earshot.session('openai-agents')
const agent = new Agent({ name: 'Support', instructions: 'Help with invoices.', model: mockModel() })

let history: AgentInputItem[] = []
for (const [turn, [question]] of TURNS.entries()) {
  history.push({ role: 'user', content: question })
  if (turn % 2 === 0) {
    const result = await run(agent, history)
    recordRun(session, result)
    history = result.history
  } else {
    const result = await run(agent, history, { stream: true })
    recordRun(session, result)
    for await (const _event of result);
    history = result.history
  }
}
session.end()
await earshot.close()

function mockModel(): Model {
  const next = nextAnswer()
  const output = () => [
    {
      type: 'message' as const,
      role: 'assistant' as const,
      status: 'completed' as const,
      content: [{ type: 'output_text' as const, text: next() }],
    },
  ]
  return {
    getResponse: async () => ({ usage: new Usage(), output: output() }),
    async *getStreamedResponse() {
      const usage = { requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 }
      yield { type: 'response_done', response: { id: 'response', usage, output: output() } }
    },
  }
}
