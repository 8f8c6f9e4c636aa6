/** Asking for a transcript, in the transaction that publishes the media or on an operator's word. */
import type { ActorKey, Send } from '../actors/types.ts'
import type { Config } from '../config.ts'
import type { Tx } from '../platform/db/pool.ts'
import { queueTranscription, type Subject } from './store.ts'

export type { Subject } from './store.ts'

/** Called in the transaction that publishes the media of a recording, after the statement that does. */
export type RequestTranscription = (tx: Tx, send: Send, recording: Subject) => Promise<void>

/** Where nothing is configured that transcribes, a transcript goes on waiting (`waiting`). */
export function createRequestTranscription({ transcribe }: Pick<Config, 'transcribe'>): RequestTranscription {
  return async (tx, send, recording) => {
    if (transcribe !== null) await requestTranscription(tx, send, recording, 'waiting')
  }
}

/** @returns false where the recording is not in that state, or was given a transcript */
export async function requestTranscription(
  tx: Tx,
  send: Send,
  recording: Subject,
  from: 'waiting' | 'failed',
): Promise<boolean> {
  if (!(await queueTranscription(tx, recording, from))) return false
  const key: ActorKey = `recording:${recording.recordingId}`
  await send([{ key, type: 'transcribe' }])
  return true
}
