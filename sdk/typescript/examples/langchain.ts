/**
 * A chat with LangChain whose conversations Earshot hears. In your program, replace the fake model.
 *
 *     npm install @earshot/sdk @langchain/core
 *     EARSHOT_URL=… EARSHOT_AGENT_KEY=… EARSHOT_SECRET=… node langchain.ts
 */
import { Earshot } from '@earshot/sdk'
import { earshotCallbacks, SKIP } from '@earshot/sdk/langchain'
import { AIMessage, type BaseMessage, HumanMessage, SystemMessage } from '@langchain/core/messages'
import { StringOutputParser } from '@langchain/core/output_parsers'
import { RunnableLambda } from '@langchain/core/runnables'
import { FakeListChatModel } from '@langchain/core/utils/testing'
import { TURNS } from './conversation.ts'

const earshot = new Earshot()
const callbacks = [earshotCallbacks(earshot)]

const model = new FakeListChatModel({ responses: TURNS.map(([, answer]) => answer) })
// A step of its own, whose words are not part of the conversation.
const topic = new FakeListChatModel({ responses: ['invoices'] }).withConfig({ tags: [SKIP] })
const chain = RunnableLambda.from(async (history: BaseMessage[], config) => {
  const about = await topic.invoke([new HumanMessage('What is this about?')], config)
  return [new SystemMessage(`Help with ${about.text}.`), ...history]
})
  .pipe(model)
  .pipe(new StringOutputParser())

const history: BaseMessage[] = []
for (const [turn, [question]] of TURNS.entries()) {
  history.push(new HumanMessage(question))
  const options = { callbacks, metadata: { conversationId: 'langchain' } }
  let answer = ''
  if (turn % 2 === 0) answer = await chain.invoke(history, options)
  else for await (const text of await chain.stream(history, options)) answer += text
  history.push(new AIMessage(answer))
}
earshot.session('langchain').end()
await earshot.close()
