/**
 * Brings up what the settings do not name: without `DATABASE_URL` a PostgreSQL server of our own below `DATA_DIR`, and
 * beside it a Redis server where the machine has the program.
 *
 * The rule: one service process for a data folder, and one server of a kind. With `DATABASE_URL` nothing is started,
 * not even Redis: other processes of the same service could not see it.
 */
import { mkdirSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Config } from '../../config.ts'
import type { Servers } from '../lifecycle/servers.ts'
import { oneLine, StartError } from '../lifecycle/start-error.ts'
import type { Log } from '../observability/log.ts'
import { joinPostgres, type KeptPostgres, keepPostgres } from './kept-postgres.ts'
import { hasDatabase, postgresFolders, type RunningPostgres, stopPostgres } from './postgres.ts'
import { type EmbeddedRedis, endOrphans, findRedis, startRedis } from './redis.ts'
import type { Folders } from './runner.ts'
import { startWatchdog, type Watchdog } from './watchdog.ts'

export interface StartedServers {
  readonly servers: Servers
  readonly embedded: { readonly postgres: boolean; readonly redis: boolean }
  /** The PostgreSQL server, for people: never with a password. */
  readonly databaseName: string
  /** What runs, for people: one line for each server. */
  readonly describe: readonly string[]
  /** Rejects when this process must end: another one has taken the data folder over, or the folder has lost its database. */
  readonly displaced: Promise<never>
  stop(): Promise<void>
  /** Ends the servers without waiting, for a process that exits at once. */
  abandon(): void
}

const NEVER = new Promise<never>(() => {})

/**
 * Connects or starts the servers of a service process.
 * @throws StartError with one line on what is in the way
 */
export async function startServers(config: Config, log: Log): Promise<StartedServers> {
  if (config.databaseUrl !== null) return external(config, config.databaseUrl)
  const dataDir = prepareDataDir(config)
  const watchdog = startWatchdog(dataDir, log)
  const redisAtStart = config.redisUrl === null ? redisOrNone(dataDir, log) : Promise.resolve(null)
  try {
    const postgres = await keepPostgres(dataDir, config, log)
    const redis = await redisAtStart
    if (redis !== null) await endOrphans(dataDir, redis)
    return assemble(postgres, config, redis, watchdog)
  } catch (error) {
    await (await redisAtStart)?.stop()
    await watchdog.release()
    throw error
  }
}

/** Redis is a help, not a need: whatever is in its way is logged, not thrown. */
async function redisOrNone(dataDir: string, log: Log): Promise<EmbeddedRedis | null> {
  try {
    return await startRedis(dataDir, log)
  } catch (error) {
    log.warn({ err: oneLine(error) }, 'the embedded Redis cannot be started: going on without it')
    return null
  }
}

/**
 * Connects the servers of a command: joins a running embedded server, else starts one and stops it at the end unless
 * somebody else uses it by then. A folder without a database gets one only where the command `mayCreate` it: with a mistyped
 * `DATA_DIR`, other commands would answer from an empty database.
 * @throws StartError
 */
export async function openServers(
  config: Config,
  log: Log,
  { mayCreate = false }: { readonly mayCreate?: boolean } = {},
): Promise<StartedServers> {
  if (config.databaseUrl !== null) return external(config, config.databaseUrl)
  if (!mayCreate && !hasDatabase(postgresFolders(resolve(config.dataDir))))
    throw new StartError(
      `DATA_DIR is ${JSON.stringify(config.dataDir)}, but holds no database: start the service there once, ` +
        'name the right folder, or set DATABASE_URL',
    )
  const dataDir = prepareDataDir(config)
  const folders = postgresFolders(dataDir)
  const watchdog = startWatchdog(dataDir, log)
  const { running, session } = await joinPostgres(folders, config, log).catch(async (error) => {
    await watchdog.release()
    throw error
  })
  const databaseName = embeddedName(folders)
  return {
    servers: { database: databaseOf(running), redis: config.redisUrl ?? (await findRedis(dataDir)) },
    embedded: { postgres: true, redis: false },
    databaseName,
    describe: [databaseName],
    displaced: NEVER,
    async stop() {
      // Where the connection is lost, the service process has stopped the server already.
      const isLast = await session.isLast().catch(() => false)
      if (isLast) await stopPostgres(folders, running.pid, log)
      await session.close()
      await watchdog.release()
    },
    abandon: () => {},
  }
}

function external(config: Config, databaseUrl: string): StartedServers {
  const databaseName = `PostgreSQL at ${address(databaseUrl)}`
  return {
    servers: { database: { url: databaseUrl }, redis: config.redisUrl },
    embedded: { postgres: false, redis: false },
    databaseName,
    describe: [databaseName, describeRedis(config, null)],
    displaced: NEVER,
    async stop() {},
    abandon() {},
  }
}

function assemble(
  postgres: KeptPostgres,
  config: Config,
  redis: EmbeddedRedis | null,
  watchdog: Watchdog,
): StartedServers {
  const databaseName = embeddedName(postgres.folders)
  return {
    servers: { database: databaseOf(postgres.running), redis: config.redisUrl ?? redis?.url ?? null },
    embedded: { postgres: true, redis: redis !== null },
    databaseName,
    describe: [databaseName, describeRedis(config, redis)],
    displaced: postgres.displaced,
    async stop() {
      await Promise.all([postgres.stop(), redis?.stop()])
      await watchdog.release()
    },
    abandon() {
      postgres.abandon()
      redis?.abandon()
    },
  }
}

function embeddedName({ home }: Folders): string {
  return `PostgreSQL (embedded, ${home})`
}

function describeRedis(config: Config, redis: EmbeddedRedis | null): string {
  if (config.redisUrl !== null) return `Redis at ${address(config.redisUrl)}`
  if (redis !== null) return `Redis (embedded, ${redis.program})`
  return 'no Redis: the doorbell is PostgreSQL LISTEN/NOTIFY'
}

/** Host and path of a URL: never its credentials. */
function address(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}

function databaseOf({ socketDir }: RunningPostgres): Servers['database'] {
  return { socketDir, user: 'postgres', database: 'postgres' }
}

/** The real path, so that two names of one folder are one folder. */
function prepareDataDir({ dataDir }: Config): string {
  try {
    // Others may pass through but not look: an unprivileged server user has its own folder inside.
    mkdirSync(dataDir, { recursive: true, mode: 0o711 })
    return realpathSync(dataDir)
  } catch (error) {
    throw new StartError(
      `DATA_DIR is ${JSON.stringify(dataDir)}, but must be a folder that can be written: ${oneLine(error)}`,
    )
  }
}
