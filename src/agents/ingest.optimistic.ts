/**
 * Stores a batch of requests in two round trips: read, decide in memory, write what still holds.
 *
 * The rule: what cannot be written that way is done under locks, in a transaction of its own (ingest.transaction.ts): revised
 * and late events, whose earlier state has to be kept or gone back for, and requests whose session was changed by somebody else
 * between the read and the write. A client that sends partial events and finalizes them takes that way with each of those.
 */
import { transactionWithMail } from '../actors/mailbox.ts'
import type { Deps } from '../container.ts'
import { isRetryable } from '../platform/db/sqlstate.ts'
import { AppError } from '../platform/errors.ts'
import type { Outcome } from '../platform/group-commit.ts'
import { type GuardedWrite, readSessions, type Written, writeGuarded } from './ingest.guarded.store.ts'
import {
  type Job,
  lateEvents,
  lookupOf,
  type Plan,
  type PlanDeps,
  planJob,
  responseOf,
  type SeenJob,
} from './ingest.plan.ts'
import { EVENTS_STORED, sessionWrite, storeJobs } from './ingest.transaction.ts'
import type { IngestResponse } from './model.ts'

export interface BatchDeps extends PlanDeps, Pick<Deps, 'sql' | 'doorbell'> {}

/** The application is not any more as the request was judged by: it is to be judged again. Nothing was stored. */
export class StaleApplication extends Error {
  override readonly name = 'StaleApplication'
}

interface Draft {
  readonly plan: Plan
  /** Of the session's row that was read; null: there was none. */
  readonly version: string | null
}

/** Stores `jobs`, which are for different sessions. Outcomes in their order. */
export async function storeBatch(
  deps: BatchDeps,
  jobs: readonly Job[],
): Promise<readonly Outcome<IngestResponse>[]> {
  const { outcomes, drafts } = await draft(deps, jobs)
  const easy = drafts.filter(({ plan }) => !needsLocks(plan))
  const writes = easy.filter(({ plan }) => plan.changesSession)
  const { done, sent } = await write(deps, writes)
  if (sent.length > 0) deps.doorbell.ring(sent)
  const lost = new Set(writes.filter((_, index) => !done.has(index)))
  for (const one of easy) {
    if (!lost.has(one)) outcomes[one.plan.index] = { kind: 'done', result: responseOf(one.plan) }
  }
  const left = drafts.map(({ plan }) => plan).filter(({ index }) => outcomes[index] === undefined)
  const settled = await storeLocked(
    deps,
    left.map(({ job }) => job),
  )
  for (const [position, { index }] of left.entries())
    outcomes[index] = settled[position] as Outcome<IngestResponse>
  return outcomes
}

/** Does not reject where others of the batch may be stored by now: what fails here fails alone. */
async function storeLocked(
  deps: BatchDeps,
  jobs: readonly SeenJob[],
): Promise<readonly Outcome<IngestResponse>[]> {
  if (jobs.length === 0) return []
  try {
    return await transactionWithMail(deps, (tx, outbox) => storeJobs(deps, jobs, tx, outbox))
  } catch (error) {
    return jobs.map(() => (jobs.length === 1 ? { kind: 'failed', error } : { kind: 'alone' }))
  }
}

async function draft(deps: BatchDeps, jobs: readonly Job[]) {
  const keys = jobs.map((job) => job.key)
  const sessions = await readSessions(deps.sql, keys, jobs.map(lookupOf))
  const outcomes: Outcome<IngestResponse>[] = []
  const drafts: Draft[] = []
  for (const [index, job] of jobs.entries()) {
    const seen = sessions.get(index)
    try {
      if (!seen?.chatsEnabled || seen.settingsVersion !== job.current.version) throw new StaleApplication()
      const { session, version, events, creditsExhausted } = seen
      drafts.push({
        plan: await planJob(deps, deps.sql, index, { ...job, creditsExhausted }, session, events),
        version,
      })
    } catch (error) {
      if (!(error instanceof AppError || error instanceof StaleApplication)) throw error
      outcomes[index] = { kind: 'failed', error }
    }
  }
  return { outcomes, drafts }
}

function needsLocks(plan: Plan): boolean {
  return plan.decision.revisions.length > 0 || lateEvents(plan).length > 0
}

const NOTHING: Written = { done: new Set(), sent: [] }

/** A deadlock leaves everything to the transaction, which tries again. */
async function write({ sql }: BatchDeps, drafts: readonly Draft[]): Promise<Written> {
  if (drafts.length === 0) return NOTHING
  try {
    return await writeGuarded(sql, drafts.map(guarded), EVENTS_STORED)
  } catch (error) {
    if (isRetryable(error)) return NOTHING
    throw error
  }
}

function guarded({ plan, version }: Draft): GuardedWrite {
  return {
    ...sessionWrite(plan),
    version,
    settingsVersion: plan.job.current.version,
    events: plan.decision.inserts,
    changesSession: !plan.isNew,
    tellsActor: plan.hasNews,
  }
}
