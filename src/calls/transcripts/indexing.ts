/**
 * Indexes a completed transcript for search and creates a summary, in the actor of the recording or of its transcription.
 *
 * A summary given by the caller is never overwritten, even if it arrives while this one is being created. A turn may
 * run repeatedly: it replaces what an earlier run left.
 */
import type { LongHandler, LongTurn } from '../../actors/types.ts'
import { AnalyzerError } from '../../analysis/analyze/analyzer-error.ts'
import type { Summarizer } from '../../analysis/analyze/summarizer.ts'
import { outdateRecording } from '../../analysis/findings/save.ts'
import { toAnalyze } from '../../kernel/messages/insight.ts'
import { passageMessages } from '../../kernel/messages/passage.ts'
import { indexTranscript } from './search.store.ts'
import { findSummarized, saveSummary } from './status.ts'
import { readUtterances } from './store.ts'

/** After that it is a dead letter for an operator. */
export const INDEXING_ATTEMPTS = 8

/** `transcript_completed` is sent with the recording or with its new transcript. */
export function transcriptHandlers(
  summarizer: Summarizer,
): Readonly<Record<'transcript_completed', LongHandler>> {
  return { transcript_completed: (turn) => indexAndSummarize(summarizer, turn) }
}

async function indexAndSummarize(summarizer: Summarizer, turn: LongTurn): Promise<void> {
  const { id } = turn.message
  const spoken = await turn.step(async (tx, send) => {
    const recording = await findSummarized(tx, id)
    if (recording === null) return null
    await indexTranscript(tx, recording.organizationId, id)
    const { organizationId, wordsVersion } = recording
    await outdateRecording(tx, organizationId, id)
    await send([
      passageMessages.message(id, 'recording', { organizationId }),
      toAnalyze(organizationId, 'recording', id),
    ])
    const wanted = recording.summarySource !== 'api'
    const passages = wanted ? await readUtterances(tx, recording.organizationId, id) : []
    return { organizationId, wordsVersion, wanted, passages }
  })
  // The recording was deleted, or its caller has supplied a summary.
  if (!spoken?.wanted) return turn.finish(async () => {})
  const summary = await summarize(summarizer, turn, spoken.passages)
  const { organizationId, wordsVersion } = spoken
  await turn.finish((tx) => saveSummary(tx, { organizationId, recordingId: id }, wordsVersion, summary))
}

/**
 * If the summarizer refuses this transcript, there is no summary. Any other error fails the turn, which is retried.
 */
async function summarize(
  summarizer: Summarizer,
  { log, signal, organization }: LongTurn,
  passages: Parameters<Summarizer['summarize']>[0],
): Promise<string | null> {
  if (passages.length === 0) return null
  try {
    return await summarizer.summarize(passages, signal, organization)
  } catch (error) {
    if (!(error instanceof AnalyzerError) || error.retryable) throw error
    log.warn({ summarizer: summarizer.name, err: error.message }, 'the summarizer refused the transcript')
    return null
  }
}
