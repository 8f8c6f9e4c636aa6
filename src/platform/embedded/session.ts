/**
 * Users of an embedded server, as two advisory locks that one connection holds for the life of a process.
 *
 * - *owner* (exclusive): the service process of a data folder. A second one is refused.
 * - *users* (shared): every process that works with the server. A command stops a server that only it used.
 *
 * PostgreSQL releases the locks when the process ends, however it ends.
 */
import { StartError } from '../lifecycle/start-error.ts'
import { isAlive, until } from './processes.ts'

/** Two-part advisory locks, which cannot collide with the one-part locks of the schema. */
const SPACE = 0x65_61_72_73
const OWNER = 1
const USERS = 2

/** How long PostgreSQL may take to release the lock of an ended process. */
const RELEASE_BUDGET_MS = 5_000

/** Another service process uses the same data folder. */
export class DataDirInUse extends StartError {}

export interface Session {
  /** Resolves when the connection is lost, for whatever reason. */
  readonly closed: Promise<void>
  /**
   * Becomes the only service process of the folder.
   * @throws DataDirInUse while another one runs
   */
  own(dataDir: string): Promise<void>
  /** Ends the use. True if no other process uses the server; then none can begin to until the server has stopped. */
  isLast(): Promise<boolean>
  close(): Promise<void>
}

/** Connects and takes the *users* lock. Rejects with the driver's error if the server ends meanwhile. */
export async function openSession(socketDir: string): Promise<Session> {
  const { default: postgres } = await import('postgres')
  const closed = Promise.withResolvers<void>()
  const sql = postgres({
    host: socketDir,
    port: 5432,
    user: 'postgres',
    database: 'postgres',
    max: 1,
    // The locks live as long as the connection, so it must never be renewed.
    max_lifetime: null,
    idle_timeout: 0,
    fetch_types: false,
    onnotice: () => {},
    onclose: () => closed.resolve(),
    connection: { application_name: `earshot session ${process.pid}` },
  })
  await sql`select pg_advisory_lock_shared(${SPACE}, ${USERS})`
  const holder = async () => {
    const [row] = await sql<{ name: string }[]>`
      select a.application_name as name
      from pg_locks l
      join pg_stat_activity a using (pid)
      where l.locktype = 'advisory' and l.classid = ${SPACE} and l.objid = ${OWNER} and l.objsubid = 2 and l.granted`
    return Number(row?.name.split(' ').at(-1) ?? 0)
  }
  const take = async (lock: number) => {
    const [row] = await sql<{ taken: boolean }[]>`select pg_try_advisory_lock(${SPACE}, ${lock}) as taken`
    return row?.taken === true
  }
  return {
    closed: closed.promise,
    async own(dataDir) {
      let pid = 0
      const lives = () => pid !== 0 && pid !== process.pid && isAlive(pid)
      let taken = false
      await until(
        async () => {
          taken = await take(OWNER)
          if (!taken) pid = await holder()
          return taken || lives()
        },
        RELEASE_BUDGET_MS,
        20,
      )
      if (taken) return
      throw new DataDirInUse(
        `DATA_DIR is ${JSON.stringify(dataDir)}, but another Earshot process (${pid}) serves it: stop that one, or choose another folder`,
      )
    },
    async isLast() {
      await sql`select pg_advisory_unlock_shared(${SPACE}, ${USERS})`
      return take(USERS)
    },
    close: () => sql.end({ timeout: 1 }),
  }
}
