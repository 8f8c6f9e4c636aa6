/**
 * What customers said, over every channel: counts. What one person said is in `timeline`.
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
import * as counts from './counts.store.ts'
import { type Count, KEYS_OF, type Key, type Metric, type Period } from './model.ts'
import type { Fragment } from './period.store.ts'

export type Insight = ReturnType<typeof createInsight>

export interface InsightDeps extends Pick<Deps, 'reads' | 'clock'> {
  readonly folders: Pick<Folders, 'visibleRecording'>
  readonly conversations: Pick<Conversations, 'readableApplications'>
}

/** Questions that one process answers at a time. */
const PLACES = [1, 2, 3]
const DAY_MS = 86_400_000
const DEFAULT_DAYS = 30
const MAX_DAYS = 366

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
  applicationsOf: (user: UserPrincipal, agentKey?: string) => Fragment,
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
