/**
 * What happens when a transcript has completed, in the recording's actor: search learns of it, and a summary is made.
 *
 * The rule: a summary given by the caller is never overwritten, also where it is given while ours is being made. A turn may be
 * run any number of times: it replaces what an earlier one left.
 */
import type { LongHandler, LongTurn } from '../actors/types.ts'
import { AnalyzerError } from '../analyze/analyzer.ts'
import type { Summarizer } from '../analyze/summarizer.ts'
import { indexTranscript } from './search.store.ts'
import { readUtterances } from './store.ts'
import { findSummarized, saveSummary } from './summary.store.ts'

/** Handlers of the actor kind `recording`: `transcript_completed`, sent with the recording's row or its new transcript. */
export function transcriptHandlers(
  summarizer: Summarizer,
): Readonly<Record<'transcript_completed', LongHandler>> {
  return { transcript_completed: (turn) => complete(summarizer, turn) }
}

async function complete(summarizer: Summarizer, turn: LongTurn): Promise<void> {
  const { id } = turn.message
  const spoken = await turn.step(async (tx) => {
    const recording = await findSummarized(tx, id)
    if (recording === null) return null
    await indexTranscript(tx, recording.organizationId, id)
    const wanted = recording.summarySource !== 'api'
    const passages = wanted ? await readUtterances(tx, recording.organizationId, id) : []
    return { organizationId: recording.organizationId, wanted, passages }
  })
  // Deleted, or summarised by its caller.
  if (!spoken?.wanted) return turn.finish(async () => {})
  const summary = await ask(summarizer, turn, spoken.passages)
  await turn.finish((tx) => saveSummary(tx, spoken.organizationId, id, summary))
}

/** A refusal of this very transcript is an outcome; anything else fails the turn, which is tried again. */
async function ask(
  summarizer: Summarizer,
  { log, signal, organization }: LongTurn,
  passages: Parameters<Summarizer['summarize']>[0],
): Promise<string | null> {
  if (passages.length === 0) return null
  try {
    return await summarizer.summarize(passages, signal, organization)
  } catch (error) {
    if (!(error instanceof AnalyzerError) || error.retryable) throw error
    log.warn({ summarizer: summarizer.name, err: error.message }, 'summary refused')
    return null
  }
}
