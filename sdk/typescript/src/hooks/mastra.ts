/**
 * `@earshot/sdk/mastra`: an output processor of Mastra's agents, which hands over the conversation when an answer is complete.
 */
import { byConversationId, type SessionOf, type Sessions, sessionFor } from './session-of.ts'

interface StoredMessage {
  readonly id?: string
  readonly role: string
  readonly createdAt?: Date
  readonly threadId?: string
  readonly content?: { readonly parts?: readonly { readonly type?: string; readonly text?: unknown }[] }
}

interface Output<M> {
  readonly messages: M[]
  readonly messageList: { readonly get: { readonly all: { db(): unknown[] } } }
  readonly requestContext?: { entries(): Iterable<readonly [unknown, unknown]> }
}

/** The part of Mastra's `Processor` that is used. */
export interface EarshotProcessor {
  readonly id: 'earshot'
  processOutputResult<M>(output: Output<M>): M[]
}

/**
 * For `outputProcessors` of an agent.
 *
 * An agent with a memory may hand over the new message only; its messages keep the ids of the memory. Without a memory the call must have
 * the whole history.
 * @param sessionOf gets the members of the call's `requestContext`, and `threadId`. Default: `conversationId`, else `threadId`
 */
export function earshotProcessor(earshot: Sessions, sessionOf: SessionOf = byThread): EarshotProcessor {
  return {
    id: 'earshot',
    processOutputResult(output) {
      try {
        hand(earshot, sessionOf, output)
      } catch {
        // The answer must reach the user, whatever Mastra has changed.
      }
      return output.messages
    },
  }
}

function hand(
  earshot: Sessions,
  sessionOf: SessionOf,
  { messageList, requestContext }: Output<unknown>,
): void {
  const context = Object.fromEntries(requestContext?.entries() ?? [])
  const messages = messageList.get.all.db() as readonly StoredMessage[]
  const threadId = messages.at(-1)?.threadId
  // Mastra puts the memory of the thread under this name. Without one, every call gives its messages new ids.
  const hasMemory = MEMORY in context
  const history = messages.map(({ id, role, createdAt, content }) => ({
    role,
    content: content?.parts ?? [],
    ...(hasMemory ? { id, createdAt } : {}),
  }))
  sessionFor(earshot, sessionOf, { ...context, threadId })?.sync(history)
}

const MEMORY = 'MastraMemory'

const byThread: SessionOf = (context) =>
  byConversationId(context) ?? byConversationId({ conversationId: context.threadId })
