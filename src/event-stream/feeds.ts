/**
 * What one process knows of the streams of organizations that have clients here.
 *
 * One statement every second asks for the news of all of them. A notification asks for those of one organization earlier. Both are hints:
 * the log in PostgreSQL decides.
 */
import type { Deps } from '../container.ts'
import { type Listener, listen } from '../platform/db/listener.ts'
import { transaction } from '../platform/db/transaction.ts'
import type { Change } from './event.rules.ts'
import { type CurrentStream, currentStreams, numberEntries, touchStreams } from './log.store.ts'

const POLL_MS = 1_000
/** Least time between two looks for one organization. Meanwhile its entries gather. */
const GATHER_MS = 100
const TOUCH_EVERY_MS = 60_000
const CHANNEL = 'event_stream'

/** The stream of one organization, as far as this process knows. */
export interface Feed {
  readonly organizationId: string
  readonly generation: string
  readonly lastSeq: number
  readonly lostSeq: number
  /** False after the organization was deleted, or its log was closed. */
  readonly isOpen: boolean
  /** Resolves at the next news. */
  readonly changed: Promise<void>
  /** Pages that clients with the same rights share until the next news. */
  readonly pages: Map<string, Promise<readonly Change[]>>
}

type OpenFeed = { -readonly [K in keyof Feed]: Feed[K] } & {
  clients: number
  announce: () => void
  lookedAt: number
  look: Promise<void> | null
}

export interface Feeds {
  /** Call `leave` once for each call. */
  join(stream: Pick<CurrentStream, 'organizationId' | 'generation' | 'lastSeq' | 'lostSeq'>): Feed
  leave(feed: Feed): void
  /** Brings the feed to what is committed now. */
  look(feed: Feed): Promise<void>
  stop(): Promise<void>
}

export function createFeeds({ sql, servers, log }: Pick<Deps, 'sql' | 'servers' | 'log'>): Feeds {
  const feeds = new Map<string, OpenFeed>()
  let timer: Timer | null = null
  let listening: Promise<Listener | null> | null = null
  let touchedAt = performance.now()
  let polling: Promise<void> = Promise.resolve()
  let isStopped = false

  function advance(feed: OpenFeed, news: Partial<CurrentStream>): void {
    const {
      lastSeq = feed.lastSeq,
      lostSeq = feed.lostSeq,
      generation = feed.generation,
      isActive = true,
    } = news
    if (isActive && lastSeq <= feed.lastSeq && lostSeq <= feed.lostSeq && generation === feed.generation)
      return
    feed.lastSeq = Math.max(lastSeq, feed.lastSeq)
    feed.lostSeq = lostSeq
    feed.isOpen &&= isActive && generation === feed.generation
    feed.pages.clear()
    const { announce } = feed
    const next = Promise.withResolvers<void>()
    feed.changed = next.promise
    feed.announce = next.resolve
    announce()
  }

  async function numberAll(feed: OpenFeed, stream: CurrentStream): Promise<void> {
    advance(feed, stream)
    for (let before = -1; stream.isWaiting && before < feed.lastSeq && !isStopped; ) {
      before = feed.lastSeq
      const lastSeq = await transaction(sql, (tx) => numberEntries(tx, feed.organizationId))
      if (lastSeq !== null) advance(feed, { lastSeq })
    }
  }

  async function lookAt(some: readonly OpenFeed[]): Promise<void> {
    const found = await currentStreams(
      sql,
      some.map(({ organizationId }) => organizationId),
    )
    for (const feed of some) {
      const stream = found.find(({ organizationId }) => organizationId === feed.organizationId)
      if (stream === undefined) advance(feed, { isActive: false })
      else await numberAll(feed, stream)
    }
  }

  /** Looks after a pause since the last look. Calls during the pause share its look. */
  function lookSoon(feed: OpenFeed): void {
    feed.look ??= Bun.sleep(Math.max(0, GATHER_MS - (performance.now() - feed.lookedAt))).then(async () => {
      feed.look = null
      feed.lookedAt = performance.now()
      if (!isStopped) await lookAt([feed]).catch(report)
    })
  }

  const report = (error: unknown) => log.debug({ err: error }, 'polling the event log failed')

  async function poll(): Promise<void> {
    const some = [...feeds.values()]
    if (some.length === 0 || isStopped) return
    if (performance.now() - touchedAt > TOUCH_EVERY_MS) {
      touchedAt = performance.now()
      await touchStreams(
        sql,
        some.map(({ organizationId }) => organizationId),
      )
    }
    await lookAt(some)
  }

  function start(): void {
    let isPolling = false
    timer ??= setInterval(() => {
      if (isPolling) return
      isPolling = true
      polling = poll()
        .catch(report)
        .finally(() => {
          isPolling = false
        })
    }, POLL_MS)
    listening ??= listen(servers.database, {
      channels: [CHANNEL],
      applicationName: 'earshot-event-stream',
      log,
      onNotification(_, organizationId) {
        const feed = feeds.get(organizationId)
        if (feed !== undefined) lookSoon(feed)
      },
    }).catch((error: unknown) => {
      log.warn({ err: error }, 'not listening for news of streams; they are polled')
      listening = null
      return null
    })
  }

  return {
    join(stream) {
      start()
      const known = feeds.get(stream.organizationId)
      if (known?.isOpen && known.generation === stream.generation) {
        known.clients++
        return known
      }
      const { promise, resolve } = Promise.withResolvers<void>()
      const { organizationId, generation, lastSeq, lostSeq } = stream
      const fresh: OpenFeed = {
        ...{ organizationId, generation, lastSeq, lostSeq },
        ...{ isOpen: true, changed: promise, announce: resolve, pages: new Map() },
        ...{ clients: 1, lookedAt: 0, look: null },
      }
      feeds.set(organizationId, fresh)
      return fresh
    },
    leave(feed) {
      const known = feed as OpenFeed
      known.clients--
      if (known.clients > 0) return
      if (feeds.get(known.organizationId) === known) feeds.delete(known.organizationId)
      if (feeds.size > 0 || timer === null) return
      clearInterval(timer)
      timer = null
    },
    look: (feed) => lookAt([feed as OpenFeed]),
    async stop() {
      isStopped = true
      if (timer !== null) clearInterval(timer)
      await Promise.all([polling, ...[...feeds.values()].map(({ look }) => look)])
      await (await listening)?.close()
    },
  }
}
