/** What the end of a meeting gives its recording: media to fetch, transcript and participants, or an error code. */
import type { Send } from '../../actors/types.ts'
import { recordingMessages } from '../../kernel/messages/recording.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { awaitFromUrl, moveAsset } from '../assets/service.ts'
import { fillTimes, nameSpeakers } from '../recordings/participants.ts'
import { completeByRecorder } from '../recordings/transcript.ts'
import { toUtterances } from '../transcribe/utterances.rules.ts'
import { writeTranscript } from '../transcripts/service.ts'
import type { Effect } from './plan.rules.ts'
import type { Utterance } from './recorder.ts'
import { sourceOf } from './source.ts'
import type { JoinRow } from './store.ts'

/** Runs in the transaction that ends the meeting and has locked the recording. */
export async function takeEffect(
  tx: Tx,
  send: Send,
  join: JoinRow,
  effect: Effect,
  utterances: readonly Utterance[] | null,
): Promise<void> {
  const { organizationId, recordingId } = join
  await fillTimes(tx, organizationId, recordingId, { startedAt: join.joinedAt, completedAt: join.endedAt })
  if (utterances !== null) await takeTranscript(tx, send, join, utterances)
  if (effect.kind === 'failed') await moveAsset(tx, join, 'recorderFails', effect.code)
  if (effect.kind === 'cancelled') await moveAsset(tx, join, 'recorderIsCancelled')
  if (effect.kind !== 'media') return
  await awaitFromUrl(tx, join, sourceOf(join.id))
  await send([recordingMessages.message(recordingId, 'ingest_url', { organizationId })])
}

/** The transcript comes before the media, which may take hours. Without one, the media is transcribed here. */
async function takeTranscript(
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
  await nameSpeakers(tx, organizationId, recordingId, names)
  await send([recordingMessages.message(recordingId, 'transcript_completed', { organizationId })])
}
