/**
 * `@earshot/sdk/langchain`: a callback handler of LangChain and LangGraph. A run counts when its outermost step ends: its last model call
 * with a text is the answer, so that the calls of tools and of steps in between are no messages of the conversation.
 */
import {
  byConversationId,
  Running,
  type SessionOf,
  type SessionRef,
  type Sessions,
  sessionFor,
  withoutId,
} from './session-of.ts'

/** Steps with this tag are left out, such as a model call that rewrites the question. */
export const SKIP = 'earshot:skip'
/** The same for Python. */
const IGNORE = 'earshot:ignore'

type Metadata = Readonly<Record<string, unknown>> | undefined

interface Run {
  readonly root: string
  readonly metadata: Metadata
  readonly isSkipped: boolean
  /** Of a model call: its messages. */
  readonly messages: readonly unknown[] | null
  /** Of the outermost step: the history up to the last answer. */
  history: readonly unknown[] | null
}

/** The methods of a LangChain callback handler. A plain object with them is one. */
export interface EarshotCallbacks {
  handleChainStart(chain: unknown, inputs: unknown, runId: string, ...more: unknown[]): void
  handleChainEnd(outputs: unknown, runId: string): void
  handleChainError(error: unknown, runId: string): void
  handleChatModelStart(
    model: unknown,
    messages: unknown[][],
    runId: string,
    parentRunId?: string,
    extra?: unknown,
    tags?: string[],
    metadata?: Record<string, unknown>,
  ): void
  handleLLMEnd(output: unknown, runId: string): void
  handleLLMError(error: unknown, runId: string): void
}

/**
 * For `callbacks` of `invoke`, `stream` and `batch`.
 * @param sessionOf gets the run's `metadata`. Default: its member `conversationId`, else LangGraph's `thread_id`
 */
export function earshotCallbacks(earshot: Sessions, sessionOf: SessionOf = byThread): EarshotCallbacks {
  const runs = new Running<Run>()
  const start = (
    id: string,
    parent: unknown,
    tags: unknown,
    metadata: unknown,
    messages: Run['messages'],
  ) => {
    const above = typeof parent === 'string' ? runs.get(parent) : null
    const isTagged = Array.isArray(tags) && (tags.includes(SKIP) || tags.includes(IGNORE))
    runs.start(id, {
      root: above?.root ?? id,
      metadata: (metadata ?? above?.metadata) as Metadata,
      isSkipped: isTagged || above?.isSkipped === true,
      messages,
      history: null,
    })
  }
  /** The step is over; the outermost one hands over what was said. */
  const end = (id: string, state: readonly unknown[] | null) => {
    const run = runs.end(id)
    if (run === null || run.root !== id) return
    const history = state ?? run.history ?? run.messages
    if (history !== null && !run.isSkipped)
      sessionFor(earshot, sessionOf, run.metadata)?.sync(history.map(withoutId))
  }
  const answered = (id: string, answer: unknown) => {
    const run = runs.get(id)
    if (run?.messages && !run.isSkipped) {
      const root = runs.get(run.root)
      if (root !== null) root.history = answer === null ? run.messages : [...run.messages, answer]
    }
    end(id, null)
  }
  return {
    // The eighth argument is the parent; the fourth is the type of the run.
    handleChainStart(_chain, _inputs, runId, _type, tags, metadata, _name, parentRunId) {
      start(runId, parentRunId, tags, metadata, null)
    },
    handleChainEnd: (outputs, runId) => end(runId, stateOf(outputs)),
    handleChainError: (_error, runId) => end(runId, null),
    handleChatModelStart(_model, messages, runId, parentRunId, _extra, tags, metadata) {
      start(runId, parentRunId, tags, metadata, messages[0] ?? [])
    },
    handleLLMEnd: (output, runId) => answered(runId, answerOf(output)),
    // The user's words count also where no answer came.
    handleLLMError: (_error, runId) => answered(runId, null),
  }
}

const byThread: SessionOf = (metadata) =>
  byConversationId(metadata) ?? (metadata.thread_id ? (String(metadata.thread_id) as SessionRef) : null)

/** The messages that an agent or graph ends with: the whole conversation, also where the caller gave only the new message. */
function stateOf(outputs: unknown): readonly unknown[] | null {
  const { messages } = (outputs ?? {}) as { messages?: unknown }
  const isList = Array.isArray(messages) && messages.some((message) => typeof message?.getType === 'function')
  return isList ? messages : null
}

/** The model's message. Null: it has no text, as in a call of tools. */
function answerOf(output: unknown): unknown {
  const { generations } = (output ?? {}) as {
    generations?: readonly { text?: string; message?: unknown }[][]
  }
  const first = generations?.[0]?.[0]
  return first?.text ? (first.message ?? { role: 'assistant', content: first.text }) : null
}
