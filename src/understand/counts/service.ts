/**
 * What customers said, over every channel: counts and summaries. What one person said is in `timeline`.
 *
 * Counts are kept up to date by triggers (migration 0060), so a question reads a few rows a day, however much was said. Questions share a few
 * places in turns, so those of one organization do not delay those of another. The same rules of access hold as in the lists: of recordings
 * by their folders, of conversations by their application.
 */

import type { Folders } from '../../calls/folders/service.ts'
import type { Conversations } from '../../hear/agents/reads/service.ts'
import type { Deps } from '../../kernel/deps.ts'
import type { Viewer } from '../../kernel/principal.ts'
import { createFairQueue } from '../../platform/concurrency/fair-queue.ts'
import { isFinished } from '../../platform/db/data-change.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { errorCode } from '../../platform/db/sqlstate.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { AppError } from '../../platform/errors.ts'
import type { Day } from '../../platform/time-zone.rules.ts'
import { COVERAGE_CHANGES, changeOf } from './backfill.ts'
import {
  assertCountable,
  coverageOf,
  coveredChannels,
  type Days,
  daysOf,
  daysOfDigest,
  METRIC_OF,
  momentOf,
} from './counts.rules.ts'
import * as store from './counts.store.ts'
import { type Digest, type DigestAccess, digestOf } from './digest/digest.ts'
import type { Count, CountRequest, Counts, Coverage, Key, Period } from './model.ts'

export type Insight = ReturnType<typeof createInsight>

export interface InsightDeps extends Pick<Deps, 'sql' | 'clock'> {
  readonly folders: Pick<Folders, 'hiddenRecordings' | 'visibleRecording'>
  readonly conversations: Pick<Conversations, 'readableApplications'>
}

/** Questions that one process answers at a time. */
const PLACES = 3
/** Questions of one organization, waiting and running. */
const MAX_OF_ORGANIZATION = 30
const STATEMENT_MS = 5_000

/** @param statementMs time limit of each statement */
export function createInsight(deps: InsightDeps, statementMs = STATEMENT_MS) {
  const queue = createFairQueue({
    places: PLACES,
    maxOfCaller: MAX_OF_ORGANIZATION,
    refusal: () =>
      new AppError(
        'insights_busy',
        'Too many counts of the organization are running. Try again in a moment.',
      ),
  })
  const inTurn = <T>(organizationId: string, work: (tx: Tx) => Promise<T>): Promise<T> =>
    queue.run(organizationId, () => readOnly(work))

  async function readOnly<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    try {
      return await transaction(
        deps.sql,
        async (tx) => {
          await store.prepareCounts(tx, statementMs)
          return work(tx)
        },
        'read only',
      )
    } catch (error) {
      if (errorCode(error) !== '57014') throw error
      const message = 'The count took too long. Use a shorter period, or do not ask for areas and versions.'
      throw new AppError('insights_timed_out', message, { cause: error })
    }
  }

  return {
    /** @param pathOf what the caller calls a filter @throws AppError 400 */
    checkCounts(request: CountRequest, pathOf?: (filter: string) => string): void {
      assertCountable(request, pathOf)
      daysOf(request, deps.clock.now(), 'UTC')
    },

    /** @throws AppError 400; 503 `insights_busy`, `insights_timed_out` */
    async counts(viewer: Viewer, request: CountRequest): Promise<Counts> {
      assertCountable(request)
      return inTurn(viewer.organizationId, (tx) => count(deps, tx, viewer, request))
    },

    /**
     * @param quotations of each kind and area
     * @throws AppError 400; 503 `insights_busy`, `insights_timed_out`
     */
    async digest(viewer: Viewer, period: Period, quotations: number): Promise<Digest> {
      return inTurn(viewer.organizationId, async (tx) => {
        const { timeZone } = await store.readTimeZone(tx, viewer.organizationId)
        const days = daysOfDigest(period, deps.clock.now(), timeZone)
        return digestOf(tx, accessOf(deps, tx, viewer), days, quotations)
      })
    },

    /** The summary of the days from one to the other, as the organization's clocks have them. @throws AppError as `digest` */
    async digestOfDays(viewer: Viewer, from: Day, to: Day, quotations: number): Promise<Digest> {
      return inTurn(viewer.organizationId, async (tx) => {
        const { timeZone } = await store.readTimeZone(tx, viewer.organizationId)
        return digestOf(tx, accessOf(deps, tx, viewer), { timeZone, from, to }, quotations)
      })
    },
  }
}

async function count(deps: InsightDeps, tx: Tx, viewer: Viewer, request: CountRequest): Promise<Counts> {
  const access = accessOf(deps, tx, viewer)
  const { timeZone, isCounted } = await store.readTimeZone(tx, viewer.organizationId)
  const days = daysOf(request, deps.clock.now(), timeZone)
  const [rows, coverage, ...counted] = await Promise.all([
    store.countRows(tx, access, request, days),
    readCoverage(tx, access, request, days),
    isFinished(tx, changeOf(request.metric)),
    ...COVERAGE_CHANGES.map(({ name }) => isFinished(tx, name)),
  ])
  return {
    timeZone,
    since: momentOf(days.from, timeZone),
    until: momentOf(days.to, timeZone),
    data: rows.map((row) => countOf(request.by, row)),
    total: rows[0]?.total ?? 0,
    coverage,
    complete: isCounted && counted.every(Boolean) && (rows[0]?.groups ?? 0) <= store.MAX_GROUPS,
  }
}

/** How much of what the metric counts was read. Filters by what was found do not apply, because what was not read has no findings. */
async function readCoverage(
  tx: Tx,
  access: store.CountAccess,
  request: CountRequest,
  days: Days,
): Promise<Coverage> {
  const { channel, agentKey, productArea, agentVersion } = request
  const filters = { channel, agentKey, productArea, agentVersion }
  const channels = coveredChannels(request)
  const [states, ...all] = await Promise.all([
    store.countRows(tx, access, { ...filters, metric: 'coverage', by: ['status', 'channel'] }, days),
    ...channels.map((one) =>
      store.countRows(tx, access, { ...filters, metric: METRIC_OF[one], by: ['channel'] }, days),
    ),
  ])
  const counts = new Map<string | null, number>()
  for (const { first, second, count } of states)
    if (channels.some((one) => one === second)) counts.set(first, (counts.get(first) ?? 0) + count)
  return coverageOf(
    all.flat().reduce((sum, { count }) => sum + count, 0),
    counts,
  )
}

/** What the caller may see. */
function accessOf({ conversations, folders }: InsightDeps, tx: Tx, viewer: Viewer): DigestAccess {
  const { organizationId } = viewer
  const userId = viewer.kind === 'user' ? viewer.userId : null
  return {
    organizationId,
    applications: conversations.readableApplications(tx, { organizationId, userId }, undefined),
    hiddenRecordings: folders.hiddenRecordings(tx, viewer),
    visibleRecording: folders.visibleRecording(tx, viewer),
  }
}

function countOf([first = 'day', second]: readonly Key[], row: store.CountRow): Count {
  const keys = { [first]: row.first, ...(second === undefined ? {} : { [second]: row.second }) }
  return { keys, count: row.count }
}
