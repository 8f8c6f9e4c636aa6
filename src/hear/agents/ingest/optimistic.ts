/**
 * Stores a batch of requests in one or two round trips: reads the sessions that are not remembered, decides in memory, and writes
 * where the session has not changed in the meantime. README.md shows the three ways that a request can take.
 *
 * Where a remembered session is outdated, the batch reads it and decides again (remembered-sessions.ts). Other requests are stored
 * under locks, in a separate transaction (locked.ts): requests with revised or late events, and requests whose session changed
 * between the read and the write. So a client that sends partial events and finalizes them later takes the locked way each time.
 * Appends always take it, because the service numbers their events from the locked state.
 */
import { transactionWithOutbox } from '../../../actors/mailbox.ts'
import type { Deps } from '../../../kernel/deps.ts'
import type { Outcome } from '../../../platform/concurrency/group-commit.ts'
import { isForeignKeyViolation, isRetryable, isUniqueViolation } from '../../../platform/db/sqlstate.ts'
import { AppError } from '../../../platform/errors.ts'
import { readSessions, type Written, writeGuarded } from './guarded.store.ts'
import { EVENTS_STORED, type Stored, sessionWrite, storeJobs } from './locked.ts'
import {
  assertAsJudged,
  highestAfter,
  type Job,
  lateEvents,
  lookupOf,
  type Plan,
  type PlanDeps,
  planJob,
  responseOf,
  StaleApplication,
} from './plan.ts'
import type { RememberedSession, RememberedSessions } from './remembered-sessions.ts'

export interface BatchDeps extends PlanDeps, Pick<Deps, 'sql' | 'notifier' | 'clock'> {
  readonly known: RememberedSessions
}

/** Outcomes by the position of their job in the batch. */
type Outcomes = Outcome<Stored>[]

interface Draft extends Pick<RememberedSession, 'highest'> {
  readonly plan: Plan
  /** The version of the session that the plan was decided by; null: the session did not exist. */
  readonly version: number | null
  /** True where the plan was decided by a remembered session, without a read. */
  readonly remembered: boolean
}

/** Stores `jobs`, which must be for different sessions. @returns the outcomes in the order of the jobs */
export async function storeBatch(deps: BatchDeps, jobs: readonly Job[]): Promise<readonly Outcome<Stored>[]> {
  const outcomes: Outcomes = []
  const appends = [...jobs.keys()].filter((index) => isAppend(jobs[index] as Job))
  const remembered = await recall(deps, jobs)
  const recalled = new Set(remembered.map(({ plan }) => plan.index))
  const others = [...jobs.keys()].filter((index) => !recalled.has(index) && !isAppend(jobs[index] as Job))
  const drafts = [...remembered, ...(await read(deps, jobs, others, outcomes))]
  const left = await store(deps, drafts, outcomes)
  // Some requests of the batch may be stored by now, so a failure from here on concerns only the requests it happens to.
  const stale = left.filter((draft) => draft.remembered)
  const unsettled = [
    ...left.filter((draft) => !draft.remembered),
    ...(await storeAgain(deps, jobs, stale, outcomes)),
  ]
  await storeLocked(deps, jobs, [...unsettled.map(({ plan }) => plan.index), ...appends], outcomes)
  return outcomes
}

/** True where the service numbers the events. */
const isAppend = ({ prepared }: Job) => prepared.timed !== null

/** Decides requests by remembered sessions where all their events are beyond the stored ones. Refuses no request. */
async function recall(deps: BatchDeps, jobs: readonly Job[]): Promise<readonly Draft[]> {
  const drafts: Draft[] = []
  for (const [index, job] of jobs.entries()) {
    const known = deps.known.get(job.key)
    if (known === null || isAppend(job) || !isBeyond(job, known.highest)) continue
    const { session, version, highest, creditsExhausted } = known
    try {
      const plan = await planJob(deps, deps.sql, index, { ...job, creditsExhausted }, session, [])
      drafts.push({ plan, version, highest, remembered: true })
    } catch (error) {
      if (!(error instanceof AppError)) throw error
    }
  }
  return drafts
}

/**
 * True where the request concerns no stored event: all its sequences are higher, and its feedback is about messages of the same
 * request. The id of an event may still be stored under another sequence. Then a unique index refuses the write, and the batch
 * is read and decided again.
 */
function isBeyond({ prepared: { events } }: Job, highest: number): boolean {
  let sent: ReadonlySet<string> | null = null
  return events.every(({ event: { sequence, body } }) => {
    const target = body.feedback?.targetEventExternalId
    if (sequence <= highest || target === undefined) return sequence > highest
    sent ??= new Set(events.map(({ event }) => event.externalEventId))
    return sent.has(target)
  })
}

/** Reads the sessions of the jobs at `positions` and decides. Refused jobs get their outcome here. @returns the other jobs' drafts */
async function read(
  deps: BatchDeps,
  jobs: readonly Job[],
  positions: readonly number[],
  outcomes: Outcomes,
): Promise<readonly Draft[]> {
  if (positions.length === 0) return []
  const wanted = positions.map((position) => jobs[position] as Job)
  const keys = wanted.map((job) => job.key)
  const sessions = await readSessions(deps.sql, keys, wanted.map(lookupOf))
  const drafts: Draft[] = []
  for (const [n, job] of wanted.entries()) {
    const index = positions[n] as number
    const seen = sessions.get(n)
    try {
      assertAsJudged(job, seen)
      const { session, version, highest, events, creditsExhausted } = seen
      const plan = await planJob(deps, deps.sql, index, { ...job, creditsExhausted }, session, events)
      drafts.push({ plan, version, highest, remembered: false })
    } catch (error) {
      if (!(error instanceof AppError || error instanceof StaleApplication)) throw error
      outcomes[index] = { kind: 'failed', error }
    }
  }
  return drafts
}

/** Writes the drafts that need no locks. @returns the drafts that are not stored */
async function store(
  deps: BatchDeps,
  drafts: readonly Draft[],
  outcomes: Outcomes,
): Promise<readonly Draft[]> {
  const easy = drafts.filter(({ plan }) => !needsLocks(plan))
  const writes = easy.filter(({ plan }) => plan.changesSession)
  const { done, sent } = await write(deps, writes)
  if (sent.length > 0) deps.notifier.notify(sent)
  for (const [n, draft] of writes.entries()) {
    const version = done.get(n)
    if (version !== undefined) remember(deps, draft, version)
    else if (draft.remembered) deps.known.invalidate(draft.plan.job.key)
  }
  const lost = new Set(writes.filter((_, n) => !done.has(n)))
  const stored = easy.filter((draft) => !lost.has(draft))
  for (const { plan, highest } of stored)
    outcomes[plan.index] = { kind: 'done', result: responseOf(plan, highest) }
  return drafts.filter(({ plan }) => outcomes[plan.index] === undefined)
}

/** Reads, decides and writes again where the remembered session was outdated. Does not reject. @returns the drafts that are not stored */
async function storeAgain(
  deps: BatchDeps,
  jobs: readonly Job[],
  stale: readonly Draft[],
  outcomes: Outcomes,
): Promise<readonly Draft[]> {
  if (stale.length === 0) return []
  const positions = stale.map(({ plan }) => plan.index)
  try {
    return await store(deps, await read(deps, jobs, positions, outcomes), outcomes)
  } catch (error) {
    for (const index of positions) outcomes[index] = failure(jobs.length, error)
    return []
  }
}

/** Stores the jobs at `positions` of the batch under locks. Does not reject. */
async function storeLocked(
  deps: BatchDeps,
  batch: readonly Job[],
  positions: readonly number[],
  outcomes: Outcomes,
): Promise<void> {
  if (positions.length === 0) return
  const jobs = positions.map((position) => batch[position] as Job)
  for (const { key } of jobs) deps.known.invalidate(key)
  const settled = await transactionWithOutbox(deps, (tx, outbox) => storeJobs(deps, jobs, tx, outbox)).catch(
    (error: unknown) => jobs.map(() => failure(batch.length, error)),
  )
  for (const [n, position] of positions.entries()) outcomes[position] = settled[n] as Outcome<Stored>
}

/** True where the application of a new session was deleted between the read and the write. */
const isOrphaned = (error: unknown) => isForeignKeyViolation(error, 'agent_session_application_id_fkey')

function failure(batchSize: number, error: unknown): Outcome<Stored> {
  if (isOrphaned(error) && batchSize === 1) return { kind: 'failed', error: new StaleApplication() }
  return batchSize === 1 ? { kind: 'failed', error } : { kind: 'alone' }
}

function needsLocks(plan: Plan): boolean {
  const { revisions, superseded } = plan.decision
  return revisions.length > 0 || superseded.length > 0 || lateEvents(plan).length > 0
}

const NOTHING: Written = { done: new Map(), sent: [] }

/** Returns `NOTHING` after a deadlock, or where an unread event id is stored already: then the drafts take another way. */
async function write({ sql }: BatchDeps, drafts: readonly Draft[]): Promise<Written> {
  if (drafts.length === 0) return NOTHING
  try {
    return await writeGuarded(sql, drafts.map(guarded), EVENTS_STORED)
  } catch (error) {
    if (isRetryable(error) || isUniqueViolation(error) || isOrphaned(error)) return NOTHING
    throw error
  }
}

function guarded({ plan, version }: Draft) {
  return {
    ...sessionWrite(plan),
    version,
    settingsVersion: plan.job.current.version,
    creditsExhausted: plan.job.creditsExhausted,
    events: plan.decision.inserts,
  }
}

function remember({ known }: BatchDeps, { plan, highest, version: before }: Draft, version: number): void {
  const { job, id, values, watermark, erased } = plan
  const session = { id, ...values, watermark, erased }
  const { creditsExhausted } = job
  known.remember(
    job.key,
    { session, version, highest: highestAfter(plan, highest), creditsExhausted },
    before,
  )
}
