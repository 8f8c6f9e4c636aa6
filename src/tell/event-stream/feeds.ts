/**
 * What one process knows of the streams of organizations that have clients here. It follows each log once, for all clients.
 *
 * One statement every second asks for the news of all of them. A notification asks for those of one organization earlier. Both are hints:
 * the log in PostgreSQL decides. A client joins where the process is, so clients that arrive cost the database nothing.
 */
import type { Deps } from '../../kernel/deps.ts'
import { createFairQueue } from '../../platform/concurrency/fair-queue.ts'
import { untilEarlierEnded } from '../../platform/db/earlier-transactions.ts'
import { type Listener, listen } from '../../platform/db/listener.ts'
import { transaction } from '../../platform/db/transaction.ts'
import type { StreamState } from './event.rules.ts'
import * as store from './log.store.ts'

const POLL_MS = 1_000
/** Least time between two rounds of one organization. Meanwhile its entries gather. */
const GATHER_MS = 100
const TOUCH_EVERY_MS = 60_000
/** Organizations whose entries are numbered at a time. */
const NUMBERED_AT_ONCE = 2
const CHANNEL = 'event_stream'

/** The stream of one organization, as far as this process knows. */
export interface Feed extends StreamState {
  readonly organizationId: string
  /** False after the organization was deleted, or its log was closed. */
  readonly isOpen: boolean
  /** Resolves when no change can be left out any more. @throws errors of the database */
  readonly opened: Promise<void>
  /** Resolves at the next news. */
  readonly changed: Promise<void>
}

type News = Partial<StreamState> & { readonly isActive?: boolean }

type OpenFeed = { -readonly [K in keyof Feed]: Feed[K] } & {
  clients: number
  announce: () => void
  /** Entries may wait for their numbers. */
  isWaiting: boolean
  round: Promise<void> | null
}

export interface Feeds {
  /** Call `leave` once for each call. */
  join(organizationId: string): Feed
  leave(feed: Feed): void
  /** Resolves when the feed has everything that was numbered before the call. Calls at the same time share a look. */
  look(feed: Feed): Promise<void>
  /** Takes over what was read elsewhere. */
  advance(feed: Feed, news: News): void
  stop(): Promise<void>
}

export function createFeeds({ sql, servers, log }: Pick<Deps, 'sql' | 'servers' | 'log'>): Feeds {
  const feeds = new Map<string, OpenFeed>()
  const numbering = createFairQueue({ places: NUMBERED_AT_ONCE })
  let timer: Timer | null = null
  let listening: Promise<Listener | null> | null = null
  let touchedAt = Number.NEGATIVE_INFINITY
  let polling: Promise<void> = Promise.resolve()
  let looking: Promise<void> = Promise.resolve()
  /** The look that has not begun, and for whom. */
  let nextLook: Promise<void> | null = null
  const wanted = new Set<OpenFeed>()
  let isStopped = false

  const report = (error: unknown) => log.debug({ err: error }, 'following the event log failed')

  function advance(feed: OpenFeed, { isActive = true, ...news }: News): void {
    const { lastSeq = feed.lastSeq, lostSeq = feed.lostSeq, generation = feed.generation } = news
    const isSame = generation === feed.generation
    if (isActive && isSame && lastSeq <= feed.lastSeq && lostSeq <= feed.lostSeq) return
    // Another generation gives its numbers anew. Within one, an older answer may arrive later.
    feed.lastSeq = isSame ? Math.max(lastSeq, feed.lastSeq) : lastSeq
    feed.lostSeq = isSame ? Math.max(lostSeq, feed.lostSeq) : lostSeq
    feed.generation = generation
    feed.isOpen &&= isActive
    const { announce } = feed
    const next = Promise.withResolvers<void>()
    feed.changed = next.promise
    feed.announce = next.resolve
    announce()
  }

  async function lookAt(some: readonly OpenFeed[]): Promise<void> {
    const ids = some.map(({ organizationId }) => organizationId)
    const found = new Map((await store.currentStreams(sql, ids)).map((one) => [one.organizationId, one]))
    for (const feed of some) {
      const stream = found.get(feed.organizationId)
      advance(feed, stream ?? { isActive: false })
      if (stream?.isWaiting) wake(feed)
    }
  }

  function look(some: readonly OpenFeed[]): Promise<void> {
    for (const feed of some) wanted.add(feed)
    nextLook ??= looking.then(() => {
      nextLook = null
      const all = [...wanted]
      wanted.clear()
      const done = lookAt(all)
      looking = done.catch(() => {})
      return done
    })
    return nextLook
  }

  /** Begins a round unless one runs, which then goes on. */
  function wake(feed: OpenFeed): void {
    feed.isWaiting = true
    feed.round ??= numberWaiting(feed)
      .catch(report)
      .finally(() => {
        feed.round = null
        if (feed.isWaiting && isFollowed(feed)) wake(feed)
      })
  }

  const isFollowed = ({ isOpen, clients }: OpenFeed) => isOpen && clients > 0 && !isStopped

  /** Numbers entries, some at a time, so that a client reads them while others are numbered. */
  async function numberWaiting(feed: OpenFeed): Promise<void> {
    while (feed.isWaiting && isFollowed(feed)) {
      const pause = Bun.sleep(GATHER_MS)
      feed.isWaiting = false
      const { organizationId } = feed
      const numbered = await numbering.run(organizationId, () =>
        transaction(sql, (tx) => store.numberEntries(tx, organizationId)),
      )
      // Another process may be numbering. Then its numbers are seen at the next look.
      feed.isWaiting ||= numbered === null || numbered === store.NUMBERED_TOGETHER
      await look([feed])
      await pause
    }
  }

  async function open(feed: OpenFeed): Promise<void> {
    const { organizationId } = feed
    const find = async () => (await store.currentStreams(sql, [organizationId]))[0]
    let stream = await find()
    if (!stream?.isActive) {
      await store.openStream(sql, organizationId, crypto.randomUUID().slice(0, 8))
      stream = await find()
    }
    if (stream?.isComplete === false) {
      const isOver = () => isStopped || feed.clients === 0
      if (await untilEarlierEnded(sql, { isOver })) await store.completeStream(sql, organizationId)
    }
    advance(feed, stream ?? { isActive: false })
    wake(feed)
  }

  async function poll(): Promise<void> {
    const some = [...feeds.values()].filter(({ generation }) => generation !== '')
    if (some.length === 0 || isStopped) return
    if (performance.now() - touchedAt > TOUCH_EVERY_MS) {
      touchedAt = performance.now()
      await store.touchStreams(
        sql,
        some.map(({ organizationId }) => organizationId),
      )
    }
    await look(some)
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
        if (feed !== undefined && feed.generation !== '') wake(feed)
      },
    }).catch((error: unknown) => {
      log.warn({ err: error }, 'not listening for news of streams; they are polled')
      listening = null
      return null
    })
  }

  function create(organizationId: string): OpenFeed {
    const { promise, resolve } = Promise.withResolvers<void>()
    const feed: OpenFeed = {
      ...{ organizationId, generation: '', lastSeq: 0, lostSeq: 0, isOpen: true },
      ...{ opened: promise, changed: promise, announce: resolve },
      ...{ clients: 0, isWaiting: false, round: null },
    }
    feeds.set(organizationId, feed)
    // The stream of the first client may have been without one for nearly an hour.
    touchedAt = Number.NEGATIVE_INFINITY
    feed.opened = open(feed)
    feed.opened.catch(() => {
      feed.isOpen = false
    })
    return feed
  }

  return {
    join(organizationId) {
      start()
      const known = feeds.get(organizationId)
      const feed = known?.isOpen ? known : create(organizationId)
      feed.clients++
      return feed
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
    look: (feed) => look([feed as OpenFeed]),
    advance: (feed, news) => advance(feed as OpenFeed, news),
    async stop() {
      isStopped = true
      if (timer !== null) clearInterval(timer)
      const rounds = [...feeds.values()].map(({ round }) => round)
      await Promise.all([polling, looking, ...rounds])
      await (await listening)?.close()
    },
  }
}
