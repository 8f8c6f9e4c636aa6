/**
 * Ingestion of agent conversations: the hot path.
 *
 * The rule: events are stored in the request, because the answer carries counts and conflicts, and what was answered
 * with 200 is durable. Everything is decided in memory by pure rules between one read and one write, under the
 * session's row lock; signals follow in the session's actor. Order of failures: 401, 404, 400, 409.
 */
import { type Outbox, transactionWithMail } from '../actors/mailbox.ts'
import type { Deps } from '../container.ts'
import type { ParsedBody } from '../http/operation.ts'
import type { Principal } from '../identity/principal.ts'
import type { Tx } from '../platform/db/pool.ts'
import { AppError } from '../platform/errors.ts'
import { hasAgentKey, type IngestApplication, selectSettings } from './applications.store.ts'
import type { Applications } from './applications.ts'
import { type Decision, decide, idsToLoad, revisionKey, type StoredFingerprint } from './event.rules.ts'
import {
  createSettingsVersions,
  fingerprintUnder,
  type PreparedRequest,
  prepare,
  type SettingsVersion,
  type SettingsVersions,
} from './ingest.prepare.ts'
import * as store from './ingest.store.ts'
import type { IngestResponse } from './model.ts'
import { checkEnvironments, checkRequest, parseRequest } from './request.rules.ts'
import { mergeParticipants, nextStatus, processingStatusFor } from './session.rules.ts'

type AgentPrincipal = Extract<Principal, { kind: 'agent' }>
type IngestDeps = Pick<Deps, 'sql' | 'doorbell' | 'newId' | 'metrics'>

/** Stores one request. @throws AppError as the specification's agent-ingestion column lists them */
export type Ingest = (
  principal: AgentPrincipal,
  readBody: () => Promise<ParsedBody>,
) => Promise<IngestResponse>

/** Everything about one request that its transaction needs; survives a retried transaction. */
interface Job {
  readonly key: store.SessionKey
  readonly prepared: PreparedRequest
  readonly current: SettingsVersion
  readonly creditsExhausted: boolean
}

/** Two requests created the same session at once; the loser starts again and finds it. */
class SessionCreatedMeanwhile extends Error {}

export function createIngest(deps: IngestDeps, applications: Pick<Applications, 'loadForIngest'>): Ingest {
  const versions = createSettingsVersions()
  return async (principal, readBody) => {
    const { organizationId, applicationId } = principal
    const application = await applications.loadForIngest(organizationId, applicationId)
    if (!application.chatsEnabled) {
      throw new AppError('agent_chats_disabled', 'Agent Chats are not enabled for this workspace.')
    }
    const body = await readBody()
    await checkAgentKey(deps, principal, application, body.value)
    const request = parseRequest(body.value)
    checkRequest(request, body.bytes)
    const current = versions.get(applicationId, application.settingsVersion, application.settings)
    const response = await storeRequest(deps, versions, {
      key: { organizationId, applicationId, externalSessionId: request.externalSessionId },
      prepared: prepare(request, current),
      current,
      creditsExhausted: application.creditsRemaining === 0,
    })
    count(deps, response)
    return response
  }
}

function count({ metrics }: IngestDeps, response: IngestResponse): void {
  metrics.agentEvents.inc({ outcome: 'accepted' }, response.acceptedEventCount)
  metrics.agentEvents.inc({ outcome: 'deduplicated' }, response.deduplicatedEventCount)
  metrics.agentEvents.inc({ outcome: 'revised' }, response.revisedEventCount)
}

/**
 * The `agentKey` in the body must name the application of the secret. A key of another application of the
 * organization is a mismatch (401), one that nobody has is a missing application (404). A body without a usable key
 * is left to the schema.
 */
async function checkAgentKey(
  deps: IngestDeps,
  principal: AgentPrincipal,
  application: IngestApplication,
  body: unknown,
): Promise<void> {
  if (typeof body !== 'object' || body === null || !('agentKey' in body)) return
  const { agentKey } = body
  if (typeof agentKey !== 'string' || agentKey.trim() === '' || agentKey === application.agentKey) return
  if (await hasAgentKey(deps.sql, principal.organizationId, agentKey)) {
    throw new AppError(
      'invalid_agent_secret',
      'The agent key and the secret belong to different applications.',
    )
  }
  throw new AppError('agent_application_not_found', 'There is no application with this agent key.')
}

async function storeRequest(deps: IngestDeps, versions: SettingsVersions, job: Job): Promise<IngestResponse> {
  for (;;) {
    try {
      return await transactionWithMail(deps, (tx, outbox) =>
        storeInTransaction(deps, versions, job, tx, outbox),
      )
    } catch (error) {
      if (!(error instanceof SessionCreatedMeanwhile)) throw error
    }
  }
}

async function storeInTransaction(
  deps: IngestDeps,
  versions: SettingsVersions,
  job: Job,
  tx: Tx,
  outbox: Outbox,
): Promise<IngestResponse> {
  const { key, prepared, current } = job
  const sequences = prepared.events.map(({ event }) => event.sequence)
  const [session, stored] = await Promise.all([
    store.lockSession(tx, key),
    store.readStoredEvents(tx, key, idsToLoad(prepared.events), sequences),
  ])
  checkEnvironments(prepared.request, session?.environment ?? null, current.settings)
  const decision = await decideRequest(tx, versions, job, session, stored)
  const status = nextStatus(session?.status ?? null, prepared.request.status)
  const hasNews = decision.acceptedEventCount + decision.revisedEventCount > 0 || status !== session?.status
  const processingStatus =
    hasNews || session === null
      ? processingStatusFor({
          captureContent: current.settings.captureContent,
          creditsExhausted: job.creditsExhausted,
        })
      : session.processingStatus
  const id = session?.id ?? deps.newId()
  const next = nextSession(job, session, { status, processingStatus })
  const late = [...decision.inserts, ...decision.revisions].filter(
    ({ event }) => event.sequence <= (session?.watermark ?? -1),
  )
  // Sent together, executed in this order: domain rows first, the actor's row last.
  const [isMine] = await Promise.all([
    session === null ? store.insertSession(tx, key, id, next) : true,
    store.insertEvents(tx, key.organizationId, id, current.version, decision.inserts),
    store.reviseEvents(tx, key.organizationId, id, current.version, decision.revisions),
    store.insertRevisits(tx, key.organizationId, id, late),
    session !== null && (hasNews || !isSameSession(session, next))
      ? store.updateSession(tx, key.organizationId, id, next)
      : undefined,
    hasNews ? outbox.sendUnlessWaiting([{ key: `session:${id}`, type: 'events_stored' }]) : undefined,
  ])
  if (!isMine) throw new SessionCreatedMeanwhile()
  return {
    sessionId: id,
    acceptedEventCount: decision.acceptedEventCount,
    deduplicatedEventCount: decision.deduplicatedEventCount,
    revisedEventCount: decision.revisedEventCount,
    processingStatus,
  }
}

/** The verdict, after the rare look at superseded revisions and at settings that have changed meanwhile. */
async function decideRequest(
  tx: Tx,
  versions: SettingsVersions,
  job: Job,
  session: store.SessionRow | null,
  stored: readonly store.StoredEventRow[],
): Promise<Decision> {
  const { key, prepared, current } = job
  const byId = new Map(stored.map((row) => [row.externalEventId, row]))
  const behind = prepared.events.filter(
    ({ event }) => event.revision < (byId.get(event.externalEventId)?.revision ?? 0),
  )
  const history =
    session === null || behind.length === 0
      ? []
      : await store.readRevisions(
          tx,
          key.organizationId,
          session.id,
          behind.map(({ event }) => event.externalEventId),
        )
  const older = await readOlderSettings(tx, versions, job, [...stored, ...history])
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
  tx: Tx,
  versions: SettingsVersions,
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

/** The session's row after the request: absent members leave what was there. */
function nextSession(
  { prepared, current }: Job,
  session: store.SessionRow | null,
  state: Pick<store.SessionValues, 'status' | 'processingStatus'>,
): store.SessionValues {
  const sent = prepared.session
  return {
    ...state,
    agentVersion: sent.agentVersion ?? session?.agentVersion ?? null,
    source: sent.source ?? session?.source ?? null,
    context: sent.context ?? session?.context ?? null,
    environment: sent.context?.environment ?? session?.environment ?? null,
    participants: mergeParticipants(
      session?.participants ?? [],
      sent.participants,
      current.settings.participantType,
    ),
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
