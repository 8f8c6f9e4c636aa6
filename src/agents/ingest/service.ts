/**
 * Ingestion of agent conversations: the hot path.
 *
 * The rule: events are stored in the request, because the answer carries counts and conflicts, and what was answered
 * with 200 is durable. Everything is decided by pure rules from what was read or is remembered, and written in one statement,
 * which counts only where that still holds; signals follow in the session's actor. Order of failures: 401, 404, 400, 409.
 */
import type { Deps } from '../../container.ts'
import { AGENT_CHALLENGE } from '../../http/auth.ts'
import { jsonLoad } from '../../http/json-cost.ts'
import type { Principal } from '../../identity/principal.ts'
import { createGroupCommit } from '../../platform/concurrency/group-commit.ts'
import { errorOfData } from '../../platform/concurrency/work.ts'
import { asUnavailable, isRetryable } from '../../platform/db/sqlstate.ts'
import { AppError } from '../../platform/errors.ts'
import type { Applications } from '../applications/service.ts'
import { hasAgentKey, type IngestApplication, selectSettings } from '../applications/store.ts'
import { type IngestResponse, MAX_EVENTS_PER_REQUEST } from '../model.ts'
import { storeBatch } from './optimistic.ts'
import { type Job, OlderSettings, StaleApplication } from './plan.ts'
import type { Fingerprints } from './prepare.ts'
import { createRememberedApplications } from './remembered-applications.ts'
import { createRememberedSessions } from './remembered-sessions.ts'
import { createIngestWork, type IngestWork } from './work.ts'

type AgentPrincipal = Extract<Principal, { kind: 'agent' }>
type IngestDeps = Pick<Deps, 'sql' | 'doorbell' | 'newId' | 'metrics' | 'requestWork'>

/** Stores one request. @throws AppError as the specification's agent-ingestion column lists them */
export type Ingest = (
  principal: AgentPrincipal,
  readBody: () => Promise<Uint8Array>,
) => Promise<IngestResponse>

/** Transactions of ingestion under way in one process; requests that arrive meanwhile share the next. */
const MAX_TRANSACTIONS = 2
/** Events that are worth a transaction beside the one that is under way. */
const MIN_EVENTS_BESIDE = 50
const MAX_REQUESTS_PER_TRANSACTION = 64
/** They travel as one text, of which the process and the database each hold several copies. */
const MAX_BYTES_PER_TRANSACTION = 8 * 1024 * 1024
/** A transaction that takes longer waits for a session that somebody holds, such as a worker that was paused in a turn. */
const PATIENCE_MS = 200
/** Of the requests of one process that are being stored or wait for it. Beyond it the database does not keep up. */
const MAX_WAITING_BYTES = 128 * 1024 * 1024

/** How often a request is judged again because its application was changed while it waited to be stored. */
const ATTEMPTS = 12

export function createIngest(deps: IngestDeps, applications: Pick<Applications, 'loadForIngest'>): Ingest {
  const work = createIngestWork()
  const store = createStore(deps)
  const known = createRememberedApplications((...ids) => applications.loadForIngest(...ids))

  /** A refusal under a remembered application is a refusal only under the stored one. */
  async function judgeUnderKnown(
    principal: AgentPrincipal,
    readBody: () => Promise<Uint8Array>,
  ): Promise<Judged> {
    const { organizationId, applicationId } = principal
    const { application, remembered } = await known.get(organizationId, applicationId)
    try {
      return await judge(deps, work, principal, application, readBody)
    } catch (error) {
      if (!remembered) throw error
      known.invalidate(applicationId)
      return judgeUnderKnown(principal, readBody)
    }
  }

  return async (principal, readBody) => {
    let body: Promise<Uint8Array> | null = null
    const readOnce = () => {
      body ??= readBody()
      return body
    }
    let judged = await judgeUnderKnown(principal, readOnce)
    for (let attempt = 1; ; attempt++) {
      try {
        const response = await store(judged.job)
        count(deps, response)
        return response
      } catch (error) {
        if (!(error instanceof StaleApplication)) throw error
        if (attempt === ATTEMPTS) throw unavailable('The application is being changed. Try again shortly.')
        if (error instanceof OlderSettings) {
          judged = await judgeUnderOlder(deps, work, judged, error.versions)
        } else {
          known.invalidate(principal.applicationId)
          judged = await judgeUnderKnown(principal, readOnce)
        }
      }
    }
  }
}

/** A request that was judged, with its body: that may have to be judged once more. */
interface Judged {
  readonly job: Job
  readonly body: Uint8Array
}

/** Everything that can be said of a request before anything stored of its session is looked at. */
async function judge(
  deps: IngestDeps,
  work: IngestWork,
  principal: AgentPrincipal,
  application: IngestApplication,
  readBody: () => Promise<Uint8Array>,
): Promise<Judged> {
  const { organizationId, applicationId } = principal
  if (!application.chatsEnabled) {
    throw new AppError('agent_chats_disabled', 'Agent Chats are not enabled for this workspace.')
  }
  const body = await readBody()
  const { settings, settingsVersion: version } = application
  const load = jsonLoad(organizationId, body)
  const input = { bytes: body, applicationId, version, settings }
  const { agentKey, outcome } = await deps.requestWork.run(work.judge, input, load)
  await checkAgentKey(deps, principal, application, agentKey)
  if ('refusal' in outcome) throw errorOfData(outcome.refusal)
  const { prepared } = outcome
  const key = { organizationId, applicationId, externalSessionId: prepared.externalSessionId }
  const current = { version, settings }
  return { body, job: { key, prepared, current, older: new Map(), bytes: body.byteLength } }
}

/** Of a version that does not exist. */
const NO_FINGERPRINTS: Fingerprints = { present: [], former: null }

/** Adds the fingerprints under versions of the settings. */
async function judgeUnderOlder(
  { sql, requestWork }: IngestDeps,
  work: IngestWork,
  { job, body }: Judged,
  versions: readonly number[],
): Promise<Judged> {
  const { organizationId, applicationId } = job.key
  const load = jsonLoad(organizationId, body)
  const older = new Map([...job.older, ...versions.map((version) => [version, NO_FINGERPRINTS] as const)])
  for (const { version, settings } of await selectSettings(sql, organizationId, applicationId, versions)) {
    const input = { bytes: body, applicationId, version, settings }
    older.set(version, await requestWork.run(work.fingerprints, input, load))
  }
  return { body, job: { ...job, older } }
}

function unavailable(message: string): AppError {
  return new AppError('unavailable', message, { headers: { 'retry-after': '1' } })
}

/** Stores one request, in a transaction that it may share with others. */
function createStore(deps: IngestDeps): (job: Job) => Promise<IngestResponse> {
  const batchDeps = { ...deps, known: createRememberedSessions() }
  return createGroupCommit<Job, IngestResponse>({
    keyOf: ({ key }) => `${key.applicationId} ${key.externalSessionId}`,
    weightOf: ({ prepared }) => prepared.events.length,
    sizeOf: ({ bytes }) => bytes,
    maxBatches: MAX_TRANSACTIONS,
    patienceMs: PATIENCE_MS,
    minWeightBeside: MIN_EVENTS_BESIDE,
    maxJobs: MAX_REQUESTS_PER_TRANSACTION,
    maxWeight: MAX_EVENTS_PER_REQUEST,
    maxBatchSize: MAX_BYTES_PER_TRANSACTION,
    maxWaitingSize: MAX_WAITING_BYTES,
    isOutage: (error) => asUnavailable(error) !== null && !isRetryable(error),
    refusal: () => unavailable('Too many requests wait to be stored. Try again shortly.'),
    run: (jobs) => storeBatch(batchDeps, jobs),
  })
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
  throw new AppError('agent_application_not_found', 'There is no application with this agent key.')
}
