/**
 * The transaction of ingestion: any number of requests for different sessions, each with its own verdict.
 *
 * The rule: lock, read, decide in memory, write. A request that is refused writes nothing; the others of the
 * transaction do not notice.
 */
import type { Outbox } from '../../actors/mailbox.ts'
import type { Outcome } from '../../platform/concurrency/group-commit.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { AppError } from '../../platform/errors.ts'
import type { IngestResponse } from '../model.ts'
import * as store from './locked.store.ts'
import {
  assertAsJudged,
  type Job,
  lateEvents,
  lookupOf,
  type Plan,
  type PlanDeps,
  planJob,
  responseOf,
  StaleApplication,
} from './plan.ts'
import type { EventWrite, SessionWrite } from './rows.store.ts'

/** The letter that tells a session's actor to walk on. */
export const EVENTS_STORED = 'events_stored'

/** Decides and stores `jobs`, which are for different sessions. Outcomes in their order. */
export async function storeJobs(
  deps: PlanDeps,
  jobs: readonly Job[],
  tx: Tx,
  outbox: Outbox,
): Promise<readonly Outcome<IngestResponse>[]> {
  const keys = jobs.map((job) => job.key)
  const [sessions, applications, stored] = await Promise.all([
    store.lockSessions(tx, keys),
    store.readApplications(tx, keys),
    store.readStoredEvents(tx, keys, jobs.map(lookupOf)),
  ])
  const outcomes: Outcome<IngestResponse>[] = []
  const plans: Plan[] = []
  for (const [index, job] of jobs.entries()) {
    try {
      const session = sessions.get(index) ?? null
      // A session that another process made this moment is not locked, so its events decide nothing: done again.
      const events = session === null ? [] : (stored.get(index) ?? [])
      const application = applications.get(index)
      assertAsJudged(job, application)
      const { creditsExhausted } = application
      const plan = await planJob(deps, tx, index, { ...job, creditsExhausted }, session, events)
      plans.push(plan)
      outcomes[index] = { kind: 'done', result: responseOf(plan) }
    } catch (error) {
      if (!(error instanceof AppError || error instanceof StaleApplication)) throw error
      outcomes[index] = { kind: 'failed', error }
    }
  }
  const delayOf = (plan: Plan) => sessions.get(plan.index)?.turnDelayMs ?? 0
  for (const plan of await writePlans(tx, outbox, plans, delayOf)) outcomes[plan.index] = { kind: 'again' }
  return outcomes
}

/**
 * Writes what was decided. Domain rows first, the actors' rows last.
 * @returns the plans whose session somebody else created meanwhile; nothing of them was written.
 */
async function writePlans(
  tx: Tx,
  outbox: Outbox,
  plans: readonly Plan[],
  delayOf: (plan: Plan) => number,
): Promise<readonly Plan[]> {
  const fresh = plans.filter((plan) => plan.isNew)
  // Before the events: which session they belong to depends on it.
  const created = await store.insertSessions(tx, fresh.map(sessionWrite))
  const lost = fresh.filter((plan) => !created.has(plan.id))
  const mine = plans.filter((plan) => !lost.includes(plan))
  await Promise.all([
    store.insertEvents(tx, eventWrites(mine, 'inserts')),
    store.reviseEvents(tx, eventWrites(mine, 'revisions')),
    store.insertRevisions(tx, eventWrites(mine, 'superseded')),
    store.insertLateEvents(tx, mine.flatMap(lateEvents)),
    store.updateSessions(tx, mine.filter((plan) => !plan.isNew && plan.changesSession).map(sessionWrite)),
    outbox.sendUnlessWaiting(
      mine
        .filter((plan) => plan.hasNews)
        .map((plan) => ({
          key: `session:${plan.id}` as const,
          type: EVENTS_STORED,
          organizationId: plan.job.key.organizationId,
          delayMs: delayOf(plan),
        })),
    ),
  ])
  return lost
}

/** The session's row of a plan. */
export function sessionWrite({ job, id, values, changesValues, hasNews }: Plan): SessionWrite {
  return { key: job.key, id, values, changesValues, hasNews }
}

function eventWrites(
  plans: readonly Plan[],
  part: 'inserts' | 'revisions' | 'superseded',
): readonly EventWrite[] {
  return plans
    .filter((plan) => plan.decision[part].length > 0)
    .map(({ job, id, decision }) => ({
      key: job.key,
      id,
      settingsVersion: job.current.version,
      events: decision[part],
    }))
}
