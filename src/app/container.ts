/**
 * Builds the `Deps` object: everything with state or I/O that features use. The HTTP process, every worker thread and the
 * command line each build their own and close it.
 */

import { createNotifier } from '../actors/notifier.ts'
import type { Notifier } from '../actors/types.ts'
import type { Recorder } from '../calls/meetings/recorder.ts'
import { createRecorder } from '../calls/meetings/recorders/create.ts'
import { ACTOR_KINDS } from '../kernel/messages/all.ts'
import type { Clock } from '../platform/clock.ts'
import { createRequestWork } from '../platform/concurrency/request-work.ts'
import type { RequestWork } from '../platform/concurrency/work.ts'
import { createDatabaseClock, type DatabaseClock } from '../platform/db/database-clock.ts'
import { shareFairly } from '../platform/db/fair-connections.ts'
import { connect, type Query, type Sql } from '../platform/db/pool.ts'
import { objectBusy } from '../platform/db/sqlstate.ts'
import type { ErrorCatalogue } from '../platform/errors.ts'
import { type NewId, newId } from '../platform/ids.ts'
import type { Servers } from '../platform/lifecycle/servers.ts'
import { toOperatorServers } from '../platform/net/operator-servers.ts'
import { createSendOutbound } from '../platform/net/outbound-request.ts'
import { createOutboundPolicy, type OutboundPolicy } from '../platform/net/outbound-url.ts'
import { createLog, type Log } from '../platform/observability/log.ts'
import { createMetrics, type Metrics } from '../platform/observability/metrics.ts'
import { openRedis, type Redis } from '../platform/redis.ts'
import { createStorage } from '../platform/storage/create.ts'
import type { ObjectStore } from '../platform/storage/storage.ts'
import { type ChatServer, createChatServer } from '../understand/analyze/chat.ts'
import { createTextProcesses, type TextProcesses } from '../understand/analyze/text-process.ts'
import type { TextWork } from '../understand/analyze/text-work.ts'
import { createTokenBudget, type TokenBudget } from '../understand/analyze/token-budget.ts'
import type { Config } from './config.ts'
import { ERRORS } from './error-catalogue.ts'

export type { Servers }

export interface Deps {
  readonly config: Config
  readonly servers: Servers
  /** In turns by organization, and by the object that a request changes. */
  readonly sql: Sql
  /** For reads that are shown to a caller, in turns by organization. Its connections prefer index plans and cannot write. */
  readonly reads: Query
  /** Listens to notifications, past a connection pooler. */
  readonly listening: Pick<Sql, 'listen'>
  readonly redis: Redis | null
  readonly notifier: Notifier
  readonly storage: ObjectStore
  /** Which servers requests of the service may reach, if a customer or the operator names them. */
  readonly outbound: OutboundPolicy
  /** Joins meetings. Every request fails where none is configured. */
  readonly recorder: Recorder
  /** Reads and answers in words, if the operator has one. */
  readonly modelServer: ChatServer | null
  readonly textWork: TextWork
  readonly tokenBudget: TokenBudget
  readonly requestWork: RequestWork
  readonly clock: Clock
  readonly newId: NewId
  readonly errors: ErrorCatalogue
  readonly log: Log
  readonly metrics: Metrics
}

export interface Container extends Deps {
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
