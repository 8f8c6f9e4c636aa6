/**
 * Builds the `ServiceDeps` object: everything with state or I/O that features use. The HTTP process, every worker thread and the
 * command line each build their own and close it.
 */

import { createNotifier } from '../actors/notifier.ts'
import { createChatServer } from '../analysis/analyze/chat.ts'
import type { AnalyzerDeps } from '../analysis/analyze/create.ts'
import { createTextProcesses, type TextProcesses } from '../analysis/analyze/text-process.ts'
import { createTokenBudget } from '../analysis/analyze/token-budget.ts'
import type { RecorderDeps } from '../calls/meetings/recorder.ts'
import { createRecorder } from '../calls/meetings/recorders/create.ts'
import type { Config } from '../kernel/config.ts'
import type { Deps } from '../kernel/deps.ts'
import { ACTOR_KINDS } from '../kernel/messages/all.ts'
import { createRequestWork } from '../platform/concurrency/request-work.ts'
import { createDatabaseClock, type DatabaseClock } from '../platform/db/database-clock.ts'
import { shareFairly } from '../platform/db/fair-connections.ts'
import { connect } from '../platform/db/pool.ts'
import { objectBusy } from '../platform/db/sqlstate.ts'
import { newId } from '../platform/ids.ts'
import type { Servers } from '../platform/lifecycle/servers.ts'
import { toOperatorServers } from '../platform/net/operator-servers.ts'
import { createSendOutbound } from '../platform/net/outbound-request.ts'
import { createOutboundPolicy } from '../platform/net/outbound-url.ts'
import { createLog } from '../platform/observability/log.ts'
import { createMetrics } from '../platform/observability/metrics.ts'
import { openRedis } from '../platform/redis.ts'
import { createStorage } from '../platform/storage/create.ts'
import { ERRORS } from './error-catalogue.ts'

/** What the features are built over: the kernel's part, and the engines and servers that some features ask of others. */
export interface ServiceDeps extends Deps, AnalyzerDeps, RecorderDeps {}

export interface Container extends ServiceDeps {
  readonly clock: DatabaseClock
  close(): Promise<void>
}

export interface ContainerOptions {
  /** For worker threads: their turns are done over where the database loses the last of them in a crash. */
  readonly redoable?: boolean
  /** For the process that answers requests: the longest wait for a lock. Null: as long as a statement may take. */
  readonly lockTimeoutMs?: number | null
  /** Text processes to share. Absent: the container creates its own. */
  readonly textWork?: TextProcesses | undefined
}

/** Transactions of one organization that run or wait, and the longest wait of each. */
const [MAX_TRANSACTIONS, MAX_WAIT_MS] = [1_000, 10_000]

/** Connections for reads, in addition to `DATABASE_POOL_SIZE`. They open when first needed. */
function readPoolSize(poolSize: number): number {
  return Math.ceil(poolSize / 2)
}

/** `name` appears in log lines and as the application name of database connections. */
export function createContainer(
  config: Config,
  servers: Servers,
  name: string,
  {
    redoable = false,
    lockTimeoutMs = null,
    textWork = createTextProcesses(config.capacity),
  }: ContainerOptions = {},
): Container {
  const log = createLog(config.logLevel, name)
  const pool = connect(servers.database, {
    max: config.databasePoolSize,
    applicationName: name,
    redoable,
    lockTimeoutMs,
    statementTimeoutMs: config.databaseStatementTimeoutMs,
  })
  const sql = shareFairly(pool, {
    places: config.databasePoolSize,
    share: 'asMuchAsItLeaves',
    shareBesideOthers: Math.max(2, Math.floor(config.databasePoolSize / 5)),
    maxOfCaller: MAX_TRANSACTIONS,
    maxWaitMs: MAX_WAIT_MS,
    refusal: objectBusy,
    byKey: true,
  })
  const readConnections = readPoolSize(config.databasePoolSize)
  const readPool = connect(servers.database, {
    max: readConnections,
    applicationName: `${name}-reads`,
    readOnly: true,
    statementTimeoutMs: config.databaseStatementTimeoutMs,
  })
  const listening = connect(servers.database, { max: 1, session: true, applicationName: `${name}-listen` })
  const redis = servers.redis === null ? null : openRedis(servers.redis, log)
  const metrics = createMetrics()
  const clock = createDatabaseClock(pool, log)
  const notifier = createNotifier({ sql, redis, log, metrics, kinds: ACTOR_KINDS })
  const storage = createStorage(config, log)
  const requestWork = createRequestWork({ threads: config.capacity.requestThreads })
  const outbound = createOutboundPolicy(config.outboundAllow)
  return {
    config,
    servers,
    sql,
    listening,
    reads: shareFairly(readPool, { places: readConnections }),
    redis,
    notifier,
    storage,
    outbound,
    recorder: createRecorder(config.recorder, {
      send: createSendOutbound(toOperatorServers(outbound)),
      deadlineMs: config.meetings.callSeconds * 1_000,
    }),
    modelServer: config.analyze === null ? null : createChatServer(config.analyze),
    textWork,
    tokenBudget: createTokenBudget(sql, config),
    requestWork,
    clock,
    newId,
    errors: ERRORS,
    log,
    metrics,
    async close() {
      clock.stop()
      await notifier.close()
      storage.close()
      textWork.close()
      requestWork.close()
      redis?.disconnect()
      await Promise.all([pool, readPool, listening].map((one) => one.end({ timeout: 5 })))
    },
  }
}
