/**
 * `earshot doctor`: checks everything that the service depends on, one after the other.
 *
 * A check never throws. A check that depends on a failed one is skipped. Details contain no credentials.
 */

import { MIGRATIONS } from '../../sql/migrations.ts'
import { examineTokens } from '../access/identity/examine.ts'
import { describeInvitations } from '../access/identity/invitations.ts'
import { nearQuotas } from '../access/quotas/service.ts'
import { examineSignIn } from '../access/sign-in/examine.ts'
import { DEFAULT_OPTIONS } from '../actors/options.ts'
import { countLiveWorkers } from '../actors/worker-statements.ts'
import { examineAnalyzer } from '../analysis/analyze/examine.ts'
import { describeProgress } from '../analysis/findings/reanalysis.ts'
import { loadConfig } from '../app/config.ts'
import { examinePrograms, findPrograms } from '../calls/media/programs.ts'
import { examineRecorder } from '../calls/meetings/examine.ts'
import { examineTranscription } from '../calls/transcribe/examine.ts'
import type { Config } from '../kernel/config.ts'
import { withTimeout } from '../platform/concurrency/timeout.ts'
import { unfinishedDataChanges } from '../platform/db/data-change.ts'
import { assertMigrated } from '../platform/db/migrate.ts'
import { connect, type Database, type Sql } from '../platform/db/pool.ts'
import { examineRoles } from '../platform/db/pooler.ts'
import { withRemedy } from '../platform/db/remedy.ts'
import {
  assertServerStores,
  assertServerWritable,
  serverTime,
  serverVersion,
  tablesWithoutRights,
} from '../platform/db/server-version.store.ts'
import { openServers } from '../platform/embedded/servers.ts'
import { NeedsOperator } from '../platform/errors.ts'
import { oneLine } from '../platform/lifecycle/start-error.ts'
import { examineMail } from '../platform/mail/examine.ts'
import { toOperatorServers } from '../platform/net/operator-servers.ts'
import { createSendOutbound } from '../platform/net/outbound-request.ts'
import { createOutboundPolicy } from '../platform/net/outbound-url.ts'
import { createLog, type Log } from '../platform/observability/log.ts'
import { openRedis } from '../platform/redis.ts'
import { assertRedisUsable, withRemedy as withRedisRemedy } from '../platform/redis-usable.ts'
import { examineStorage } from '../platform/storage/examine.ts'
import { examineWebhooks } from '../tell/webhooks/examine.ts'
import type { Input } from './command.ts'

export interface Check {
  readonly name:
    | 'settings'
    | 'media'
    | 'transcription'
    | 'database'
    | 'clock'
    | 'pooler'
    | 'schema'
    | 'data changes'
    | 'analysis'
    | 'analyzer'
    | 'invitations'
    | 'workers'
    | 'quotas'
    | 'webhooks'
    | 'redis'
    | 'storage'
    | 'mail'
    | 'sign-in'
    | 'tokens'
    | 'recorder'
  readonly ok: boolean
  readonly detail: string
}

const OLDEST_POSTGRESQL = 15
const REDIS_BUDGET_MS = 3_000
/** The client of S3 repeats a request that fails. */
const STORAGE_BUDGET_MS = 15_000
const MAIL_BUDGET_MS = 10_000
const RECORDER_BUDGET_MS = 20_000
/** Tokens and signatures of S3 are refused from about here on. */
const MAX_CLOCK_SECONDS = 30

/** Resolves with the checks that were made, in order. */
export async function examine(
  env: Input['env'],
  { mailTo = null }: { readonly mailTo?: string | null } = {},
): Promise<readonly Check[]> {
  let config: Config
  try {
    config = loadConfig(env)
  } catch (error) {
    return [{ name: 'settings', ok: false, detail: oneLine(error) }]
  }
  const settings = { name: 'settings', ok: true, detail: describe(config) } as const
  const media = config.role === 'api' ? [] : await examineMedia(config)
  const local = [settings, ...media, ...ifAny('analyzer', await examineAnalyzer(config))]
  // The checks report every problem. The log would repeat them.
  const log = createLog('silent', 'earshot-cli')
  try {
    const servers = await openServers(config, log)
    const sql = connect(servers.servers.database, { max: 1, session: true, applicationName: 'earshot-cli' })
    try {
      return [
        ...local,
        ...(await examineDatabase(sql, servers.servers.database, config)),
        await examineRedis(servers.servers.redis, sql.options.database, log),
        await check('mail', () => examineMail(config, mailTo, AbortSignal.timeout(MAIL_BUDGET_MS))),
        ...(await examineServers(config, log)),
        await check(
          'storage',
          () => examineStorage(config, AbortSignal.timeout(STORAGE_BUDGET_MS)),
          withCause,
        ),
      ]
    } finally {
      await sql.end({ timeout: 5 })
      await servers.stop()
    }
  } catch (error) {
    return [...local, { name: 'database', ok: false, detail: oneLine(error) }]
  }
}

function describe({ role, databaseUrl, dataDir }: Config): string {
  return `role ${role}, ${databaseUrl === null ? `embedded in ${dataDir}` : 'database at DATABASE_URL'}`
}

/** Checks the programs for media and speech, if this machine runs workers. */
async function examineMedia(config: Config): Promise<readonly Check[]> {
  const programs = findPrograms(config)
  return [
    await check('media', () => examinePrograms(programs)),
    await check('transcription', async () => examineTranscription(config.transcribe, programs)),
  ]
}

/** Servers that only some settings name. The outbound policy must allow the provider of sign-in and the recorder. */
async function examineServers(config: Config, log: Log): Promise<readonly Check[]> {
  const send = createSendOutbound(toOperatorServers(createOutboundPolicy(config.outboundAllow)))
  return [
    ...ifAny('sign-in', await examineSignIn(config, send, log)),
    ...ifAny('tokens', await examineTokens(config)),
    ...ifAny('recorder', await examineRecorder(config, send, AbortSignal.timeout(RECORDER_BUDGET_MS))),
  ]
}

/** Null: the settings name none. */
const ifAny = (name: Check['name'], found: Omit<Check, 'name'> | null): readonly Check[] =>
  found === null ? [] : [{ name, ...found }]

async function examineDatabase(sql: Sql, address: Database, config: Config): Promise<readonly Check[]> {
  const database = await check(
    'database',
    async () => {
      const version = await serverVersion(sql)
      await assertServerWritable(sql)
      await assertServerStores(sql)
      const ok = version.major >= OLDEST_POSTGRESQL
      const remedy = ok ? '' : `. Upgrade it to ${OLDEST_POSTGRESQL} or newer`
      return { ok, detail: `PostgreSQL ${version.text}${remedy}` }
    },
    ofDatabase,
  )
  if (!database.ok) return [database]
  const clock = await check('clock', () => examineClock(sql), ofDatabase)
  const roles = await examinePooler(sql, address, config)
  if (roles.some(({ ok }) => !ok)) return [database, clock, ...roles]
  const schema = await check(
    'schema',
    async () => {
      await assertMigrated(sql, MIGRATIONS)
      const closed = await tablesWithoutRights(sql)
      if (closed === 0) return { ok: true, detail: `${MIGRATIONS.length} migrations` }
      return {
        ok: false,
        detail: `the role in DATABASE_URL may not write ${closed} tables. Make it their owner, or name the role that ran the migrations`,
      }
    },
    ofDatabase,
  )
  if (!schema.ok) return [database, clock, ...roles, schema]
  const changes = await examineDataChanges(sql)
  const analysis = await check('analysis', async () => {
    return { ok: true, detail: await describeProgress(sql, config) }
  })
  const invitations = await check('invitations', async () => {
    return { ok: true, detail: await describeInvitations(sql) }
  })
  const workers = await check('workers', async () => {
    const seconds = DEFAULT_OPTIONS.leaseMs / 1000
    const count = await countLiveWorkers(sql, seconds)
    const remedy = count > 0 ? '' : '. Start a process with ROLE=all or ROLE=worker'
    return { ok: count > 0, detail: `${count} active in the last ${seconds} s${remedy}` }
  })
  const webhooks = await check('webhooks', () => examineWebhooks(sql, config))
  const quotas = await examineQuotas(sql, config)
  return [database, clock, ...roles, schema, ...changes, analysis, invitations, workers, webhooks, ...quotas]
}

/** The roles of the pools, if `DATABASE_URL` is a pooler. A failed check has the statements that mend it, one a line. */
async function examinePooler(sql: Sql, address: Database, config: Config): Promise<readonly Check[]> {
  if (config.databaseDirectUrl === null) return []
  const pooler = await check('pooler', async () => {
    const problems = await examineRoles(address, sql, config.databaseStatementTimeoutMs)
    if (problems.length === 0) return { ok: true, detail: 'a role with its settings for each pool' }
    const reasons = problems.map(({ role, reason }) => `${role} ${reason}`).join('; ')
    const statements = problems.flatMap((problem) => problem.statements)
    const advice =
      statements.length === 0 ? [] : ['Run on the server, then reconnect the pooler:', ...statements]
    return { ok: false, detail: [reasons, ...advice].join('\n') }
  })
  return [pooler]
}

/** One check for each data change that still runs in the background. */
async function examineDataChanges(sql: Sql): Promise<readonly Check[]> {
  const changes = await unfinishedDataChanges(sql)
  return changes.map(({ name, rowsDone, rowsTotal }) => ({
    name: 'data changes',
    ok: true,
    detail: `${name}: ${rowsDone} of about ${Math.max(rowsDone, rowsTotal)} rows changed`,
  }))
}

/** One check for each organization that uses at least 80 % of a quota. */
async function examineQuotas(sql: Sql, config: Config): Promise<readonly Check[]> {
  const near = await nearQuotas(sql, config)
  return near.map(({ name, metric, used, limit }) => ({
    name: 'quotas',
    ok: used < limit,
    detail: `${name}: ${used} of ${limit} ${metric === 'events' ? 'events' : 'bytes of media'}`,
  }))
}

async function examineRedis(url: string | null, database: string, log: Log): Promise<Check> {
  if (url === null) return { name: 'redis', ok: true, detail: 'none: PostgreSQL notifies the workers' }
  return check(
    'redis',
    async () => {
      const redis = openRedis(url, log)
      const ready = Promise.withResolvers<void>()
      redis.once('ready', ready.resolve)
      redis.once('error', (error) => ready.reject(withRedisRemedy(error)))
      try {
        await withTimeout(
          ready.promise,
          REDIS_BUDGET_MS,
          () => new Error(`no answer within ${REDIS_BUDGET_MS} ms`),
        )
        await assertRedisUsable(redis, database)
        const version = /redis_version:(\S+)/.exec(await redis.info('server'))?.[1]
        return { ok: true, detail: `Redis ${version ?? 'of an unknown version'}` }
      } finally {
        redis.disconnect()
      }
    },
    withCause,
  )
}

/** Certificates, signatures and tokens have times, although the service itself goes by the clock of the database. */
async function examineClock(sql: Sql): Promise<Omit<Check, 'name'>> {
  const sent = Date.now()
  const time = await serverTime(sql)
  const aheadSeconds = Math.round(((sent + Date.now()) / 2 - time.getTime()) / 1_000)
  if (Math.abs(aheadSeconds) <= MAX_CLOCK_SECONDS) return { ok: true, detail: 'as that of the database' }
  const direction = aheadSeconds > 0 ? 'ahead of' : 'behind'
  return {
    ok: false,
    detail: `this machine is ${Math.abs(aheadSeconds)} s ${direction} PostgreSQL. Set both clocks by NTP`,
  }
}

/** @param explain what an operator reads of an error */
async function check(
  name: Check['name'],
  ask: () => Promise<Omit<Check, 'name'>>,
  explain = oneLine,
): Promise<Check> {
  try {
    return { name, ...(await ask()) }
  } catch (error) {
    return { name, ok: false, detail: explain(error) }
  }
}

/** The remedy, and what the server has said. */
function withCause(error: unknown): string {
  return error instanceof NeedsOperator && error.cause !== undefined
    ? `${oneLine(error)} (${oneLine(error.cause)})`
    : oneLine(error)
}

const ofDatabase = (error: unknown): string => withCause(withRemedy(error))
