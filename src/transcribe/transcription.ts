/**
 * The transcript of a recording's media, in an actor of its own.
 *
 * The rule: a transcript appears as a whole, once, in the last transaction of the turn that made it, together with the letter
 * that makes it searchable; and one that a caller supplied is never touched. What fails in the end is `failed`, for everybody to
 * see, and no dead letter. Where other media replaces what is being heard, the attempt fails, and the next one hears the new media.
 */
import { join } from 'node:path'
import { Fenced, type GiveUp, type LongHandler, type LongTurn } from '../actors/types.ts'
import type { Deps } from '../container.ts'
import { withTemporaryFolder } from '../media/temporary.ts'
import { withTimeoutSignal } from '../platform/concurrency/timeout.ts'
import type { Tx } from '../platform/db/pool.ts'
import { writeUtterances } from '../transcripts/service.ts'
import { beginTranscription, endTranscription, type Transcription } from './store.ts'
import { ATTEMPTS, type Heard, type Transcriber, TranscriberError } from './transcriber.ts'
import { toUtterances } from './utterances.rules.ts'

export type TranscribeDeps = Pick<Deps, 'storage' | 'newId' | 'clock'> & {
  readonly config: Pick<Deps['config'], 'dataDir'>
  /** null: none is configured. */
  readonly transcriber: Transcriber | null
  /** For one attempt; less than a turn may take, whose end nobody could tell from that of a worker. */
  readonly budgetMs?: number
}

const BUDGET_MS = 115 * 60_000

/** Handlers of the actor kind `transcription`: `transcribe`, sent with the media that is published, or by an operator. */
export function transcribeHandlers(deps: TranscribeDeps): Readonly<Record<'transcribe', LongHandler>> {
  return { transcribe: (turn) => transcribe(deps, turn) }
}

/** Attempts that ended without a word count, too: a worker that was killed, or one that hung. */
export const TRANSCRIBE_ATTEMPTS = ATTEMPTS.elsewhere

/** Of the message `transcribe`. */
export const giveUpTranscription: GiveUp = async (message, tx) => {
  const transcription = await beginTranscription(tx, message.id)
  if (transcription !== null) await endTranscription(tx, transcription, 'failed')
  return 'handled'
}

async function transcribe(deps: TranscribeDeps, turn: LongTurn): Promise<void> {
  const { message, log } = turn
  const begun = await turn.step((tx) => beginTranscription(tx, message.id))
  if (begun === null) return turn.finish(async () => {})
  const { transcriber } = deps
  if (transcriber === null) {
    log.warn('no transcriber is configured any more: the transcript waits')
    return turn.finish((tx) => end(tx, begun, 'waiting'))
  }
  const heard = await attempt(deps, transcriber, turn, begun)
  if (heard === null) return
  const { utterances, leftOut } = toUtterances(heard.segments, heard.durationSeconds)
  if (leftOut > 0) log.warn({ leftOut }, 'the transcript is too long: its end is left out')
  await turn.finish(async (tx, send) => {
    await end(tx, begun, 'completed')
    await writeUtterances(tx, begun.organizationId, begun.recordingId, utterances)
    await send([{ key: `recording:${begun.recordingId}`, type: 'transcript_completed' }])
  })
  log.info({ transcriber: transcriber.name, utterances: utterances.length }, 'transcribed')
}

/** @returns null where the transcript has failed for good; the turn is finished then */
async function attempt(
  deps: TranscribeDeps,
  transcriber: Transcriber,
  turn: LongTurn,
  begun: Transcription,
): Promise<Heard | null> {
  try {
    return await hear(deps, transcriber, turn, begun)
  } catch (error) {
    await conclude(turn, begun, error)
    return null
  }
}

/** Everything that takes time. Nothing of it is left when it returns. */
function hear(
  { config, newId, clock, storage, budgetMs = BUDGET_MS }: TranscribeDeps,
  transcriber: Transcriber,
  turn: LongTurn,
  { recordingId, objectKey, ...facts }: Transcription,
): Promise<Heard> {
  const now = clock.now().getTime()
  const temporary = { folder: join(config.dataDir, 'tmp'), recordingId, attempt: newId(), now }
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

/** Fails the transcript, or puts it back into the queue and throws, so that the turn is done over after a while. */
async function conclude(turn: LongTurn, begun: Transcription, error: unknown): Promise<void> {
  if (error instanceof Fenced || turn.signal.aborted) throw error
  // Whatever is not about the sound, such as an object store that is away, may pass.
  const attempts = error instanceof TranscriberError ? error.attempts : ATTEMPTS.elsewhere
  if (turn.message.attempts + 1 < attempts) {
    await turn.step((tx) => endTranscription(tx, begun, 'queued'))
    throw error
  }
  turn.log.warn({ err: String(error), attempts: turn.message.attempts + 1 }, 'transcription failed')
  await turn.finish((tx) => end(tx, begun, 'failed'))
}

/** @throws Error where the turn is to be done over: it then finds nothing to do, or other media. */
async function end(tx: Tx, begun: Transcription, outcome: 'completed' | 'failed' | 'waiting'): Promise<void> {
  if (!(await endTranscription(tx, begun, outcome)))
    throw new Error('this transcript is not awaited any more')
}
