/**
 * Starts the servers that the settings do not name: without `DATABASE_URL` an embedded PostgreSQL below `DATA_DIR`, and a
 * Redis if the machine has the program.
 *
 * A data folder has one service process and one server of each kind. With `DATABASE_URL` nothing is started, not even
 * Redis, because other processes of the same service could not reach it.
 */
import { mkdirSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { addressOf } from '../db/address.ts'
import type { Servers } from '../lifecycle/servers.ts'
import { oneLine, StartError } from '../lifecycle/start-error.ts'
import type { Log } from '../observability/log.ts'
import { joinPostgres, type KeptPostgres, keepPostgres, type ServerSettings } from './kept-postgres.ts'
import { hasDatabase, postgresFolders, type RunningPostgres, stopPostgres } from './postgres.ts'
import { type EmbeddedRedis, endOrphans, findRedis, startRedis } from './redis.ts'
import type { Folders } from './runner.ts'
import { startWatchdog, type Watchdog } from './watchdog.ts'

export interface StartedServers {
  readonly servers: Servers
  readonly embedded: { readonly postgres: boolean; readonly redis: boolean }
  /** Name of the PostgreSQL server for people, without a password. */
  readonly databaseName: string
  /** One line for people about each server. */
  readonly describe: readonly string[]
  /** Rejects when this process must end: another process took over the data folder, or its database disappeared. */
  readonly displaced: Promise<never>
  stop(): Promise<void>
  /** Stops the servers without waiting, for a process that exits at once. */
  abandon(): void
}

const NEVER = new Promise<never>(() => {})

/**
 * Connects or starts the servers of a service process.
 * @throws StartError with one line that names the problem
 */
export async function startServers(config: ServerSettings, log: Log): Promise<StartedServers> {
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

/** Redis is optional, so a failure is logged and not thrown. */
async function redisOrNone(dataDir: string, log: Log): Promise<EmbeddedRedis | null> {
  try {
    return await startRedis(dataDir, log)
  } catch (error) {
    log.warn({ err: oneLine(error) }, 'the embedded Redis cannot be started: continuing without it')
    return null
  }
}

/**
 * Connects the servers of a command. It joins a running embedded server, or starts one and stops it at the end unless
 * another process uses it by then. Only a command with `mayCreate` creates a database: with a mistyped `DATA_DIR`, other
 * commands would answer from an empty database.
 * @throws StartError
 */
export async function openServers(
  config: ServerSettings,
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
      // After a lost connection, the service process has already stopped the server.
      const isLast = await session.isLast().catch(() => false)
      if (isLast) await stopPostgres(folders, running.pid, log)
      await session.close()
      await watchdog.release()
    },
    abandon: () => {},
  }
}

function external(config: ServerSettings, databaseUrl: string): StartedServers {
  const { databaseDirectUrl: directUrl, databasePrepare: prepare } = config
  const pooler = directUrl === null ? '' : `, through a pooler at ${addressOf(databaseUrl).place}`
  const databaseName = `PostgreSQL at ${addressOf(directUrl ?? databaseUrl).place}`
  return {
    servers: { database: { url: databaseUrl, directUrl, prepare }, redis: config.redisUrl },
    embedded: { postgres: false, redis: false },
    databaseName,
    describe: [`${databaseName}${pooler}`, describeRedis(config, null)],
    displaced: NEVER,
    async stop() {},
    abandon() {},
  }
}

function assemble(
  postgres: KeptPostgres,
  config: ServerSettings,
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

function describeRedis(config: ServerSettings, redis: EmbeddedRedis | null): string {
  if (config.redisUrl !== null) return `Redis at ${address(config.redisUrl)}`
  if (redis !== null) return `Redis (embedded, ${redis.program})`
  return 'no Redis: PostgreSQL notifies the workers'
}

/** Host and path of a URL, without credentials. */
function address(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}

function databaseOf({ socketDir }: RunningPostgres): Servers['database'] {
  return { socketDir, user: 'postgres', database: 'postgres' }
}

/** The real path, so that two names of a folder mean the same folder. */
function prepareDataDir({ dataDir }: ServerSettings): string {
  try {
    // Other users may enter but not list the folder: an unprivileged server user has a folder inside.
    mkdirSync(dataDir, { recursive: true, mode: 0o711 })
    return realpathSync(dataDir)
  } catch (error) {
    throw new StartError(
      `DATA_DIR is ${JSON.stringify(dataDir)}, but must be a folder that can be written: ${oneLine(error)}`,
    )
  }
}
