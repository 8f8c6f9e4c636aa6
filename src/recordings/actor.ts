/** The actor of a recording: everything that happens to it after its request was answered, one thing at a time. */
import type { ActorDefinition } from '../actors/types.ts'
import { createSummarizer } from '../analyze/create.ts'
import type { Summarizer } from '../analyze/summarizer.ts'
import type { Deps } from '../container.ts'
import { transcriptHandlers } from '../transcripts/indexing.ts'

/** What cannot be done in the end is left to an operator, among the dead letters. */
export function recordingActor(
  deps: Pick<Deps, 'config'>,
  summarizer: Summarizer = createSummarizer(deps.config),
): ActorDefinition {
  return { kind: 'recording', pool: 'long', maxAttempts: 8, handlers: transcriptHandlers(summarizer) }
}
