/**
 * Erases a person from the transcripts of the recordings in which the person took part. The recording's actor then
 * rebuilds the search index and an automatic summary from the remaining text.
 */

import { forgetFindings } from '../../analysis/findings/save.ts'
import { recordingMessages } from '../../kernel/messages/recording.ts'
import { transcriptionMessages } from '../../kernel/messages/transcription.ts'
import type { ErasureReach } from '../../people/erasure.ts'
import type { Json } from '../../platform/db/pool.ts'
import { readSpoken, writeSpoken } from './erasure.store.ts'
import { isTranscriptAwaited, keepTranscript, outdateSummary } from './status.ts'

/** Number of utterances in one step. */
const UTTERANCES = 500

interface State {
  /** Index in the person's recordings. */
  readonly place: number
  readonly after: number
  readonly changed: boolean
}

const START: State = { place: 0, after: -1, changed: false }

export const transcriptErasure: ErasureReach = {
  name: 'transcripts',
  async step(tx, { organizationId, recordingIds, eraser }, from, send) {
    const { place, after, changed } = (from as State | null) ?? START
    const id = recordingIds[place]
    if (id === undefined) return { next: null, counts: {} }
    const following = { ...START, place: place + 1 } as unknown as Json
    if (!(await keepTranscript(tx, { organizationId, recordingId: id })))
      return { next: following, counts: {} }
    const rows = await readSpoken(tx, organizationId, id, after, UTTERANCES)
    const erased = rows.flatMap(({ ordinal, text }) => {
      const next = eraser.text(text)
      return next === text ? [] : [{ ordinal, text: next }]
    })
    await writeSpoken(tx, organizationId, id, erased)
    // Quotations of the former words go at once. The actor of the transcription has the words that are left analysed again.
    if (erased.length > 0) {
      await forgetFindings(tx, organizationId, id)
      await outdateSummary(tx, { organizationId, recordingId: id })
    }
    const state = { place, after: rows.at(-1)?.ordinal ?? after, changed: changed || erased.length > 0 }
    const counts = { utterances: erased.length }
    if (rows.length === UTTERANCES) return { next: state as unknown as Json, counts }
    if (state.changed) await send([transcriptionMessages.message(id, 'transcript_completed')])
    return { next: following, counts }
  },
  ownActors: async (_, { recordingIds }) => ({
    kinds: [recordingMessages.kind, transcriptionMessages.kind],
    keys: new Set(recordingIds.flatMap((id) => [recordingMessages.key(id), transcriptionMessages.key(id)])),
  }),
  /** What is heard in media that was received before is as old as the media. */
  isAwaited: (tx, { organizationId, recordingIds }) => isTranscriptAwaited(tx, organizationId, recordingIds),
}
