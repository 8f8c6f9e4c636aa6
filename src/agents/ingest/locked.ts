/**
 * Stores requests under locks, in one transaction: it locks the sessions, reads, decides in memory, and writes. The requests are
 * for different sessions, and each has its own outcome. A refused request writes nothing and does not affect the others.
 */

import type { Outbox } from '../../actors/mailbox.ts'
import { sessionMessages } from '../../messages/session.ts'
import type { Outcome } from '../../platform/concurrency/group-commit.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { AppError } from '../../platform/errors.ts'
import type { IngestResponse } from '../model.ts'
import * as store from './locked.store.ts'
import type { EventWrite, SessionWrite } from './model.ts'
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

/** The type of the message that makes a session's actor advance. */
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
    store.lockSessionsByKey(tx, keys),
    store.readApplications(tx, keys),
    store.readStoredEvents(tx, keys, jobs.map(lookupOf)),
  ])
  const outcomes: Outcome<IngestResponse>[] = []
  const plans: Plan[] = []
  for (const [index, job] of jobs.entries()) {
    try {
      const session = sessions.get(index) ?? null
      // Another process may have created the session after our lock statement. Then it is not locked, so its events are ignored.
      // The insert of the session finds it and writes nothing, and the request is tried again.
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
 * Writes the plans: rows of sessions and events first, rows of actors last.
 * @returns the plans whose session another transaction created in the meantime; they wrote nothing
 */
async function writePlans(
  tx: Tx,
  outbox: Outbox,
  plans: readonly Plan[],
  delayOf: (plan: Plan) => number,
): Promise<readonly Plan[]> {
  const fresh = plans.filter((plan) => plan.isNew)
  // Sessions come before the events, because a plan whose session was not created here must not write events.
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
        .map((plan) =>
          sessionMessages.message(plan.id, EVENTS_STORED, {
            organizationId: plan.job.key.organizationId,
            delayMs: delayOf(plan),
          }),
        ),
    ),
  ])
  return lost
}

/** The write of a plan into its session's row. */
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
