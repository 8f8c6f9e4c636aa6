/**
 * Transcribes the media of a recording, in an actor of its own.
 *
 * The transcript appears completely and once, in the last transaction of its turn, together with the message that makes
 * it searchable. A transcript supplied by the caller is never changed. A final failure makes the transcript `failed`,
 * not the message a dead letter. If other media replaces the media meanwhile, the attempt fails, and the next one uses
 * the new media.
 */

import { join } from 'node:path'
import { Fenced, failuresOf, type GiveUp, type LongHandler, type LongTurn } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import { transcriptionMessages } from '../../kernel/messages/transcription.ts'
import { withTimeoutSignal } from '../../platform/concurrency/timeout.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { withTemporaryFolder } from '../media/temporary.ts'
import { writeTranscript } from '../transcripts/service.ts'
import {
  beginTranscription,
  endTranscription,
  type Transcription,
  type TranscriptionEnd,
} from '../transcripts/status.ts'
import { ATTEMPTS, type Transcriber, TranscriberError, type TranscriptionResult } from './transcriber.ts'
import { toUtterances } from './utterances.rules.ts'

export type TranscribeDeps = Pick<Deps, 'storage' | 'newId' | 'clock'> & {
  readonly config: Pick<Deps['config'], 'dataDir'>
  /** null: no transcriber is configured. */
  readonly transcriber: Transcriber | null
  /**
   * Time limit of one attempt. It is less than that of a turn, because a turn's time-out looks like the death of a
   * worker.
   */
  readonly budgetMs?: number
}

const BUDGET_MS = 115 * 60_000

/** Handlers of the actor kind `transcription`. `transcribe` is sent when media is published, or by an operator. */
export function transcribeHandlers(deps: TranscribeDeps): Readonly<Record<'transcribe', LongHandler>> {
  return { transcribe: (turn) => transcribe(deps, turn) }
}

/** Failed attempts. Those that ended together with their worker are counted apart, for all messages alike. */
export const TRANSCRIBE_ATTEMPTS = ATTEMPTS.elsewhere

/** Handles a `transcribe` message that failed every time. */
export const giveUpTranscription: GiveUp = async (message, tx) => {
  const transcription = await beginTranscription(tx, message.id)
  if (transcription !== null) await endTranscription(tx, transcription, { failed: 'transcriber_failed' })
  return 'handled'
}

async function transcribe(deps: TranscribeDeps, turn: LongTurn): Promise<void> {
  const { message, log } = turn
  const begun = await turn.step((tx) => beginTranscription(tx, message.id))
  if (begun === null) return turn.finish(async () => {})
  const { transcriber } = deps
  if (transcriber === null) {
    log.warn('no transcriber is configured: the transcript waits')
    return turn.finish((tx) => end(tx, begun, 'waiting'))
  }
  const heard = await attempt(deps, transcriber, turn, begun)
  if (heard === null) return
  const { utterances, leftOut } = toUtterances(heard.segments, heard.durationSeconds)
  if (leftOut > 0) log.warn({ leftOut }, 'the transcript is too long: its end was dropped')
  await turn.finish(async (tx, send) => {
    await end(tx, begun, 'completed')
    await writeTranscript(tx, begun.organizationId, begun.recordingId, utterances)
    // The recording's own mailbox may wait for hours for media that replaces this one.
    await send([transcriptionMessages.message(begun.recordingId, 'transcript_completed')])
  })
  log.info({ transcriber: transcriber.name, utterances: utterances.length }, 'transcribed')
}

/** @returns null if the transcript has failed permanently; the turn is then finished */
async function attempt(
  deps: TranscribeDeps,
  transcriber: Transcriber,
  turn: LongTurn,
  begun: Transcription,
): Promise<TranscriptionResult | null> {
  try {
    return await runTranscriber(deps, transcriber, turn, begun)
  } catch (error) {
    await failOrRetry(turn, begun, error)
    return null
  }
}

/** Does the slow work. Deletes its temporary folder before it returns. */
function runTranscriber(
  { config, newId, storage, budgetMs = BUDGET_MS }: TranscribeDeps,
  transcriber: Transcriber,
  turn: LongTurn,
  { recordingId, objectKey, ...facts }: Transcription,
): Promise<TranscriptionResult> {
  const temporary = { folder: join(config.dataDir, 'tmp'), recordingId, attempt: newId() }
  const late = () =>
    new TranscriberError(`transcription took longer than ${budgetMs / 1_000} s`, ATTEMPTS.program)
  return withTimeoutSignal(budgetMs, turn.signal, late, (signal) =>
    withTemporaryFolder(temporary, async (folder) => {
      const file = await storage.localFile(objectKey, folder, signal)
      try {
        return await transcriber.transcribe({ ...facts, path: file.path, folder }, signal)
      } finally {
        await file.release()
      }
    }),
  )
}

/** Fails the transcript, or queues it again and throws, so that the turn is retried later. */
async function failOrRetry(turn: LongTurn, begun: Transcription, error: unknown): Promise<void> {
  if (error instanceof Fenced || turn.signal.aborted) throw error
  // Any error that is not about the audio, such as an unavailable object store, may be temporary.
  const attempts = error instanceof TranscriberError ? error.attempts : ATTEMPTS.elsewhere
  const failures = failuresOf(turn.message) + 1
  if (failures < attempts) {
    await turn.step((tx) => endTranscription(tx, begun, 'queued'))
    throw error
  }
  turn.log.warn({ err: String(error), failures }, 'transcription failed')
  const code = error instanceof TranscriberError ? error.code : 'transcriber_failed'
  await turn.finish((tx) => end(tx, begun, { failed: code }))
}

/** @throws Error so that the turn is retried. It then finds nothing to do, or other media. */
async function end(tx: Tx, begun: Transcription, outcome: TranscriptionEnd): Promise<void> {
  if (!(await endTranscription(tx, begun, outcome))) throw new Error('the transcript is no longer awaited')
}
