/** Messages to the actors that analyse feedback records and transcripts. The key has the id of the record or the recording. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../../actors/declaration.ts'
import type { NewMessage } from '../../actors/types.ts'

export const insightMessages = declareActor('insight', 'analysis', {
  feedback: Type.Object({}),
  recording: Type.Object({}),
})

/** Re-analysis in the background: of what an older analyser has read, or none. */
export const insightReanalysisMessages = declareActor('insight_again', 'background', {
  feedback: Type.Object({}),
  recording: Type.Object({}),
})

/** Has a feedback record or a transcript analysed. */
export function toAnalyze(
  organizationId: string,
  channel: 'feedback' | 'recording',
  id: string | number,
): NewMessage {
  return insightMessages.message(String(id), channel, { organizationId })
}
