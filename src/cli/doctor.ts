/**
 * `earshot doctor`: checks everything that the service depends on, one after the other.
 *
 * A check never throws. A check that depends on a failed one is skipped. Details contain no credentials.
 */

import { MIGRATIONS } from '../../sql/migrations.ts'
import { DEFAULT_OPTIONS } from '../actors/options.ts'
import { countLiveWorkers } from '../actors/worker-statements.ts'
import { examineAnalyzer } from '../analyze/examine.ts'
import { type Config, loadConfig } from '../config.ts'
import { describeProgress } from '../findings/reanalysis.ts'
import { describeInvitations } from '../identity/invitations.ts'
import { examinePrograms, findPrograms } from '../media/programs.ts'
import { withTimeout } from '../platform/concurrency/timeout.ts'
import { unfinishedDataChanges } from '../platform/db/data-change.ts'
import { assertMigrated } from '../platform/db/migrate.ts'
import { connect, type Database, type Sql } from '../platform/db/pool.ts'
import { examineRoles } from '../platform/db/pooler.ts'
import { assertServerWritable, serverVersion } from '../platform/db/server-version.store.ts'
import { openServers } from '../platform/embedded/servers.ts'
import { oneLine } from '../platform/lifecycle/start-error.ts'
import { examineMail } from '../platform/mail/examine.ts'
import { createLog, type Log } from '../platform/observability/log.ts'
import { assertRedisWritable, openRedis } from '../platform/redis.ts'
import { createStorage } from '../platform/storage/create.ts'
import { nearQuotas } from '../quotas/service.ts'
import { examineTranscription } from '../transcribe/examine.ts'
import { examineWebhooks } from '../webhooks/examine.ts'
import type { Input } from './command.ts'

export interface Check {
  readonly name:
    | 'settings'
    | 'media'
    | 'transcription'
    | 'database'
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
  readonly ok: boolean
  readonly detail: string
}

const OLDEST_POSTGRESQL = 15
const REDIS_BUDGET_MS = 3_000
/** The client of S3 repeats a request that fails. */
const STORAGE_BUDGET_MS = 10_000
const MAIL_BUDGET_MS = 10_000

/** Resolves with the checks that were made, in order. */
export async function examine(env: Input['env']): Promise<readonly Check[]> {
  let config: Config
  try {
    config = loadConfig(env)
  } catch (error) {
    return [{ name: 'settings', ok: false, detail: oneLine(error) }]
  }
  const settings = { name: 'settings', ok: true, detail: describe(config) } as const
  const media = config.role === 'api' ? [] : await examineMedia(config)
  const local = [settings, ...media, ...(await examineModelServer(config))]
  // The checks report every problem. The log would repeat them.
  const log = createLog('silent', 'earshot-cli')
  try {
    const servers = await openServers(config, log)
    const sql = connect(servers.servers.database, { max: 1, session: true, applicationName: 'earshot-cli' })
    try {
      return [
        ...local,
        ...(await examineDatabase(sql, servers.servers.database, config)),
        await examineRedis(servers.servers.redis, log),
        await check('mail', () => examineMail(config, AbortSignal.timeout(MAIL_BUDGET_MS))),
        await examineStorage(config),
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

/** Only where there is one. */
async function examineModelServer(config: Config): Promise<readonly Check[]> {
  const found = await examineAnalyzer(config)
  return found === null ? [] : [{ name: 'analyzer', ...found }]
}

async function examineDatabase(sql: Sql, address: Database, config: Config): Promise<readonly Check[]> {
  const database = await check('database', async () => {
    const version = await serverVersion(sql)
    await assertServerWritable(sql)
    return { ok: version.major >= OLDEST_POSTGRESQL, detail: `PostgreSQL ${version.text}` }
  })
  if (!database.ok) return [database]
  const roles = await examinePooler(sql, address, config)
  if (roles.some(({ ok }) => !ok)) return [database, ...roles]
  const schema = await check('schema', async () => {
    await assertMigrated(sql, MIGRATIONS)
    return { ok: true, detail: `${MIGRATIONS.length} migrations` }
  })
  if (!schema.ok) return [database, ...roles, schema]
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
    return { ok: count > 0, detail: `${count} active in the last ${seconds} s` }
  })
  const webhooks = await check('webhooks', () => examineWebhooks(sql, config))
  const quotas = await examineQuotas(sql, config)
  return [database, ...roles, schema, ...changes, analysis, invitations, workers, webhooks, ...quotas]
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

async function examineRedis(url: string | null, log: Log): Promise<Check> {
  if (url === null) return { name: 'redis', ok: true, detail: 'none: PostgreSQL notifies the workers' }
  return check('redis', async () => {
    const redis = openRedis(url, log)
    const ready = Promise.withResolvers<void>()
    redis.once('ready', ready.resolve)
    redis.once('error', ready.reject)
    try {
      await withTimeout(
        ready.promise,
        REDIS_BUDGET_MS,
        () => new Error(`no answer within ${REDIS_BUDGET_MS} ms`),
      )
      await assertRedisWritable(redis)
      const version = /redis_version:(\S+)/.exec(await redis.info('server'))?.[1]
      return { ok: true, detail: `Redis ${version ?? 'of an unknown version'}` }
    } finally {
      redis.disconnect()
    }
  })
}

/** Asks the object store as `/ready` does. */
function examineStorage(config: Config): Promise<Check> {
  const { s3, dataDir } = config
  return check('storage', async () => {
    const signal = AbortSignal.timeout(STORAGE_BUDGET_MS)
    await withTimeout(
      createStorage(config).assertWritable(signal),
      STORAGE_BUDGET_MS,
      () => new Error(`no answer within ${STORAGE_BUDGET_MS} ms`),
    )
    return { ok: true, detail: s3 === null ? `folder ${dataDir}` : `bucket ${s3.bucket}` }
  })
}

async function check(name: Check['name'], ask: () => Promise<Omit<Check, 'name'>>): Promise<Check> {
  try {
    return { name, ...(await ask()) }
  } catch (error) {
    return { name, ok: false, detail: oneLine(error) }
  }
}
