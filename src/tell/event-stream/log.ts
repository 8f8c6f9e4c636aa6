/**
 * Reads logs for the clients of a process. Each entry is read once and kept as text in pages that all clients share. What a client may
 * see is judged when it is sent, once for all clients with the same rights.
 */
import { LRUCache } from 'lru-cache'
import type { Folders } from '../../calls/folders/service.ts'
import type { Conversations } from '../../hear/agents/reads/service.ts'
import type { Deps } from '../../kernel/deps.ts'
import type { Viewer } from '../../kernel/principal.ts'
import { asCaller } from '../../platform/concurrency/caller.ts'
import { createFairQueue } from '../../platform/concurrency/fair-queue.ts'
import { type Change, changeText } from './event.rules.ts'
import type { Feed, Feeds } from './feeds.ts'
import * as store from './log.store.ts'

/** Numbers of one page. */
const PAGE = 500
/** Pages of all organizations: about 10 MB. */
const KEPT_PAGES = 64
/** Statements at the same time. */
const PLACES = 3

export interface LogDeps extends Pick<Deps, 'reads'> {
  readonly folders: Pick<Folders, 'visibleRecording'>
  readonly conversations: Pick<Conversations, 'readableApplications'>
}

/** Events for one client. */
export interface Part {
  /** Empty if the viewer may see none of them. */
  readonly text: string
  /** Number of the last event that is covered. */
  readonly upTo: number
}

interface Entry extends Pick<Change, 'seq' | 'applicationId' | 'recordingId'> {
  readonly text: string
}

interface Page {
  readonly entries: Entry[]
  /** Everything up to here was read. */
  upTo: number
  reading: Promise<void> | null
}

export function createEventLog({ reads, folders, conversations }: LogDeps, feeds: Pick<Feeds, 'advance'>) {
  const pages = new LRUCache<string, Page>({ max: KEPT_PAGES })
  const parts = new Map<string, Promise<Part>>()
  const places = createFairQueue({ places: PLACES })
  /** In the turn of the organization. */
  const inTurn = <T>(caller: string, work: () => Promise<T>) =>
    places.run(caller, () => asCaller(caller, work))

  async function extend(feed: Feed, page: Page, end: number): Promise<void> {
    const { organizationId, generation } = feed
    const after = page.upTo
    const { stream, entries } = await inTurn(organizationId, () =>
      store.readEntries(reads, organizationId, after, end),
    )
    // Of the same snapshot as the entries: what was deleted, or belongs to another generation, is never taken for nothing.
    feeds.advance(feed, stream ?? { isActive: false })
    if (stream?.generation !== generation) return
    for (const entry of entries) {
      const { seq, applicationId, recordingId } = entry
      page.entries.push({ seq, applicationId, recordingId, text: changeText(generation, entry) })
    }
    page.upTo = end
  }

  /** Entries after `after`, of one page. */
  async function entriesOf(feed: Feed, after: number): Promise<{ entries: readonly Entry[]; upTo: number }> {
    const { organizationId, generation } = feed
    const number = Math.floor(after / PAGE)
    const upTo = Math.min(feed.lastSeq, (number + 1) * PAGE)
    const key = `${organizationId} ${generation} ${number}`
    const page = pages.get(key) ?? { entries: [], upTo: number * PAGE, reading: null }
    pages.set(key, page)
    while (page.upTo < upTo && feed.generation === generation && feed.isOpen) {
      page.reading ??= extend(feed, page, upTo).finally(() => {
        page.reading = null
      })
      await page.reading
    }
    const from = page.entries.findIndex(({ seq }) => seq > after)
    return { entries: from < 0 ? [] : page.entries.slice(from).filter(({ seq }) => seq <= upTo), upTo }
  }

  async function visibleTo(viewer: Viewer, entries: readonly Entry[]): Promise<readonly Entry[]> {
    const idsOf = (name: 'applicationId' | 'recordingId') => [
      ...new Set(entries.flatMap((entry) => entry[name] ?? [])),
    ]
    const guarded = { applications: idsOf('applicationId'), recordings: idsOf('recordingId') }
    if (guarded.applications.length + guarded.recordings.length === 0) return entries
    const { organizationId } = viewer
    const reader = { organizationId, userId: userOf(viewer) }
    const seen = await inTurn(organizationId, () =>
      store.readVisible(
        reads,
        guarded,
        conversations.readableApplications(reads, reader, undefined),
        folders.visibleRecording(reads, viewer),
      ),
    )
    const [applications, recordings] = [new Set(seen.applications), new Set(seen.recordings)]
    return entries.filter(
      ({ applicationId, recordingId }) =>
        (applicationId === null || applications.has(applicationId)) &&
        (recordingId === null || recordings.has(recordingId)),
    )
  }

  async function readPart(viewer: Viewer, feed: Feed, after: number): Promise<Part> {
    const { entries, upTo } = await entriesOf(feed, after)
    const visible = await visibleTo(viewer, entries)
    return { text: visible.map(({ text }) => text).join(''), upTo }
  }

  return {
    /** The events after number `after` that the viewer may see now, of one page. */
    read(viewer: Viewer, feed: Feed, after: number): Promise<Part> {
      const key = `${feed.organizationId} ${userOf(viewer)} ${feed.generation} ${after} ${feed.lastSeq}`
      const known = parts.get(key)
      if (known !== undefined) return known
      const part = readPart(viewer, feed, after)
      parts.set(key, part)
      // Rights may change: only a part that is being read is shared.
      const forget = () => void parts.delete(key)
      part.then(forget, forget)
      return part
    },
  }
}

const userOf = (viewer: Viewer): string | null => (viewer.kind === 'user' ? viewer.userId : null)
