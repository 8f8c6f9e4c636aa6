/**
 * The embedded PostgreSQL of one process. The process joins a running server or starts one. The service process owns the
 * server and restarts it after a crash.
 *
 * A database is created only at a start. If the data folder disappears while the service runs, a new empty database would
 * look like a working service that has lost all data.
 */
import { oneLine, StartError } from '../lifecycle/start-error.ts'
import type { Log } from '../observability/log.ts'
import {
  DatabaseLost,
  ensurePostgres,
  hasDatabase,
  postgresFolders,
  type RunningPostgres,
  signalPostgres,
  stopPostgres,
} from './postgres.ts'
import type { Folders } from './runner.ts'
import { DataDirInUse, openSession, type Session } from './session.ts'

/** What the servers of a process follow. */
export interface ServerSettings {
  readonly dataDir: string
  /** null: an embedded server. */
  readonly databaseUrl: string | null
  /** The server behind the pooler that `databaseUrl` names. null: `databaseUrl` names the server. */
  readonly databaseDirectUrl: string | null
  readonly databasePrepare: boolean
  readonly databasePoolSize: number
  readonly redisUrl: string | null
  readonly workerThreads: number
  readonly capacity: { readonly postgres: 'usual' | 'small' }
}

const MAX_RETRY_DELAY_MS = 5_000
/** Limits the attempts, in case the server always ends right after its start. */
const SESSION_ATTEMPTS = 10
const LOOK_EVERY_MS = 1_000

interface Joined {
  readonly running: RunningPostgres
  readonly session: Session
}

/**
 * Joins the running server of the folder or starts one, and opens a session. `atStart` allows creating a database.
 * @throws DatabaseLost if the folder has no database and `atStart` is false
 */
export async function joinPostgres(
  folders: Folders,
  config: ServerSettings,
  log: Log,
  atStart = true,
): Promise<Joined> {
  for (let attempt = 1; ; attempt++) {
    const running = await ensurePostgres(
      folders,
      { maxConnections: maxConnections(config), size: config.capacity.postgres, atStart },
      log,
    )
    try {
      return { running, session: await openSession(running.socketDir) }
    } catch (error) {
      // The server is stopping, because the command that started it has ended.
      if (attempt >= SESSION_ATTEMPTS)
        throw new StartError(
          `The embedded PostgreSQL in ${folders.home} refuses connections: ${oneLine(error)}`,
        )
      await Bun.sleep(20 * attempt)
    }
  }
}

/** Enough for the pools of this process and its threads (half a pool more for reads), plus some for commands and people. */
function maxConnections({ databasePoolSize, workerThreads }: ServerSettings): number {
  return Math.max(100, (workerThreads + 1) * (Math.ceil(1.5 * databasePoolSize) + 2) + 20)
}

export interface KeptPostgres extends Joined {
  readonly folders: Folders
  readonly displaced: Promise<never>
  stop(): Promise<void>
  abandon(): void
}

/** Owns the server of the folder: restarts it after a crash, and takes its lock again after a lost connection. */
export async function keepPostgres(dataDir: string, config: ServerSettings, log: Log): Promise<KeptPostgres> {
  const folders = postgresFolders(dataDir)
  let joined = await joinPostgres(folders, config, log)
  try {
    await joined.session.own(dataDir)
  } catch (error) {
    await joined.session.close()
    throw error
  }
  const displaced = Promise.withResolvers<never>()
  displaced.promise.catch(() => {})
  let stopping = false
  let isDisplaced = false
  const displace = (error: StartError) => {
    isDisplaced = true
    displaced.reject(error)
  }
  let recovery: Promise<void> = Promise.resolve()
  const recover = async () => {
    for (let failures = 0; !stopping && !isDisplaced; failures++) {
      try {
        joined = await joinPostgres(folders, config, log, false)
        await joined.session.own(dataDir)
        return log.info('the embedded PostgreSQL is running again')
      } catch (error) {
        await joined.session.close()
        if (error instanceof DataDirInUse || error instanceof DatabaseLost) return displace(error)
        log.error({ err: oneLine(error) }, 'the embedded PostgreSQL cannot be restarted: trying again')
        await Bun.sleep(Math.min(100 * 2 ** failures, MAX_RETRY_DELAY_MS))
      }
    }
  }
  const watch = (session: Session) =>
    void session.closed.then(async () => {
      if (stopping) return
      log.warn('connection to the embedded PostgreSQL lost: restarting it if necessary')
      recovery = recover()
      await recovery
      if (!isDisplaced) watch(joined.session)
    })
  watch(joined.session)
  const looking = watchFolder(folders, displace)
  return {
    ...joined,
    folders,
    displaced: displaced.promise,
    async stop() {
      stopping = true
      clearInterval(looking)
      await recovery
      await stopPostgres(folders, joined.running.pid, log)
      await joined.session.close()
    },
    abandon() {
      stopping = true
      signalPostgres(joined.running.pid, 'SIGINT')
    },
  }
}

/** PostgreSQL itself reports a missing folder only after up to a minute, in which requests would fail. */
function watchFolder(folders: Folders, onLost: (error: DatabaseLost) => void): Timer {
  const timer = setInterval(() => {
    if (hasDatabase(folders)) return
    clearInterval(timer)
    onLost(new DatabaseLost(folders))
  }, LOOK_EVERY_MS)
  timer.unref()
  return timer
}
