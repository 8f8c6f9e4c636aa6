/**
 * Streams of changes for clients that stay connected.
 *
 * The log in PostgreSQL is the buffer of every client: a client that reads slowly lags behind, and one that does not read is disconnected. A
 * client that connects again, to any process, goes on behind the event that it saw last.
 */
import { Gauge } from 'prom-client'
import type { Deps } from '../../kernel/deps.ts'
import type { Viewer } from '../../kernel/principal.ts'
import { AppError } from '../../platform/errors.ts'
import { counterOf, type Metrics } from '../../platform/observability/metrics.ts'
import { type End, sendChanges } from './client.ts'
import { retryText, startOf } from './event.rules.ts'
import { createFeeds, type Feed } from './feeds.ts'
import { createEventLog, type LogDeps } from './log.ts'
import { createResponseStream, type ResponseStream, SlowClient } from './response-stream.ts'

export type EventStream = ReturnType<typeof createEventStream>

export type EventStreamDeps = LogDeps & Pick<Deps, 'sql' | 'servers' | 'clock' | 'log' | 'metrics'>

/** Connections of this process. */
export const MOST_STREAMS = { ofOrganization: 100, inAll: 1_000 } as const

export interface StreamOptions {
  readonly heartbeatMs?: number
  readonly timeoutMs?: number
}

/**
 * Before a client connects again. Each client has another pause, so that those of a process that crashed do not come back together.
 */
const RETRY_MS = { from: 500, to: 5_000 } as const
/** The same for clients that were too slow. */
const SLOW_RETRY_MS = { from: 10_000, to: 20_000 } as const

const pauseWithin = ({ from, to }: { readonly from: number; readonly to: number }) =>
  retryText(Math.round(from + Math.random() * (to - from)))

/** The caller, with a check that the credential is still good for the same organization. */
export interface Caller {
  readonly viewer: Viewer
  readonly isAdmitted: () => Promise<boolean>
}

export function createEventStream(deps: EventStreamDeps, options: StreamOptions = {}) {
  const { clock, log, metrics } = deps
  const feeds = createFeeds(deps)
  const events = createEventLog(deps, feeds)
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

  async function serve(
    { viewer, isAdmitted }: Caller,
    lastEventId: string | null,
    response: ResponseStream,
  ): Promise<End> {
    const feed = feeds.join(viewer.organizationId)
    try {
      await response.write(`: earshot\n${pauseWithin(RETRY_MS)}`)
      await Promise.race([feed.opened, aborted(response.ended)])
      if (response.ended.aborted) return 'gone'
      // Clients that come together share it. Another process may have numbered what this client saw there.
      await feeds.look(feed)
      const start = startOf(feed, lastEventId)
      const read = (of: Feed, after: number) => events.read(viewer, of, after)
      return await sendChanges(
        { clock, heartbeatMs: options.heartbeatMs, isAdmitted, read },
        feed,
        response,
        start,
      )
    } finally {
      feeds.leave(feed)
    }
  }

  async function follow(caller: Caller, lastEventId: string | null, response: ResponseStream): Promise<void> {
    const { organizationId } = caller.viewer
    try {
      ends.inc({ reason: await serve(caller, lastEventId, response) })
      response.close(pauseWithin(RETRY_MS))
    } catch (error) {
      const isSlow = error instanceof SlowClient
      ends.inc({ reason: isSlow ? 'slow' : 'failed' })
      if (!isSlow) log.warn({ err: error, organizationId }, 'event stream failed')
      response.close(pauseWithin(SLOW_RETRY_MS))
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
      for (const [response] of left) response.close(pauseWithin(RETRY_MS))
      await Promise.all(left.map(([, { done }]) => done))
      await feeds.stop()
    },
  }
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })

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
