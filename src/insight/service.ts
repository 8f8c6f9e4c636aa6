/**
 * What customers said, over every channel: search and counts. What one person said is in `timeline`.
 *
 * Nothing has an index of its own for it yet. Each question reads a bounded number of rows, by existing indexes, and the answer says
 * where it stopped. Questions share a few places in turns, so those of one organization do not delay those of another. The same rules
 * of access hold as in the lists: of recordings by their folders, of conversations by their application.
 */
import type { Conversations } from '../agents/reads/service.ts'
import type { Deps } from '../container.ts'
import type { Folders } from '../folders/service.ts'
import type { UserPrincipal } from '../identity/authentication.ts'
import { createFairPlaces } from '../platform/concurrency/fair-places.ts'
import { invalid } from '../platform/validation/json.ts'
import type { Recordings } from '../recordings/service.ts'
import * as counts from './counts.store.ts'
import {
  CHANNELS,
  type Channel,
  type Count,
  KEYS_OF,
  type Key,
  type Metric,
  type Period,
  type Quotation,
} from './model.ts'
import * as search from './search.store.ts'
import { excerptOf, patternsOf, wordsOf } from './words.rules.ts'

export type Insight = ReturnType<typeof createInsight>

export interface InsightDeps extends Pick<Deps, 'reads' | 'clock'> {
  readonly folders: Pick<Folders, 'visibleRecording'>
  readonly conversations: Pick<Conversations, 'readableApplications'>
  readonly recordings: Pick<Recordings, 'list'>
}

/** Questions that one process answers at a time. */
const PLACES = [1, 2, 3]
const EXCERPT = 500
const DAY_MS = 86_400_000
const DEFAULT_DAYS = 30
const MAX_DAYS = 366

export interface SearchRequest extends Period {
  readonly query: string
  readonly channel?: Channel | undefined
  readonly limit: number
}

export interface CountRequest extends Period {
  readonly metric: Metric
  readonly by: readonly Key[]
  readonly kind?: string | undefined
  readonly rating?: string | undefined
  readonly agentKey?: string | undefined
}

export function createInsight(deps: InsightDeps) {
  const { reads, clock } = deps
  const places = createFairPlaces(PLACES)
  const applicationsOf = ({ organizationId, userId }: UserPrincipal, agentKey?: string) =>
    deps.conversations.readableApplications(reads, { organizationId, userId }, agentKey)

  return {
    /** Newest first. @throws AppError 400 if the query has no word */
    async search(user: UserPrincipal, request: SearchRequest): Promise<readonly Quotation[]> {
      assertWords(request.query)
      return places.run(user.organizationId, async () => {
        const wanted = request.channel === undefined ? CHANNELS : [request.channel]
        const found = await Promise.all(
          wanted.map((channel) => SEARCHES[channel](deps, user, request, applicationsOf)),
        )
        return newest(found.flat(), request.limit)
      })
    },

    assertWords,

    /** @throws AppError 400 */
    checkCounts: (request: CountRequest): void => void periodOf(request, clock.now()),

    /** @throws AppError 400 */
    async counts(user: UserPrincipal, request: CountRequest) {
      const period = periodOf(request, clock.now())
      const rows = await places.run(user.organizationId, async () =>
        countRows(deps, user, { ...request, ...period }, applicationsOf),
      )
      const total = rows[0]?.total ?? 0
      const complete = total <= counts.COUNTED_ROWS && rows.length < counts.MAX_GROUPS
      return { ...period, data: rows.map((row) => countOf(request.by, row)), total, complete }
    },
  }
}

type ApplicationsOf = (user: UserPrincipal) => search.Fragment
type Search = (
  deps: InsightDeps,
  user: UserPrincipal,
  request: SearchRequest,
  applicationsOf: ApplicationsOf,
) => Promise<readonly Quotation[]>

const SEARCHES: Readonly<Record<Channel, Search>> = {
  async recording({ recordings, reads }, user, { query, since, until, limit }) {
    const filter = { text: query, startedAfter: since, startedBefore: until }
    const { rows } = await recordings.list(user, filter, { after: null, offset: 0, limit })
    const ids = rows.slice(0, limit).map(({ id }) => id)
    const words = wordsOf(query)
    const said = await search.firstUtterances(reads, user.organizationId, ids, patternsOf(words))
    const byId = new Map(said.map((utterance) => [utterance.recordingId, utterance]))
    return rows.slice(0, limit).map(({ id, displayName, summary, startedAt, createdMoment }) => ({
      channel: 'recording' as const,
      id,
      title: displayName,
      sourceId: null,
      // Words in the name only, or the words of a phrase far apart.
      text: excerptOf(byId.get(id)?.text ?? summary ?? displayName ?? '', words, EXCERPT),
      occurredAt: startedAt ?? new Date(createdMoment),
      startSec: byId.get(id)?.startSec ?? null,
    }))
  },
  async feedback({ reads }, user, { query, limit, ...period }) {
    const patterns = patternsOf(wordsOf(query))
    const rows = await search.feedbackWith(reads, user.organizationId, patterns, period, limit)
    return rows.map((row) => quotation('feedback', row, query))
  },
  async conversation({ reads }, user, { query, limit, ...period }, applicationsOf) {
    const patterns = patternsOf(wordsOf(query))
    const scope = { period, limit }
    const rows = await search.messagesWith(reads, user.organizationId, applicationsOf(user), patterns, scope)
    return rows.map((row) => quotation('conversation', row, query))
  },
}

function quotation(channel: Channel, { text, ...row }: search.PassageRow, query: string): Quotation {
  return { channel, ...row, text: excerptOf(text, wordsOf(query), EXCERPT), startSec: null }
}

const newest = <T extends { readonly occurredAt: Date }>(all: readonly T[], limit: number): readonly T[] =>
  all.toSorted((a, b) => b.occurredAt.getTime() - a.occurredAt.getTime()).slice(0, limit)

/** @throws AppError 400 */
function assertWords(query: string): void {
  if (wordsOf(query).length === 0)
    throw invalid([{ path: 'query', code: 'blank', message: 'must contain a word or a number' }])
}

/** @throws AppError 400 */
function periodOf(
  { metric, by, since, until }: CountRequest,
  now: Date,
): Required<{ since: string; until: string }> {
  const unfit = by.find((key) => !KEYS_OF[metric].includes(key))
  if (unfit !== undefined || new Set(by).size < by.length)
    throw invalid([
      {
        path: 'by',
        code: 'contradiction',
        message: `must be one or two different ones of ${KEYS_OF[metric].join(', ')} for ${metric}`,
      },
    ])
  const end = until ?? new Date(now.getTime() + 1).toISOString()
  const start = since ?? new Date(Date.parse(end) - DEFAULT_DAYS * DAY_MS).toISOString()
  const days = (Date.parse(end) - Date.parse(start)) / DAY_MS
  if (days <= 0 || days > MAX_DAYS)
    throw invalid([
      { path: 'since', code: 'range', message: `must be before until, by at most ${MAX_DAYS} days` },
    ])
  return { since: start, until: end }
}

function countRows(
  { reads, folders }: InsightDeps,
  user: UserPrincipal,
  { metric, by, kind, rating, agentKey, ...period }: CountRequest,
  applicationsOf: (user: UserPrincipal, agentKey?: string) => search.Fragment,
): PromiseLike<readonly counts.CountRow[]> {
  const { organizationId } = user
  const grouping = { first: by[0] ?? 'day', second: by[1] ?? null }
  switch (metric) {
    case 'signals': {
      const filter = { grouping, kind, rating }
      return counts.countSignals(reads, organizationId, applicationsOf(user, agentKey), period, filter)
    }
    case 'sessions':
      return counts.countSessions(reads, organizationId, applicationsOf(user, agentKey), period, grouping)
    case 'feedback':
      return counts.countFeedback(reads, organizationId, period, grouping)
    case 'recordings':
      return counts.countRecordings(reads, folders.visibleRecording(reads, user), period, grouping)
  }
}

function countOf([first = 'day', second]: readonly Key[], row: counts.CountRow): Count {
  const keys = { [first]: row.first, ...(second === undefined ? {} : { [second]: row.second }) }
  return { keys, count: row.count }
}
