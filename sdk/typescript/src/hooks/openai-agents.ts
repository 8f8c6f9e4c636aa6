/**
 * `@earshot/sdk/openai-agents`: hands over what a run of the OpenAI Agents SDK says. It reads the result and not the trace, because
 * tracing may be off, may hide the texts, and misses models of other providers.
 */
import type { Session } from '../earshot.ts'
import { withoutId } from './session-of.ts'

/** The part of `RunResult` and `StreamedRunResult` that is used. */
export interface RunLike {
  /** The run's input, followed by what the run has added. */
  readonly history: readonly unknown[]
  /** Of a streamed run: settles when the stream is over. */
  readonly completed?: Promise<unknown>
}

/**
 * Hands over the history of a run: its input and its answers. A streamed run is handed over when its stream has been read. The input must
 * be the whole conversation: `result.history` of the run before, or a `session` of the Agents SDK.
 * Returns at once and never throws.
 */
export function recordRun(session: Pick<Session, 'sync'>, result: RunLike): void {
  const hand = () => {
    try {
      session.sync(result.history.map(withoutId))
    } catch {
      // A run that failed may have no history.
    }
  }
  if (result.completed === undefined) hand()
  else result.completed.then(hand, hand)
}
