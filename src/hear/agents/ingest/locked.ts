/**
 * Stores requests under locks, in one transaction: it locks the sessions, reads, decides in memory, and writes. The requests are
 * for different sessions, and each has its own outcome. A refused request writes nothing and does not affect the others.
 */

import type { Outbox } from '../../../actors/mailbox.ts'
import type { Deps } from '../../../kernel/deps.ts'
import { sessionMessages } from '../../../kernel/messages/session.ts'
import type { Outcome } from '../../../platform/concurrency/group-commit.ts'
import type { Tx } from '../../../platform/db/pool.ts'
import { AppError } from '../../../platform/errors.ts'
import { toUtc } from '../../../platform/validation/rfc3339.ts'
import { redactsAnything } from '../events/redaction.ts'
import type { AppendedEvent, IngestResponse } from '../request-model.ts'
import { readTimes } from '../sessions/times.store.ts'
import { COMPARED_REVISIONS, numberEvents, placesOf } from './append.rules.ts'
import * as store from './locked.store.ts'
import type { EventWrite, SessionRow, SessionWrite, StoredEventRow } from './model.ts'
import {
  assertAsJudged,
  type Job,
  lateEvents,
  lookupOf,
  OlderSettings,
  type Plan,
  type PlanDeps,
  planJob,
  responseOf,
  StaleApplication,
} from './plan.ts'
import { timesOf } from './times.rules.ts'

/** The type of the message that makes a session's actor advance. */
export const EVENTS_STORED = 'events_stored'

/** The answer to a stored request. An append tells where its events are. */
export type Stored = IngestResponse & { readonly events?: AppendedEvent[] }

export interface LockedDeps extends PlanDeps, Pick<Deps, 'clock'> {}

/** Decides and stores `jobs`, which are for different sessions. Outcomes in their order. */
export async function storeJobs(
  deps: LockedDeps,
  jobs: readonly Job[],
  tx: Tx,
  outbox: Outbox,
): Promise<readonly Outcome<Stored>[]> {
  const keys = jobs.map((job) => job.key)
  const [sessions, applications, stored] = await Promise.all([
    store.lockSessionsByKey(tx, keys),
    store.readApplications(tx, keys),
    store.readStoredEvents(tx, keys, jobs.map(lookupOf)),
  ])
  const outcomes: Outcome<Stored>[] = []
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
      const highest = session === null ? -1 : application.highest
      const numbered = await numberJob(deps, tx, job, session, events, highest)
      const plan = await planJob(deps, tx, index, { ...numbered, creditsExhausted }, session, events)
      plans.push(plan)
      outcomes[index] = { kind: 'done', result: storedOf(plan, highest) }
    } catch (error) {
      if (!(error instanceof AppError || error instanceof StaleApplication)) throw error
      outcomes[index] = { kind: 'failed', error }
    }
  }
  const delayOf = (plan: Plan) => sessions.get(plan.index)?.turnDelayMs ?? 0
  for (const plan of await writePlans(tx, outbox, plans, delayOf)) outcomes[plan.index] = { kind: 'again' }
  return outcomes
}

function storedOf(plan: Plan, highest: number): Stored {
  const response = responseOf(plan, highest)
  const { timed, events } = plan.job.prepared
  return timed === null ? response : { ...response, events: placesOf(events) }
}

const NO_BODIES: NonNullable<Job['bodies']> = new Map()

/** Numbers the events of an append behind the locked session's last. Other jobs stay as they are. @throws OlderSettings */
async function numberJob(
  { clock }: LockedDeps,
  tx: Tx,
  job: Job,
  session: SessionRow | null,
  stored: readonly StoredEventRow[],
  highest: number,
): Promise<Job> {
  const { key, prepared, current, bodies = NO_BODIES } = job
  const { events, timed } = prepared
  if (timed === null) return job
  const ids = stored.map((row) => row.externalEventId)
  const rows =
    session === null || ids.length === 0
      ? []
      : await store.readKnownRevisions(tx, key.organizationId, session.id, ids, COMPARED_REVISIONS)
  const known = rows.map((row) => ({ ...row, occurredAt: toUtc(row.occurredAt) ?? row.occurredAt }))
  const now = clock.now().toISOString()
  const numbered = numberEvents({
    events,
    timed,
    now: toUtc(now) ?? now,
    highest,
    settingsVersion: current.version,
    known: Map.groupBy(known, (row) => row.externalEventId),
    bodies,
    redacts: redactsAnything(current.settings),
  })
  if (numbered.missing !== null) throw new OlderSettings(numbered.missing)
  return { ...job, prepared: { ...prepared, events: numbered.events } }
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
  const [, moved] = await Promise.all([
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
  await readTimes(tx, moved)
  return lost
}

/** The write of a plan into its session's row. */
export function sessionWrite({ job, id, values, changesValues, hasNews, decision }: Plan): SessionWrite {
  const times = timesOf([...decision.inserts, ...decision.revisions])
  return { key: job.key, id, values, changesValues, hasNews, times, receivedAt: job.receivedAt ?? null }
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
      receivedAt: job.receivedAt ?? null,
    }))
}
