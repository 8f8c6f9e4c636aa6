/**
 * Streams of changes for clients that stay connected.
 *
 * The log in PostgreSQL is the buffer of every client: a client that reads slowly lags behind, and one that does not read is disconnected. A
 * client that connects again, to any process, goes on behind the event that it saw last.
 */
import { Gauge } from 'prom-client'
import type { Conversations } from '../agents/reads/service.ts'
import type { Deps } from '../container.ts'
import type { Folders, Viewer } from '../folders/service.ts'
import { asCaller } from '../platform/concurrency/caller.ts'
import { createFairQueue } from '../platform/concurrency/fair-queue.ts'
import { AppError } from '../platform/errors.ts'
import { counterOf, type Metrics } from '../platform/observability/metrics.ts'
import { type ClientStart, opening, sendChanges } from './client.ts'
import { type Change, retryText, startOf } from './event.rules.ts'
import { createFeeds, type Feed } from './feeds.ts'
import * as store from './log.store.ts'
import { createResponseStream, type ResponseStream, SlowClient } from './response-stream.ts'

export type EventStream = ReturnType<typeof createEventStream>

export interface EventStreamDeps
  extends Pick<Deps, 'sql' | 'reads' | 'servers' | 'clock' | 'log' | 'metrics'> {
  readonly folders: Pick<Folders, 'visibleRecording'>
  readonly conversations: Pick<Conversations, 'readableApplications'>
}

/** Connections of this process. */
export const MOST_STREAMS = { ofOrganization: 100, inAll: 1_000 } as const

export interface StreamOptions {
  readonly heartbeatMs?: number
  readonly timeoutMs?: number
}

/** Pages that are read at the same time. */
const PLACES = 3
/** Before a client connects again: after a lost connection, and after one that was slow. */
const RETRY_MS = { lost: 3_000, slow: 15_000 } as const
/** Clients of a process that stops come back at different times. */
const SPREAD_MS = { from: 500, to: 4_000 } as const
/** A transaction that looked before the log was active writes no entries. Longer than a transaction lasts. */
const COMPLETION_MS = 65_000

/** The caller, with a check that the credential is still good for the same organization. */
export interface Caller {
  readonly viewer: Viewer
  readonly isAdmitted: () => Promise<boolean>
}

export function createEventStream(deps: EventStreamDeps, options: StreamOptions = {}) {
  const { sql, reads, clock, log, metrics } = deps
  const feeds = createFeeds(deps)
  const places = createFairQueue({ places: PLACES })
  const responses = new Map<
    ResponseStream,
    { readonly organizationId: string; readonly done: Promise<void> }
  >()
  let isStopping = false
  const ends = counterOf(metrics, {
    name: 'earshot_event_stream_ends_total',
    help: 'Ended event streams by reason: gone (client or shutdown), refused (credential), slow, closed (log), failed',
    labelNames: ['reason'],
  })
  const open = openStreams(metrics)

  /** Clients with the same rights share a page. */
  function read(viewer: Viewer, feed: Feed, after: number, upTo: number): Promise<readonly Change[]> {
    const { organizationId } = viewer
    const userId = viewer.kind === 'user' ? viewer.userId : null
    const key = `${userId} ${after} ${upTo}`
    const known = feed.pages.get(key)
    if (known !== undefined) return known
    const readPage = () =>
      store.readChanges(reads, {
        ...{ organizationId, after, upTo, limit: upTo - after },
        applications: deps.conversations.readableApplications(reads, { organizationId, userId }, undefined),
        visible: deps.folders.visibleRecording(reads, viewer),
      })
    // It may begin when a page of another organization has ended.
    const page = places.run(organizationId, () => asCaller(organizationId, readPage))
    feed.pages.set(key, page)
    // Rights may change: only a page that is being read is shared.
    const forget = () => void feed.pages.delete(key)
    page.then(forget, forget)
    return page
  }

  /** Waits until no transaction can leave out an entry any more. */
  async function untilComplete(organizationId: string, ended: AbortSignal): Promise<void> {
    const number = await store.transactionNumber(sql)
    const deadline = performance.now() + COMPLETION_MS
    for (let pauseMs = 5; !(await store.hasEndedBefore(sql, number)); pauseMs = Math.min(2 * pauseMs, 500)) {
      if (performance.now() > deadline) return
      await Bun.sleep(pauseMs)
      if (ended.aborted) return
    }
    await store.completeStream(sql, organizationId)
  }

  async function serve({ viewer, isAdmitted }: Caller, lastEventId: string | null, response: ResponseStream) {
    const { organizationId } = viewer
    const generation = crypto.randomUUID().slice(0, 8)
    const opened = await store.openStream(sql, organizationId, generation)
    const feed = feeds.join({ ...opened, organizationId })
    try {
      await response.write(opening(RETRY_MS.lost))
      if (!opened.isComplete) await untilComplete(organizationId, response.ended)
      // Numbers waiting entries first, so that none of them is skipped or sent twice.
      await feeds.look(feed)
      const start: ClientStart = startOf({ ...opened, lastSeq: feed.lastSeq }, lastEventId)
      const page = (of: Feed, after: number, upTo: number) => read(viewer, of, after, upTo)
      const client = { clock, heartbeatMs: options.heartbeatMs, isAdmitted, read: page }
      return await sendChanges(client, feed, response, start)
    } finally {
      feeds.leave(feed)
    }
  }

  async function follow(caller: Caller, lastEventId: string | null, response: ResponseStream): Promise<void> {
    const { organizationId } = caller.viewer
    try {
      ends.inc({ reason: await serve(caller, lastEventId, response) })
      response.close(retryText(RETRY_MS.lost))
    } catch (error) {
      const isSlow = error instanceof SlowClient
      ends.inc({ reason: isSlow ? 'slow' : 'failed' })
      if (!isSlow) log.warn({ err: error, organizationId }, 'event stream failed')
      response.close(retryText(RETRY_MS.slow))
    } finally {
      responses.delete(response)
      open.dec()
    }
  }

  return {
    /**
     * The body of an answer of the type `text/event-stream`.
     * @param lastEventId the header `Last-Event-ID`
     * @throws AppError 429 `too_many_streams`; 503 `streams_full`
     */
    open(caller: Caller, lastEventId: string | null): ReadableStream<Uint8Array> {
      const { organizationId } = caller.viewer
      assertRoom(
        [...responses.values()].filter((one) => one.organizationId === organizationId).length,
        responses.size,
      )
      if (isStopping) throw new AppError('streams_full', 'This process is stopping. Connect again.', again(1))
      const response = createResponseStream(options.timeoutMs)
      const done = Promise.withResolvers<void>()
      responses.set(response, { organizationId, done: done.promise })
      open.inc()
      void follow(caller, lastEventId, response).finally(done.resolve)
      return response.body
    },

    /** Ends every stream. Clients connect again, and go on where they were. */
    async stop(): Promise<void> {
      isStopping = true
      const left = [...responses]
      for (const [response] of left) {
        const spread = SPREAD_MS.from + Math.random() * (SPREAD_MS.to - SPREAD_MS.from)
        response.close(retryText(Math.round(spread)))
      }
      await Promise.all(left.map(([, { done }]) => done))
      await feeds.stop()
    },
  }
}

/** A process may build its features more than once over the same metrics. */
function openStreams({ registry }: Pick<Metrics, 'registry'>): Gauge {
  const gauge = { name: 'earshot_event_stream_open', help: 'Open event streams', registers: [registry] }
  return (registry.getSingleMetric(gauge.name) as Gauge | undefined) ?? new Gauge(gauge)
}

const again = (seconds: number) => ({ headers: { 'retry-after': String(seconds) } })

function assertRoom(ofOrganization: number, inAll: number): void {
  if (ofOrganization >= MOST_STREAMS.ofOrganization)
    throw new AppError(
      'too_many_streams',
      `The organization has ${MOST_STREAMS.ofOrganization} open streams, which is the limit. Close one first.`,
      again(30),
    )
  if (inAll >= MOST_STREAMS.inAll)
    throw new AppError('streams_full', 'Too many streams are open. Try again later.', again(10))
}
