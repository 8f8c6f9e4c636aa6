/**
 * The transaction of ingestion: any number of requests for different sessions, each with its own verdict.
 *
 * The rule: lock, read, decide in memory, write. A request that is refused writes nothing; the others of the
 * transaction do not notice.
 */
import type { Outbox } from '../actors/mailbox.ts'
import type { Tx } from '../platform/db/pool.ts'
import { AppError } from '../platform/errors.ts'
import type { Outcome } from '../platform/group-commit.ts'
import type { NewId } from '../platform/ids.ts'
import { selectSettings } from './applications.store.ts'
import { type Decision, decide, idsToLoad, revisionKey, type StoredFingerprint } from './event.rules.ts'
import {
  fingerprintUnder,
  type PreparedRequest,
  type SettingsVersion,
  type SettingsVersions,
} from './ingest.prepare.ts'
import * as store from './ingest.store.ts'
import type { IngestResponse } from './model.ts'
import { checkEnvironments } from './request.rules.ts'
import { mergeParticipants, nextStatus, processingStatusFor } from './session.rules.ts'

/** Everything about one request that its transaction needs. */
export interface Job {
  readonly key: store.SessionKey
  readonly prepared: PreparedRequest
  readonly current: SettingsVersion
  readonly creditsExhausted: boolean
  /** Of the request as it was sent. */
  readonly bytes: number
}

interface TransactionDeps {
  readonly newId: NewId
  readonly versions: SettingsVersions
}

/** What one accepted request is going to write. */
interface Plan {
  readonly index: number
  readonly job: Job
  readonly id: string
  readonly isNew: boolean
  /** Something is stored that the session's actor has not seen. */
  readonly hasNews: boolean
  readonly values: store.SessionValues
  readonly changesSession: boolean
  readonly decision: Decision
  readonly watermark: number
}

/** Decides and stores `jobs`, which are for different sessions. Outcomes in their order. */
export async function storeJobs(
  deps: TransactionDeps,
  jobs: readonly Job[],
  tx: Tx,
  outbox: Outbox,
): Promise<readonly Outcome<IngestResponse>[]> {
  const keys = jobs.map((job) => job.key)
  const [sessions, stored] = await Promise.all([
    store.lockSessions(tx, keys),
    store.readStoredEvents(tx, keys, jobs.map(lookupOf)),
  ])
  const outcomes: Outcome<IngestResponse>[] = []
  const plans: Plan[] = []
  for (const [index, job] of jobs.entries()) {
    try {
      const session = sessions.get(index) ?? null
      // A session that another process made this moment is not locked, so its events decide nothing: done again.
      const events = session === null ? [] : (stored.get(index) ?? [])
      const plan = await planJob(deps, tx, index, job, session, events)
      plans.push(plan)
      outcomes[index] = { kind: 'done', result: responseOf(plan) }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      outcomes[index] = { kind: 'failed', error }
    }
  }
  for (const plan of await writePlans(tx, outbox, plans)) outcomes[plan.index] = { kind: 'again' }
  return outcomes
}

function lookupOf(job: Job): store.EventLookup {
  const { events } = job.prepared
  return { ids: idsToLoad(events), sequences: events.map(({ event }) => event.sequence) }
}

/** @throws AppError where the request is refused. */
async function planJob(
  deps: TransactionDeps,
  tx: Tx,
  index: number,
  job: Job,
  session: store.SessionRow | null,
  stored: readonly store.StoredEventRow[],
): Promise<Plan> {
  const { prepared, current } = job
  checkEnvironments(prepared.request, session?.environment ?? null, current.settings)
  const participants = mergeParticipants(
    session?.participants ?? [],
    prepared.session.participants,
    current.settings.participantType,
  )
  const decision = await decideJob(deps, tx, job, session, stored)
  const status = nextStatus(session?.status ?? null, prepared.request.status)
  const hasNews = decision.acceptedEventCount + decision.revisedEventCount > 0 || status !== session?.status
  const processingStatus =
    session !== null && !hasNews
      ? session.processingStatus
      : processingStatusFor({
          captureContent: current.settings.captureContent,
          creditsExhausted: job.creditsExhausted,
        })
  const values = nextValues(job, session, { status, processingStatus, participants })
  return {
    index,
    job,
    id: session?.id ?? deps.newId(),
    isNew: session === null,
    hasNews,
    values,
    changesSession: session === null || hasNews || !isSameSession(session, values),
    decision,
    watermark: session?.watermark ?? -1,
  }
}

/** The verdict, after the rare look at superseded revisions and at settings that have changed meanwhile. */
async function decideJob(
  deps: TransactionDeps,
  tx: Tx,
  job: Job,
  session: store.SessionRow | null,
  stored: readonly store.StoredEventRow[],
): Promise<Decision> {
  const { key, prepared, current } = job
  const byId = new Map(stored.map((row) => [row.externalEventId, row]))
  const behind = prepared.events
    .map(({ event }) => event)
    .filter((event) => event.revision < (byId.get(event.externalEventId)?.revision ?? 0))
    .map((event) => event.externalEventId)
  const history =
    session === null || behind.length === 0
      ? []
      : await store.readRevisions(tx, key.organizationId, session.id, behind)
  const older = await readOlderSettings(deps, tx, job, [...stored, ...history])
  return decide({
    events: prepared.events,
    settingsVersion: current.version,
    stored: byId,
    occupied: new Map(stored.map((row) => [row.sequence, row.externalEventId])),
    history: new Map(history.map((row) => [revisionKey(row.externalEventId, row.revision), row])),
    rejudge: (index, version) => {
      const under = older.get(version)
      return under === undefined ? null : fingerprintUnder(prepared.request, index, under)
    },
  })
}

async function readOlderSettings(
  { versions }: TransactionDeps,
  tx: Tx,
  { key, current }: Job,
  rows: readonly StoredFingerprint[],
): Promise<ReadonlyMap<number, SettingsVersion>> {
  const wanted = new Set(rows.map((row) => row.settingsVersion))
  wanted.delete(current.version)
  if (wanted.size === 0) return new Map()
  const found = await selectSettings(tx, key.organizationId, key.applicationId, [...wanted])
  return new Map(
    found.map(({ version, settings }) => [version, versions.get(key.applicationId, version, settings)]),
  )
}

/**
 * Writes what was decided. Domain rows first, the actors' rows last.
 * @returns the plans whose session somebody else created meanwhile; nothing of them was written.
 */
async function writePlans(tx: Tx, outbox: Outbox, plans: readonly Plan[]): Promise<readonly Plan[]> {
  const fresh = plans.filter((plan) => plan.isNew)
  // Before the events: which session they belong to depends on it.
  const created = await store.insertSessions(tx, fresh.map(sessionWrite))
  const lost = fresh.filter((plan) => !created.has(plan.id))
  const mine = plans.filter((plan) => !lost.includes(plan))
  await Promise.all([
    store.insertEvents(tx, eventWrites(mine, 'inserts')),
    store.reviseEvents(tx, eventWrites(mine, 'revisions')),
    store.insertRevisits(tx, mine.flatMap(lateEvents)),
    store.updateSessions(tx, mine.filter((plan) => !plan.isNew && plan.changesSession).map(sessionWrite)),
    outbox.sendUnlessWaiting(
      mine
        .filter((plan) => plan.hasNews)
        .map((plan) => ({ key: `session:${plan.id}` as const, type: 'events_stored' })),
    ),
  ])
  return lost
}

function sessionWrite({ job, id, values }: Plan): store.SessionWrite {
  return { key: job.key, id, values }
}

function eventWrites(plans: readonly Plan[], part: 'inserts' | 'revisions'): readonly store.EventWrite[] {
  return plans
    .filter((plan) => plan.decision[part].length > 0)
    .map(({ job, id, decision }) => ({
      key: job.key,
      id,
      settingsVersion: job.current.version,
      events: decision[part],
    }))
}

function lateEvents({ job, id, decision, watermark }: Plan) {
  return [...decision.inserts, ...decision.revisions]
    .filter(({ event }) => event.sequence <= watermark)
    .map(({ event }) => ({ key: job.key, id, externalEventId: event.externalEventId }))
}

/** The session's row after the request: absent members leave what was there. */
function nextValues(
  { prepared }: Job,
  session: store.SessionRow | null,
  judged: Pick<store.SessionValues, 'status' | 'processingStatus' | 'participants'>,
): store.SessionValues {
  const sent = prepared.session
  return {
    ...judged,
    agentVersion: sent.agentVersion ?? session?.agentVersion ?? null,
    source: sent.source ?? session?.source ?? null,
    context: sent.context ?? session?.context ?? null,
    environment: sent.context?.environment ?? session?.environment ?? null,
  }
}

function isSameSession(session: store.SessionRow, next: store.SessionValues): boolean {
  return (
    session.agentVersion === next.agentVersion &&
    session.environment === next.environment &&
    session.participants === next.participants &&
    Bun.deepEquals(session.source, next.source) &&
    Bun.deepEquals(session.context, next.context)
  )
}

function responseOf({ id, decision, values }: Plan): IngestResponse {
  return {
    sessionId: id,
    acceptedEventCount: decision.acceptedEventCount,
    deduplicatedEventCount: decision.deduplicatedEventCount,
    revisedEventCount: decision.revisedEventCount,
    processingStatus: values.processingStatus,
  }
}
