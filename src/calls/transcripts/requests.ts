/** Requests transcription, in the transaction that publishes the media or for an operator. */

import { transactionWithOutbox } from '../../actors/mailbox.ts'
import type { Send } from '../../actors/types.ts'
import type { Config } from '../../kernel/config.ts'
import type { Deps } from '../../kernel/deps.ts'
import { transcriptionMessages } from '../../kernel/messages/transcription.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { deleteTranscript } from './service.ts'
import {
  queueTranscription,
  resetAutomaticTranscript,
  type Subject,
  type Untranscribed,
  untranscribedRecordings,
} from './status.ts'

export type { Subject } from './status.ts'

/** Runs in the transaction that publishes the media of a recording, after that statement. */
export type RequestTranscription = (tx: Tx, send: Send, recording: Subject) => Promise<void>

/** Without a configured transcriber, the transcript stays `waiting`. */
export function createRequestTranscription({ transcribe }: Pick<Config, 'transcribe'>): RequestTranscription {
  return async (tx, send, recording) => {
    if (transcribe !== null) await requestTranscription(tx, send, recording, 'waiting')
  }
}

/**
 * Other media replaces that of the recording. Deletes the automatic transcript and makes it `waiting` again. A supplied
 * transcript stays.
 */
export async function discardAutomaticTranscript(tx: Tx, recording: Subject): Promise<void> {
  if (await resetAutomaticTranscript(tx, recording))
    await deleteTranscript(tx, recording.organizationId, recording.recordingId)
}

/** @returns false if the recording is in another state, or its caller has supplied a transcript */
export async function requestTranscription(
  tx: Tx,
  send: Send,
  recording: Subject,
  from: Untranscribed,
): Promise<boolean> {
  if (!(await queueTranscription(tx, recording, from))) return false
  const { organizationId, recordingId } = recording
  await send([transcriptionMessages.message(recordingId, 'transcribe', { organizationId })])
  return true
}

/** For an operator: queues media that was published before a transcriber was configured, and failed transcripts. */
export async function requestAgain(
  deps: Pick<Deps, 'sql' | 'notifier'>,
  recording: Subject,
): Promise<boolean> {
  return transactionWithOutbox(
    deps,
    async (tx, { send }) =>
      (await requestTranscription(tx, send, recording, 'waiting')) ||
      (await requestTranscription(tx, send, recording, 'failed')),
  )
}

/** Calls `requestAgain` for every recording of the organization in these states. @returns the number queued */
export async function requestAll(
  deps: Pick<Deps, 'sql' | 'notifier'>,
  organizationId: string,
  statuses: readonly Untranscribed[],
): Promise<number> {
  let count = 0
  for (const recordingId of await untranscribedRecordings(deps.sql, organizationId, statuses))
    if (await requestAgain(deps, { organizationId, recordingId })) count++
  return count
}
