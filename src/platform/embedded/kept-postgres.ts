/**
 * The embedded PostgreSQL as one process uses it: joined or started, owned by the service process, brought back when it ends unasked.
 *
 * A database is created at a start only. Where the data folder loses its database while the service runs, a new empty one in its place
 * would look like a service that works and has forgotten everything.
 */
import type { Config } from '../../config.ts'
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

const MAX_RETRY_DELAY_MS = 5_000
/** A server that ends as soon as it is ready is not asked for a session for ever. */
const SESSION_ATTEMPTS = 10
const LOOK_EVERY_MS = 1_000

interface Joined {
  readonly running: RunningPostgres
  readonly session: Session
}

/**
 * The running server of the folder, or a new one, and a session on it. `atStart`: an empty folder is given a database.
 * @throws DatabaseLost where the folder has no database and this is no start
 */
export async function joinPostgres(
  folders: Folders,
  config: Config,
  log: Log,
  atStart = true,
): Promise<Joined> {
  for (let attempt = 1; ; attempt++) {
    const running = await ensurePostgres(folders, { maxConnections: maxConnections(config), atStart }, log)
    try {
      return { running, session: await openSession(running.socketDir) }
    } catch (error) {
      // It was about to stop: a command that had started it has ended.
      if (attempt >= SESSION_ATTEMPTS)
        throw new StartError(
          `The embedded PostgreSQL in ${folders.home} refuses connections: ${oneLine(error)}`,
        )
      await Bun.sleep(20 * attempt)
    }
  }
}

/** Enough for the pools of this process and of each of its threads (reads have half a pool more), and some for people and commands. */
function maxConnections({ databasePoolSize, workerThreads }: Config): number {
  return Math.max(100, (workerThreads + 1) * (Math.ceil(1.5 * databasePoolSize) + 2) + 20)
}

export interface KeptPostgres extends Joined {
  readonly folders: Folders
  readonly displaced: Promise<never>
  stop(): Promise<void>
  abandon(): void
}

/** Owns the server of the folder: brings it back when it ends unasked, and its lock when the connection is lost. */
export async function keepPostgres(dataDir: string, config: Config, log: Log): Promise<KeptPostgres> {
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
        return log.info('the embedded PostgreSQL is back')
      } catch (error) {
        await joined.session.close()
        if (error instanceof DataDirInUse || error instanceof DatabaseLost) return displace(error)
        log.error({ err: oneLine(error) }, 'the embedded PostgreSQL does not come back: trying again')
        await Bun.sleep(Math.min(100 * 2 ** failures, MAX_RETRY_DELAY_MS))
      }
    }
  }
  const watch = (session: Session) =>
    void session.closed.then(async () => {
      if (stopping) return
      log.warn('connection to the embedded PostgreSQL lost: looking after it')
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

/** A folder that is gone is reported by PostgreSQL itself only after up to a minute, in which requests fail. */
function watchFolder(folders: Folders, onLost: (error: DatabaseLost) => void): Timer {
  const timer = setInterval(() => {
    if (hasDatabase(folders)) return
    clearInterval(timer)
    onLost(new DatabaseLost(folders))
  }, LOOK_EVERY_MS)
  timer.unref()
  return timer
}
