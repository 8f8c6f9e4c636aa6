/**
 * What a request writes, decided in memory from its session and the stored events that it has to do with.
 *
 * The rule: nothing here locks or writes. What was read must still hold when the plan is written; whoever writes it sees
 * to that.
 */
import type { Query } from '../../platform/db/pool.ts'
import type { NewId } from '../../platform/ids.ts'
import { sameFingerprint } from '../events/fingerprint.ts'
import type { SanitizedSession } from '../events/sanitize.ts'
import type { IngestResponse } from '../model.ts'
import { mergeParticipants, nextStatus, processingStatusFor } from '../sessions/session.rules.ts'
import { type Decision, decide, idsToLoad, revisionKey } from './event.rules.ts'
import * as store from './locked.store.ts'
import type { Fingerprints, PreparedRequest, SettingsVersion } from './prepare.ts'
import { environmentRefusal } from './request.rules.ts'
import type { EventLookup, SessionKey, SessionRow, SessionValues } from './rows.store.ts'

/** Everything about one request that storing it needs. */
export interface Job {
  readonly key: SessionKey
  readonly prepared: PreparedRequest
  readonly current: SettingsVersion
  /** The fingerprints of its events under versions of the settings; none under a version that does not exist. */
  readonly older: ReadonlyMap<number, Fingerprints>
  /** Of the request as it was sent. */
  readonly bytes: number
}

/** A request whose application is as it was judged by, with what else was seen of its organization. */
export interface SeenJob extends Job {
  readonly creditsExhausted: boolean
}

/** The application is not any more as the request was judged by: it is to be judged again. Nothing was stored. */
export class StaleApplication extends Error {
  override readonly name: string = 'StaleApplication'
}

/**
 * What is stored was sanitised under other versions of the settings, or by an older release: the request is to be judged likewise. Nothing was
 * stored. That is done outside, because nothing but statements is waited for within a transaction.
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

/** What one accepted request is going to write. */
export interface Plan {
  readonly index: number
  readonly job: SeenJob
  readonly id: string
  readonly isNew: boolean
  /** Something is stored that the session's actor has not seen. */
  readonly hasNews: boolean
  readonly values: SessionValues
  /** Others of them than the processing status. */
  readonly changesValues: boolean
  readonly changesSession: boolean
  readonly decision: Decision
  readonly watermark: number
  readonly erased: boolean
}

/** What has to be read of the session's events. */
export function lookupOf(job: Job): EventLookup {
  const { events } = job.prepared
  return { ids: idsToLoad(events), sequences: events.map(({ event }) => event.sequence) }
}

/** @param application as it is now; undefined: there is none any more. @throws StaleApplication */
export function assertAsJudged<A extends store.SeenApplication>(
  job: Job,
  application: A | undefined,
): asserts application is A {
  if (!application?.chatsEnabled || application.settingsVersion !== job.current.version)
    throw new StaleApplication()
}

const NOTHING_SAID: SanitizedSession = { participants: [] }

/** @throws AppError where the request is refused. */
export async function planJob(
  deps: PlanDeps,
  sql: Query,
  index: number,
  job: SeenJob,
  session: SessionRow | null,
  stored: readonly store.StoredEventRow[],
): Promise<Plan> {
  const { prepared, current } = job
  const merged = mergeParticipants(
    session?.participants ?? [],
    prepared.session.participants,
    current.settings.participantType,
  )
  const decision = await decideJob(sql, job, session, stored)
  const storesEvents = decision.acceptedEventCount + decision.revisedEventCount > 0
  // A retry does not bring back who was erased. With a new event comes new data.
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
 * Whether a finalised response waits for credits where none are left: one of this request, or of an earlier one as the session
 * says. A revision of a final event brings none: its turn, or that of its first revision, says what became of it.
 */
function waitsForCredits(
  session: SessionRow | null,
  { inserts, revisions }: Decision,
  stored: readonly store.StoredEventRow[],
): boolean {
  if (session?.processingStatus === 'billing_blocked') return true
  const wasFinal = new Set(stored.filter(({ final }) => final).map((row) => row.externalEventId))
  return [...inserts, ...revisions].some(
    ({ event: { externalEventId, type, final, body } }) =>
      type === 'assistant_message' && final && body.visible === true && !wasFinal.has(externalEventId),
  )
}

/** The verdict, after the rare look at superseded revisions and at settings that have changed meanwhile. */
async function decideJob(
  sql: Query,
  job: Job,
  session: SessionRow | null,
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
      : await store.readRevisions(sql, key.organizationId, session.id, behind)
  assertJudgedUnderAll(job, [...stored, ...history])
  return decide({
    events: prepared.events,
    settingsVersion: current.version,
    stored: byId,
    occupied: new Map(stored.map((row) => [row.sequence, row.externalEventId])),
    history: new Map(history.map((row) => [revisionKey(row.externalEventId, row.revision), row])),
    rejudge: (index, version) => job.older.get(version)?.present[index] ?? null,
    formerly: (index, version) => job.older.get(version)?.former?.[index] ?? null,
    refusal: (index) =>
      environmentRefusal(prepared.environments, index, session?.environment ?? null, current.settings),
  })
}

/**
 * @throws OlderSettings where a revision that is stored differs, and was taken under settings that this request was not, or perhaps by a
 * release that did not look for names in texts
 */
function assertJudgedUnderAll(
  { prepared, current, older }: Job,
  rows: readonly Pick<
    store.RevisionRow,
    'externalEventId' | 'revision' | 'fingerprint' | 'settingsVersion'
  >[],
): void {
  const foreign = rows.filter(
    (row) =>
      !older.has(row.settingsVersion) &&
      (row.settingsVersion !== current.version || current.settings.redactedFields.length > 0),
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

/** Events that the session's actor has walked past already. */
export function lateEvents({ job, id, decision, watermark }: Plan) {
  return [...decision.inserts, ...decision.revisions]
    .filter(({ event }) => event.sequence <= watermark)
    .map(({ event }) => ({ key: job.key, id, externalEventId: event.externalEventId }))
}

/** The session's row after the request: absent members leave what was there. */
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

export function responseOf({ id, decision, values }: Plan): IngestResponse {
  return {
    sessionId: id,
    acceptedEventCount: decision.acceptedEventCount,
    deduplicatedEventCount: decision.deduplicatedEventCount,
    revisedEventCount: decision.revisedEventCount,
    processingStatus: values.processingStatus,
  }
}
