/**
 * The media of a meeting as the source of an ingestion.
 *
 * A recorder's URL is valid for minutes. So the recording stores the id of the join, and each attempt asks the recorder for a new URL.
 */
import type { LongTurn } from '../../actors/types.ts'
import type { Config } from '../../kernel/config.ts'
import { withTimeoutSignal } from '../../platform/concurrency/timeout.ts'
import { MediaError } from '../media/rules.ts'
import type { MediaSource } from '../media/source.ts'
import { type Recorder, RecorderError } from './recorder.ts'
import { findJoin } from './store.ts'

const SCHEME = 'recorder:'
/** In time limits of one request: some recorders join the pieces of a recording when they are asked for it. */
const OPERATION = 6

/** What stands in the place of the URL of the media. No caller can give such a URL. */
export function sourceOf(joinId: string): string {
  return `${SCHEME}${joinId}`
}

/** Where the media of an ingestion is now. @throws MediaError */
export function createMediaSource({
  recorder,
  config,
}: {
  readonly recorder: Recorder
  readonly config: Pick<Config, 'meetings'>
}): (turn: LongTurn, url: string) => Promise<MediaSource> {
  return async (turn, url) => {
    if (!url.startsWith(SCHEME)) return { url, headers: {}, isFresh: false }
    const join = await turn.read((tx) => findJoin(tx, url.slice(SCHEME.length)))
    if (join === null || join.botId === null)
      throw new MediaError('recorder_failed', false, 'the recorder has no copy any more')
    const media = await askRecorder(recorder, join.botId, turn.signal, config.meetings.callSeconds)
    return { url: media.url, headers: media.headers ?? {}, isFresh: true }
  }
}

async function askRecorder(recorder: Recorder, botId: string, signal: AbortSignal, callSeconds: number) {
  const late = () => new RecorderError('no answer in time', 'retryable')
  try {
    const media = await withTimeoutSignal(OPERATION * callSeconds * 1_000, signal, late, (within) =>
      recorder.media(botId, within),
    )
    if (media !== null) return media
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof RecorderError)) throw error
    throw new MediaError('recorder_failed', error.kind === 'retryable', error.message)
  }
  throw new MediaError('recorder_failed', true, 'the recorder has no media yet')
}
