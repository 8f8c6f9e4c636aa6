/**
 * Ingestion of agent conversations. This is the hot path; README.md shows it as a whole.
 *
 * A request stores its events before it answers, because the answer has counts and conflicts, and an answer 200 means that the
 * events are durable. Pure rules decide from read or remembered state. One statement writes, and only where that state is still
 * true. The session's actor makes signals later. Failures come in this order: 401, 404, 400, 409.
 */

import { createEventQuota } from '../../../access/quotas/service.ts'
import { AGENT_CHALLENGE } from '../../../http/auth.ts'
import { jsonLoad } from '../../../http/json-cost.ts'
import type { Deps } from '../../../kernel/deps.ts'
import type { Principal } from '../../../kernel/principal.ts'
import { asService } from '../../../platform/concurrency/caller.ts'
import { createGroupCommit } from '../../../platform/concurrency/group-commit.ts'
import { errorOfData } from '../../../platform/concurrency/work.ts'
import { asUnavailable, isLockTimeout, isRetryable } from '../../../platform/db/sqlstate.ts'
import { AppError } from '../../../platform/errors.ts'
import { counterOf } from '../../../platform/observability/metrics.ts'
import type { Applications } from '../applications/service.ts'
import { hasAgentKey, type IngestApplication, selectSettings } from '../applications/store.ts'
import { MAX_EVENTS_PER_REQUEST } from '../model.ts'
import type { AppendResponse, IngestResponse } from '../request-model.ts'
import type { Stored } from './locked.ts'
import { storeBatch } from './optimistic.ts'
import { type Job, OlderSettings, StaleApplication } from './plan.ts'
import type { ByRules } from './prepare.ts'
import { createRememberedApplications } from './remembered-applications.ts'
import { createRememberedSessions } from './remembered-sessions.ts'
import { createIngestWork, type IngestMode, type IngestWork } from './work.ts'

type AgentPrincipal = Extract<Principal, { kind: 'agent' }>
type IngestDeps = Pick<Deps, 'sql' | 'notifier' | 'newId' | 'metrics' | 'requestWork' | 'clock' | 'config'>

type ReadBody = () => Promise<Uint8Array[]>

/** Both store one request. @throws AppError as the specification's agent-ingestion column lists them */
export interface Ingest {
  /** Stores events that the caller has numbered. `receivedAt` as below. */
  ingest(principal: AgentPrincipal, readBody: ReadBody, receivedAt?: string | null): Promise<IngestResponse>
  /**
   * Numbers events behind the session's last, and stores them (append.rules.ts). `receivedAt`: when they were received, by the
   * clock of the database, if they have waited elsewhere.
   */
  append(principal: AgentPrincipal, readBody: ReadBody, receivedAt?: string | null): Promise<AppendResponse>
}

/** Most concurrent transactions of ingestion in one process. Requests that arrive in the meantime share the next one. */
const MAX_TRANSACTIONS = 2
/** With at least this many waiting events, a second transaction starts beside the running one. */
const MIN_EVENTS_BESIDE = 50
const MAX_REQUESTS_PER_TRANSACTION = 64
/** Requests of several organizations that share a transaction: about 20 ms. A transaction with more is of one organization. */
const MAX_SHARED_BYTES = 256 * 1024
/** Bounds memory: the process and the database each hold several copies of the rows. */
const MAX_BYTES_PER_TRANSACTION = 8 * 1024 * 1024
/** A transaction that takes longer waits for the lock of a session, for example of a worker that was paused in a turn. */
const OVERDUE_MS = 200
/** Most bytes of requests that one process stores or keeps waiting. With more, the database cannot keep up. */
const MAX_WAITING_BYTES = 128 * 1024 * 1024

/** Most times that one request is judged. It is judged again where its application changes while it waits to be stored. */
const ATTEMPTS = 12

export function createIngest(deps: IngestDeps, applications: Pick<Applications, 'loadForIngest'>): Ingest {
  const work = createIngestWork()
  const store = createStore(deps)
  const count = createCount(deps)
  const quota = createEventQuota(deps)
  const known = createRememberedApplications((...ids) => applications.loadForIngest(...ids))

  /** Judges by the remembered application. Where that refuses the request, judges again by the stored application. */
  async function judgeUnderKnown(
    principal: AgentPrincipal,
    readBody: ReadBody,
    mode: IngestMode,
  ): Promise<Judged> {
    const { organizationId, applicationId } = principal
    const { application, remembered } = await known.get(organizationId, applicationId)
    try {
      return await judge(deps, work, principal, application, readBody, mode)
    } catch (error) {
      if (!remembered || !isRefusal(error)) throw error
      known.invalidate(applicationId)
      return judgeUnderKnown(principal, readBody, mode)
    }
  }

  /** Duplicates and revisions need no room, but whether an event is one shows only when it is stored. */
  async function storeWithinQuota(job: Job): Promise<Stored> {
    const settle = await quota.reserve(job.key.organizationId, job.prepared.events.length)
    let stored = 0
    try {
      const response = await store(job)
      stored = response.acceptedEventCount
      count(response)
      return response
    } finally {
      settle(stored)
    }
  }

  async function storeRequest(
    principal: AgentPrincipal,
    readBody: ReadBody,
    mode: IngestMode,
    receivedAt: string | null,
  ): Promise<Stored> {
    let body: Promise<Uint8Array[]> | null = null
    const readOnce = () => {
      body ??= readBody()
      return body
    }
    let judged = await judgeUnderKnown(principal, readOnce, mode)
    for (let attempt = 1; ; attempt++) {
      try {
        const stored = await storeWithinQuota({ ...judged.job, receivedAt })
        const { ignored } = judged.job.prepared
        return ignored === undefined ? stored : { ...stored, ignored: [...ignored] }
      } catch (error) {
        if (!(error instanceof StaleApplication)) throw error
        if (attempt === ATTEMPTS) throw unavailable('The application is being changed. Try again shortly.')
        if (error instanceof OlderSettings) {
          judged = await judgeUnderOlder(deps, work, judged, error.versions)
        } else {
          known.invalidate(principal.applicationId)
          judged = await judgeUnderKnown(principal, readOnce, mode)
        }
      }
    }
  }

  return {
    ingest: (principal, readBody, receivedAt = null) =>
      storeRequest(principal, readBody, 'ingest', receivedAt),
    async append(principal, readBody, receivedAt = null) {
      const { events = [], ...response } = await storeRequest(principal, readBody, 'append', receivedAt)
      return { ...response, events }
    },
  }
}

/** A judged request. It keeps the body, because it may be judged again. */
interface Judged {
  readonly job: Job
  readonly body: Uint8Array[]
}

/** False where the request was not judged: its thread was ended, and the body with it. */
const isRefusal = (error: unknown): boolean => error instanceof AppError && error.code !== 'unavailable'

/** Judges a request as far as possible without its session. */
async function judge(
  deps: IngestDeps,
  work: IngestWork,
  principal: AgentPrincipal,
  application: IngestApplication,
  readBody: ReadBody,
  mode: IngestMode,
): Promise<Judged> {
  const { organizationId, applicationId } = principal
  const disabled = application.chatsEnabled
    ? null
    : new AppError('agent_chats_disabled', 'Agent Chats are not enabled for this workspace.')
  // The key of another application (401) is reported first, so the body is read. A body that cannot be read (400) comes later.
  const disabledOr = (error: unknown): never => {
    throw disabled !== null && isRefusal(error) ? disabled : error
  }
  const body = await Promise.try(readBody).catch(disabledOr)
  const { settings, settingsVersion: version } = application
  const load = { ...jsonLoad(organizationId, body), keepsParts: true }
  const input = { parts: body, applicationId, version, settings, mode }
  const { agentKey, outcome } = await deps.requestWork.run(work.judge, input, load).catch(disabledOr)
  await checkAgentKey(deps, principal, application, agentKey)
  if (disabled !== null) throw disabled
  if ('refusal' in outcome) throw errorOfData(outcome.refusal)
  const { prepared } = outcome
  const key = { organizationId, applicationId, externalSessionId: prepared.externalSessionId }
  const current = { version, settings }
  return { body, job: { key, prepared, current, older: new Map(), bytes: load.bytes } }
}

/** Under a settings version that does not exist. */
const NOTHING: ByRules<never> = { 1: [], 2: [], 3: [] }

/** Adds the fingerprints, or the bodies of an append, under other settings versions to a judged request. */
async function judgeUnderOlder(
  { sql, requestWork }: IngestDeps,
  work: IngestWork,
  { job, body }: Judged,
  versions: readonly number[],
): Promise<Judged> {
  const { organizationId, applicationId } = job.key
  const load = { ...jsonLoad(organizationId, body), keepsParts: true }
  const mode: IngestMode = job.prepared.timed === null ? 'ingest' : 'append'
  const older = new Map(job.older)
  const bodies = new Map(job.bodies)
  for (const version of versions) {
    if (mode === 'append') bodies.set(version, NOTHING)
    else older.set(version, NOTHING)
  }
  for (const { version, settings } of await selectSettings(sql, organizationId, applicationId, versions)) {
    const input = { parts: body, applicationId, version, settings, mode }
    if (mode === 'append') bodies.set(version, await requestWork.run(work.bodies, input, load))
    else older.set(version, await requestWork.run(work.fingerprints, input, load))
  }
  return { body, job: { ...job, older, bodies } }
}

function unavailable(message: string): AppError {
  return new AppError('unavailable', message, { headers: { 'retry-after': '1' } })
}

/** Stores one request, in a transaction that it may share with others. */
function createStore(deps: IngestDeps): (job: Job) => Promise<Stored> {
  const batchDeps = { ...deps, known: createRememberedSessions() }
  return createGroupCommit<Job, Stored>({
    callerOf: ({ key }) => key.organizationId,
    keyOf: ({ key }) => `${key.applicationId} ${key.externalSessionId}`,
    weightOf: ({ prepared }) => prepared.events.length,
    sizeOf: ({ bytes }) => bytes,
    maxBatches: MAX_TRANSACTIONS,
    overdueMs: OVERDUE_MS,
    minWeightBeside: MIN_EVENTS_BESIDE,
    maxJobs: MAX_REQUESTS_PER_TRANSACTION,
    maxWeight: MAX_EVENTS_PER_REQUEST,
    maxSharedSize: MAX_SHARED_BYTES,
    maxBatchSize: MAX_BYTES_PER_TRANSACTION,
    maxWaitingSize: MAX_WAITING_BYTES,
    isOutage: (error) => asUnavailable(error) !== null && !isRetryable(error) && !isLockTimeout(error),
    refusal: () => unavailable('Too many requests wait to be stored. Try again shortly.'),
    // A batch belongs to several organizations. Its limits are those of the group commit.
    run: (jobs) => asService(() => storeBatch(batchDeps, jobs)),
  })
}

/** Returns the function that counts the events of a response. */
function createCount({ metrics }: IngestDeps): (response: IngestResponse) => void {
  const events = counterOf(metrics, {
    name: 'earshot_agent_events_total',
    help: 'Agent conversation events by outcome: accepted, deduplicated, revised',
    labelNames: ['outcome'],
  })
  return (response) => {
    events.inc({ outcome: 'accepted' }, response.acceptedEventCount)
    events.inc({ outcome: 'deduplicated' }, response.deduplicatedEventCount)
    events.inc({ outcome: 'revised' }, response.revisedEventCount)
  }
}

/**
 * Checks that the `agentKey` of the body belongs to the application of the secret. The key of another application of the
 * organization is a mismatch (401), and an unknown key is a missing application (404) unless chats are disabled, which is another
 * 404. The schema check refuses a body without a usable key.
 */
async function checkAgentKey(
  deps: IngestDeps,
  principal: AgentPrincipal,
  application: IngestApplication,
  agentKey: string | null,
): Promise<void> {
  if (agentKey === null || agentKey.trim() === '' || agentKey === application.agentKey) return
  if (await hasAgentKey(deps.sql, principal.organizationId, agentKey)) {
    throw new AppError(
      'invalid_agent_secret',
      'The agent key and the secret belong to different applications.',
      { headers: { 'www-authenticate': AGENT_CHALLENGE } },
    )
  }
  if (!application.chatsEnabled) return
  throw new AppError('agent_application_not_found', 'There is no application with this agent key.')
}
