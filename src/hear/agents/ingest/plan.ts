/**
 * Plans what a request writes, in memory, from its session and the stored events that concern it.
 *
 * Nothing here locks or writes. The caller ensures that the session is unchanged when it writes the plan.
 */
import type { Query } from '../../../platform/db/pool.ts'
import type { NewId } from '../../../platform/ids.ts'
import { sameFingerprint } from '../events/fingerprint.ts'
import { redactsAnything } from '../events/redaction.ts'
import type { SanitizedSession } from '../events/sanitize.ts'
import type { IngestResponse } from '../request-model.ts'
import { mergeParticipants, nextStatus, processingStatusFor } from '../sessions/session.rules.ts'
import { type Decision, decide, idsToLoad, revisionKey } from './event.rules.ts'
import * as store from './locked.store.ts'
import type {
  EventLookup,
  RevisionRow,
  SeenApplication,
  SessionKey,
  SessionRow,
  SessionValues,
  StoredEventRow,
} from './model.ts'
import type { ByRules, PreparedRequest, SettingsVersion } from './prepare.ts'
import { environmentRefusal } from './request.rules.ts'

/** Everything that storing one request needs. */
export interface Job {
  readonly key: SessionKey
  readonly prepared: PreparedRequest
  readonly current: SettingsVersion
  /** Fingerprints of the request's events by settings version; empty for a version that does not exist. */
  readonly older: ReadonlyMap<number, ByRules<Uint8Array>>
  /** For an append: the bodies of its events by settings version, in place of `older`; empty for a version that does not exist. */
  readonly bodies?: ReadonlyMap<number, ByRules<string>>
  /** Size of the body as sent. */
  readonly bytes: number
  /** When the events were received, if they have waited elsewhere. Null: with this request. */
  readonly receivedAt?: string | null
}

/** A job whose application is unchanged, with the credits of its organization. */
export interface SeenJob extends Job {
  readonly creditsExhausted: boolean
}

/** The application changed after the request was judged. Nothing was stored, and the request must be judged again. */
export class StaleApplication extends Error {
  override readonly name: string = 'StaleApplication'
}

/**
 * A stored event was sanitised under other settings versions or by an older release, so the request needs fingerprints under these too.
 * Nothing was stored. The caller computes them outside of the transaction, because a transaction must wait for statements only.
 */
export class OlderSettings extends StaleApplication {
  override readonly name = 'OlderSettings'
  constructor(readonly versions: readonly number[]) {
    super()
  }
}

export interface PlanDeps {
  readonly newId: NewId
}

/** The writes of one accepted request. */
export interface Plan {
  readonly index: number
  readonly job: SeenJob
  readonly id: string
  readonly isNew: boolean
  /** True where the session's actor has something new to process. */
  readonly hasNews: boolean
  readonly values: SessionValues
  /** True where values other than the processing status change. */
  readonly changesValues: boolean
  readonly changesSession: boolean
  readonly decision: Decision
  readonly watermark: number
  readonly erased: boolean
}

/** The look-up of the stored events that concern the request. */
export function lookupOf(job: Job): EventLookup {
  const { events, timed } = job.prepared
  // The sequences of an append are placeholders.
  const sequences = timed === null ? events.map(({ event }) => event.sequence) : []
  return { ids: idsToLoad(events), sequences }
}

/** @param application the present state; undefined where the application was deleted. @throws StaleApplication */
export function assertAsJudged<A extends SeenApplication>(
  job: Job,
  application: A | undefined,
): asserts application is A {
  if (!application?.chatsEnabled || application.settingsVersion !== job.current.version)
    throw new StaleApplication()
}

const NOTHING_SAID: SanitizedSession = { participants: [] }

/** Plans one request. @throws AppError where the request is refused @throws OlderSettings */
export async function planJob(
  deps: PlanDeps,
  sql: Query,
  index: number,
  job: SeenJob,
  session: SessionRow | null,
  stored: readonly StoredEventRow[],
): Promise<Plan> {
  const { prepared, current } = job
  const merged = mergeParticipants(
    session?.participants ?? [],
    prepared.session.participants,
    current.settings.participantType,
  )
  const decision = await decideJob(sql, job, session, stored)
  const storesEvents = decision.acceptedEventCount + decision.revisedEventCount > 0
  // A retry must not restore an erased person. A request with a new event brings new data and is stored.
  const isEmptyRetry = session?.erased === true && !storesEvents
  const sent = isEmptyRetry ? NOTHING_SAID : prepared.session
  const participants = isEmptyRetry ? session.participants : merged
  const status = nextStatus(session?.status ?? null, prepared.status)
  const hasNews = storesEvents || status !== session?.status
  const processingStatus =
    session !== null && !hasNews
      ? session.processingStatus
      : processingStatusFor({
          captureContent: current.settings.captureContent,
          waitsForCredits: job.creditsExhausted && waitsForCredits(session, decision, stored),
        })
  const values = nextValues(sent, session, { status, processingStatus, participants })
  const changesValues = session === null || !isSameSession(session, values)
  return {
    index,
    job,
    id: session?.id ?? deps.newId(),
    isNew: session === null,
    hasNews,
    values,
    changesValues,
    changesSession: hasNews || changesValues,
    decision,
    watermark: session?.watermark ?? -1,
    erased: session?.erased ?? false,
  }
}

/**
 * True where a final response would wait for credits if none are left: a response of this request, or an earlier one by the
 * session's processing status. A revision of a final event does not count, because a turn has metered or will meter the first one.
 */
function waitsForCredits(
  session: SessionRow | null,
  { inserts, revisions }: Decision,
  stored: readonly StoredEventRow[],
): boolean {
  if (session?.processingStatus === 'billing_blocked') return true
  const wasFinal = new Set(stored.filter(({ final }) => final).map((row) => row.externalEventId))
  return [...inserts, ...revisions].some(
    ({ event: { externalEventId, type, final, body } }) =>
      type === 'assistant_message' && final && body.visible === true && !wasFinal.has(externalEventId),
  )
}

/** Decides about the events. Reads superseded revisions only where the request has a lower revision than the stored one. */
async function decideJob(
  sql: Query,
  job: Job,
  session: SessionRow | null,
  stored: readonly StoredEventRow[],
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
      : await store.readRevisions(sql, key.organizationId, session.id, behind)
  assertJudgedUnderAll(job, [...stored, ...history])
  return decide({
    events: prepared.events,
    settingsVersion: current.version,
    stored: byId,
    occupied: new Map(stored.map((row) => [row.sequence, row.externalEventId])),
    history: new Map(history.map((row) => [revisionKey(row.externalEventId, row.revision), row])),
    rejudge: (index, version, rules) => job.older.get(version)?.[rules][index] ?? null,
    refusal: (index) =>
      environmentRefusal(prepared.environments, index, session?.environment ?? null, current.settings),
  })
}

/**
 * Checks that the request has fingerprints under the settings of every stored revision that it must be compared with.
 * @throws OlderSettings where a stored revision differs and was sanitised under other settings, or perhaps by another version of the rules
 * of redaction
 */
function assertJudgedUnderAll({ prepared, current, older }: Job, rows: readonly RevisionRow[]): void {
  const redacts = redactsAnything(current.settings)
  const foreign = rows.filter(
    (row) => !older.has(row.settingsVersion) && (redacts || row.settingsVersion !== current.version),
  )
  if (foreign.length === 0) return
  const stored = new Map(foreign.map((row) => [revisionKey(row.externalEventId, row.revision), row]))
  const wanted = new Set<number>()
  for (const { event, fingerprint } of prepared.events) {
    const row = stored.get(revisionKey(event.externalEventId, event.revision))
    if (row !== undefined && !sameFingerprint(row.fingerprint, fingerprint)) wanted.add(row.settingsVersion)
  }
  if (wanted.size > 0) throw new OlderSettings([...wanted])
}

/** The late events of a plan: those at or below the watermark, which the session has already passed. */
export function lateEvents({ job, id, decision, watermark }: Plan) {
  return [...decision.inserts, ...decision.revisions]
    .filter(({ event }) => event.sequence <= watermark)
    .map(({ event }) => ({ key: job.key, id, externalEventId: event.externalEventId }))
}

/** The session's values after the request. Absent members leave the stored values. */
function nextValues(
  sent: SanitizedSession,
  session: SessionRow | null,
  judged: Pick<SessionValues, 'status' | 'processingStatus' | 'participants'>,
): SessionValues {
  return {
    ...judged,
    agentVersion: sent.agentVersion ?? session?.agentVersion ?? null,
    source: sent.source ?? session?.source ?? null,
    context: sent.context ?? session?.context ?? null,
    environment: sent.context?.environment ?? session?.environment ?? null,
  }
}

function isSameSession(session: SessionRow, next: SessionValues): boolean {
  return (
    session.status === next.status &&
    session.agentVersion === next.agentVersion &&
    session.environment === next.environment &&
    session.participants === next.participants &&
    Bun.deepEquals(session.source, next.source) &&
    Bun.deepEquals(session.context, next.context)
  )
}

/** The highest sequence of the session after the plan; -1: it has no event. @param before the highest sequence before */
export function highestAfter({ decision }: Plan, before: number): number {
  return decision.inserts.reduce((highest, { event }) => Math.max(highest, event.sequence), before)
}

/** @param highest the highest sequence of the session before the plan; -1: it had no event */
export function responseOf(plan: Plan, highest: number): IngestResponse {
  const { id, decision, values } = plan
  return {
    sessionId: id,
    acceptedEventCount: decision.acceptedEventCount,
    deduplicatedEventCount: decision.deduplicatedEventCount,
    revisedEventCount: decision.revisedEventCount,
    processingStatus: values.processingStatus,
    nextSequence: Math.min(highestAfter(plan, highest) + 1, Number.MAX_SAFE_INTEGER),
  }
}
