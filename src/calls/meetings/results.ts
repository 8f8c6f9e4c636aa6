/** What the end of a meeting gives its recording: media to fetch, transcript and participants, or an error code. */
import type { Send } from '../../actors/types.ts'
import { recordingMessages } from '../../kernel/messages/recording.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { awaitFromUrl, moveAsset } from '../assets/service.ts'
import { toUtterances } from '../transcribe/utterances.rules.ts'
import { writeTranscript } from '../transcripts/service.ts'
import { completeByRecorder } from '../transcripts/status.ts'
import type { Effect } from './plan.rules.ts'
import type { Utterance } from './recorder.ts'
import { sourceOf } from './source.ts'
import type { JoinRow } from './store.ts'

/** What a meeting tells about its recording, as recordings store it. */
export interface MeetingFacts {
  /** Makes speakers participants, by the names that the meeting shows. @param names by speaker number; null or blank: not recognised */
  nameSpeakers(
    tx: Tx,
    organizationId: string,
    recordingId: string,
    names: readonly (string | null)[],
  ): Promise<void>
  /** Sets start and end where the caller has not. */
  fillTimes(
    tx: Tx,
    organizationId: string,
    recordingId: string,
    times: { readonly startedAt: Date | null; readonly completedAt: Date | null },
  ): Promise<void>
}

/** Runs in the transaction that ends the meeting and has locked the recording. */
export async function takeEffect(
  facts: MeetingFacts,
  tx: Tx,
  send: Send,
  join: JoinRow,
  effect: Effect,
  utterances: readonly Utterance[] | null,
): Promise<void> {
  const { organizationId, recordingId } = join
  await facts.fillTimes(tx, organizationId, recordingId, {
    startedAt: join.joinedAt,
    completedAt: join.endedAt,
  })
  if (utterances !== null) await takeTranscript(facts, tx, send, join, utterances)
  if (effect.kind === 'failed') await moveAsset(tx, join, 'recorderFails', effect.code)
  if (effect.kind === 'cancelled') await moveAsset(tx, join, 'recorderIsCancelled')
  if (effect.kind !== 'media') return
  await awaitFromUrl(tx, join, sourceOf(join.id))
  await send([recordingMessages.message(recordingId, 'ingest_url', { organizationId })])
}

/** The transcript comes before the media, which may take hours. Without one, the media is transcribed here. */
async function takeTranscript(
  facts: MeetingFacts,
  tx: Tx,
  send: Send,
  { organizationId, recordingId }: JoinRow,
  given: readonly Utterance[],
): Promise<void> {
  const { utterances, speakers } = toUtterances(given, null)
  if (utterances.length === 0 || !(await completeByRecorder(tx, { organizationId, recordingId }))) return
  await writeTranscript(tx, organizationId, recordingId, utterances)
  const speaking = new Set(utterances.map(({ speaker }) => speaker))
  const names = speakers.map((name, speaker) => (speaking.has(speaker) ? name : null))
  await facts.nameSpeakers(tx, organizationId, recordingId, names)
  await send([recordingMessages.message(recordingId, 'transcript_completed', { organizationId })])
}
