/** Asking for a transcript, in the transaction that publishes the media or on an operator's word. */
import { transactionWithMail } from '../actors/mailbox.ts'
import type { ActorKey, Send } from '../actors/types.ts'
import type { Config } from '../config.ts'
import type { Deps } from '../container.ts'
import type { Tx } from '../platform/db/pool.ts'
import { deleteTranscript } from '../transcripts/service.ts'
import {
  listUntranscribed,
  queueTranscription,
  resetAutomaticTranscript,
  type Subject,
  type Untranscribed,
} from './store.ts'

export type { Subject } from './store.ts'

/** Called in the transaction that publishes the media of a recording, after the statement that does. */
export type RequestTranscription = (tx: Tx, send: Send, recording: Subject) => Promise<void>

/** Where nothing is configured that transcribes, a transcript goes on waiting (`waiting`). */
export function createRequestTranscription({ transcribe }: Pick<Config, 'transcribe'>): RequestTranscription {
  return async (tx, send, recording) => {
    if (transcribe !== null) await requestTranscription(tx, send, recording, 'waiting')
  }
}

/**
 * Other media replaces that of the recording: what was transcribed from the old media goes, and a transcript waits to be made
 * of the new. A transcript that the caller supplied stays.
 */
export async function discardAutomaticTranscript(tx: Tx, recording: Subject): Promise<void> {
  if (await resetAutomaticTranscript(tx, recording))
    await deleteTranscript(tx, recording.organizationId, recording.recordingId)
}

/** @returns false where the recording is not in that state, or was given a transcript */
export async function requestTranscription(
  tx: Tx,
  send: Send,
  recording: Subject,
  from: Untranscribed,
): Promise<boolean> {
  if (!(await queueTranscription(tx, recording, from))) return false
  const key: ActorKey = `transcription:${recording.recordingId}`
  await send([{ key, type: 'transcribe', organizationId: recording.organizationId }])
  return true
}

/** Where an operator may begin: media that came before anything transcribed, and transcripts that failed. */
export async function requestAgain(
  deps: Pick<Deps, 'sql' | 'doorbell'>,
  recording: Subject,
): Promise<boolean> {
  return transactionWithMail(
    deps,
    async (tx, { send }) =>
      (await requestTranscription(tx, send, recording, 'waiting')) ||
      (await requestTranscription(tx, send, recording, 'failed')),
  )
}

/** As `requestAgain`, for every recording of the organization in these states. @returns how many */
export async function requestAll(
  deps: Pick<Deps, 'sql' | 'doorbell'>,
  organizationId: string,
  statuses: readonly Untranscribed[],
): Promise<number> {
  let count = 0
  for (const { id: recordingId } of await listUntranscribed(deps.sql, organizationId, statuses))
    if (await requestAgain(deps, { organizationId, recordingId })) count++
  return count
}
