/** Sends one client its events, from where it begins until it is gone, may no longer read, or reads too slowly. */
import type { Clock } from '../../platform/clock.ts'
import { heartbeatText, startText } from './event.rules.ts'
import type { Feed } from './feeds.ts'
import type { Part } from './log.ts'
import type { StartType } from './model.ts'
import type { ResponseStream } from './response-stream.ts'

const HEARTBEAT_MS = 15_000

export interface ClientDeps {
  readonly clock: Clock
  readonly heartbeatMs?: number | undefined
  /** Ends the stream of a caller whose credential is no longer good. */
  readonly isAdmitted: () => Promise<boolean>
  /** The next events that the caller may see now. */
  readonly read: (feed: Feed, after: number) => Promise<Part>
}

export interface ClientStart {
  readonly start: StartType | 'resume'
  readonly position: number
}

/** Why the stream ended. `gone`: the client, or this process, ended it. */
export type End = 'gone' | 'refused' | 'closed'

/** Resolves at the end of the stream. The caller closes the response. @throws SlowClient; errors of `read` */
export async function sendChanges(
  { clock, heartbeatMs = HEARTBEAT_MS, isAdmitted, read }: ClientDeps,
  feed: Feed,
  response: ResponseStream,
  from: ClientStart,
): Promise<End> {
  let { generation } = feed
  let { position } = from
  const isLost = () => generation !== feed.generation || position < feed.lostSeq
  const begin = async (type: StartType) => {
    position = generation === feed.generation ? Math.max(position, feed.lastSeq) : feed.lastSeq
    generation = feed.generation
    await response.write(startText(type, generation, position, clock.now()))
  }
  if (from.start !== 'resume') await begin(from.start)
  for (;;) {
    const { changed } = feed
    if (response.ended.aborted) return 'gone'
    if (!feed.isOpen) return 'closed'
    if (isLost()) await begin('reset')
    else if (position < feed.lastSeq) {
      if (!(await isAdmitted())) return 'refused'
      const { text, upTo } = await read(feed, position)
      // Entries that were deleted before they were read.
      if (isLost()) continue
      position = upTo
      if (text !== '') await response.write(text)
    } else if (await isQuiet(changed, response.ended, heartbeatMs)) {
      if (!(await isAdmitted())) return 'refused'
      await response.write(heartbeatText(generation, position))
    }
  }
}

/** Waits for news, the end or the time of a heartbeat. @returns true for the last */
async function isQuiet(changed: Promise<void>, ended: AbortSignal, ms: number): Promise<boolean> {
  const first = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => first.resolve(true), ms)
  const end = () => first.resolve(false)
  ended.addEventListener('abort', end)
  void changed.then(end)
  try {
    return await first.promise
  } finally {
    clearTimeout(timer)
    ended.removeEventListener('abort', end)
  }
}
