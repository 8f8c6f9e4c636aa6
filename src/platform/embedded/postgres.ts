/**
 * The embedded PostgreSQL server: its folder, its start and its end.
 *
 * The rule: one server for a folder. A server that already runs there, left behind by a process that was killed, is
 * joined, never doubled. Whether it runs is read from PostgreSQL's own `postmaster.pid` and proved by its socket, so a
 * file that a power loss left behind does not mislead.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { StartError } from '../lifecycle/start-error.ts'
import type { Log } from '../observability/log.ts'
import { findBinaries } from './binaries.ts'
import { accepts, isAlive, isPostgresOf, isTaken, run, type Server, spawnServer, until } from './processes.ts'
import { chooseRunner, type Folders, type Runner } from './runner.ts'
import { socketFolder } from './socket-folder.ts'

const SOCKET_NAME = '.s.PGSQL.5432'

/** Crash recovery of a large database takes its time; a server that says nothing at all for so long is stuck. */
const START_BUDGET_MS = 300_000
const FAST_STOP_BUDGET_MS = 20_000
const LAST_MOMENT_MS = 1_000
const IMMEDIATE_STOP_BUDGET_MS = 5_000
const POLL_MS = 10

export interface RunningPostgres {
  readonly pid: number
  readonly socketDir: string
  /** False where the server was there before. */
  readonly started: boolean
}

export function postgresFolders(dataDir: string): Folders {
  const home = join(dataDir, 'postgres')
  return { root: dataDir, home, data: join(home, 'data'), socket: socketFolder(home, SOCKET_NAME) }
}

/** The data folder was there when the service started, and has no database any more. */
export class DatabaseLost extends StartError {
  constructor({ root, data }: Folders) {
    super(
      `DATA_DIR is ${JSON.stringify(root)}, but its database ${data} disappeared while it was in use: ` +
        'restore the folder from a backup, or start again, which creates an empty database',
    )
  }
}

/** Whether the data folder has a database, complete or not. */
export function hasDatabase({ data }: Folders): boolean {
  return existsSync(versionFile(data))
}

function versionFile(data: string): string {
  return join(data, 'PG_VERSION')
}

export interface StartOptions {
  readonly maxConnections: number
  /** A folder without a database is given one. */
  readonly atStart: boolean
}

/**
 * Joins the server of the folder or starts one, creating the database at the first start.
 * @throws DatabaseLost where there is none and this is no start
 * @throws StartError with the server's own last words where it does not start
 */
export async function ensurePostgres(
  folders: Folders,
  { maxConnections, atStart }: StartOptions,
  log: Log,
): Promise<RunningPostgres> {
  const deadline = performance.now() + START_BUDGET_MS
  while (performance.now() < deadline) {
    const found = await findPostgres(folders)
    if (found === 'changing') await Bun.sleep(5)
    else if (found !== null) return { ...found, started: false }
    else {
      if (!atStart && !hasDatabase(folders)) throw new DatabaseLost(folders)
      const runner = await prepare(folders, log)
      const started = await startServer(folders, runner, maxConnections)
      if (started !== null) return started
    }
  }
  throw new StartError(
    `The PostgreSQL server in ${folders.home} neither starts nor stops: see ${logFile(folders)}`,
  )
}

/** Fast shutdown (sessions are ended, everything is written), and if that takes too long an immediate one. */
export async function stopPostgres(folders: Folders, pid: number, log: Log): Promise<void> {
  // Without its folder a server has nothing to write to.
  if (hasDatabase(folders)) {
    if (await endWith('SIGINT', folders, pid, FAST_STOP_BUDGET_MS)) return
    log.warn({ pid }, 'the embedded PostgreSQL does not stop: ending it at once')
  }
  if (!(await endWith('SIGQUIT', folders, pid, IMMEDIATE_STOP_BUDGET_MS)))
    log.error({ pid }, 'the embedded PostgreSQL could not be stopped')
}

async function endWith(signal: NodeJS.Signals, folders: Folders, pid: number, budgetMs: number) {
  const runs = async () => readPidFile(folders)?.pid === pid || (await isPostgresOf(pid, folders.data))
  if (!(await runs())) return true
  signalPostgres(pid, signal)
  const stopped = await until(async () => !isAlive(pid) || !(await runs()), budgetMs, POLL_MS)
  // Its file goes a moment before the process does; longer is not waited for, since the number may be reused.
  if (stopped) await until(() => !isAlive(pid), LAST_MOMENT_MS)
  return stopped
}

/** Sends a signal to a server that may have ended meanwhile. */
export function signalPostgres(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended.
  }
}

interface PidFile {
  readonly pid: number
  readonly socketDir: string
  readonly status: string
}

/** `postmaster.pid`: process id, data folder, start time, port, socket folder, address, shared memory, status. */
function readPidFile({ data }: Folders): PidFile | null {
  try {
    const lines = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')
    const pid = Number(lines[0])
    return pid > 0 ? { pid, socketDir: lines[4] ?? '', status: (lines[7] ?? '').trim() } : null
  } catch {
    return null
  }
}

/**
 * The server that runs in the folder: null where there is none, `changing` where it starts, recovers or stops. A `postmaster.pid` that
 * was left behind is removed.
 */
export async function findPostgres(
  folders: Folders,
): Promise<{ readonly pid: number; readonly socketDir: string } | 'changing' | null> {
  const file = readPidFile(folders)
  if (file === null) return null
  if (file.socketDir !== '' && (await accepts(join(file.socketDir, SOCKET_NAME))))
    return file.status === 'ready' ? { pid: file.pid, socketDir: file.socketDir } : 'changing'
  if (await isPostgresOf(file.pid, folders.data)) return 'changing'
  // Left behind. PostgreSQL clears it itself, unless the id is taken: by a stranger, or by the old server's remains
  // where nobody waits for orphans. Its lock on shared memory still keeps it off the workers of a server that was killed.
  if (isTaken(file.pid)) {
    rmSync(join(folders.data, 'postmaster.pid'), { force: true })
    rmSync(join(folders.socket, `${SOCKET_NAME}.lock`), { force: true })
  }
  return null
}

/** Everything that must be there before a server can be started. */
async function prepare(folders: Folders, log: Log): Promise<Runner> {
  const binaries = await findBinaries(folders.root)
  const runner = await chooseRunner(folders, binaries)
  if (!hasDatabase(folders)) {
    log.debug({ folder: folders.data }, 'creating the embedded database')
    await initialize(folders, runner)
  }
  const version = readFileSync(versionFile(folders.data), 'utf8').trim()
  if (version !== binaries.version.split('.')[0])
    throw new StartError(
      `${folders.data} was made by PostgreSQL ${version}, but this version of Earshot brings ${binaries.version}: ` +
        `dump the data with the former version, or set DATABASE_URL`,
    )
  return runner
}

/** `initdb` into a folder beside, renamed when complete: a start that is killed leaves no half database. */
async function initialize(folders: Folders, runner: Runner): Promise<void> {
  for (const name of readdirSync(folders.home)) {
    const pid = /^data\.new-(\d+)$/.exec(name)?.[1]
    if (pid !== undefined && (Number(pid) === process.pid || !isAlive(Number(pid))))
      rmSync(join(folders.home, name), { recursive: true, force: true })
  }
  const target = `${folders.data}.new-${process.pid}`
  const { ok, output } = await run(
    [
      ...runner.prefix,
      join(runner.binaries.folder, 'bin', 'initdb'),
      `--pgdata=${target}`,
      '--username=postgres',
      '--auth=trust',
      '--encoding=UTF8',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--locale=C',
    ],
    '/',
  )
  if (!ok) {
    rmSync(target, { recursive: true, force: true })
    throw new StartError(`Cannot create the embedded database in ${folders.home}: ${lastError(output)}`)
  }
  try {
    renameSync(target, folders.data)
  } catch {
    // Another process was first; which of the two serves is settled by the server's own lock.
    rmSync(target, { recursive: true, force: true })
  }
}

/** Resolves with null where another process's server won the folder. */
async function startServer(
  folders: Folders,
  runner: Runner,
  maxConnections: number,
): Promise<RunningPostgres | null> {
  mkdirSync(folders.socket, { recursive: true, mode: 0o700 })
  const server = spawnServer(
    [
      ...runner.prefix,
      join(runner.binaries.folder, 'bin', 'postgres'),
      '-D',
      folders.data,
      ...settings(folders, maxConnections).flatMap((setting) => ['-c', setting]),
    ],
    '/',
    logFile(folders),
  )
  const state: { ended: boolean } = { ended: false }
  void server.exited.then(() => {
    state.ended = true
  })
  const isReady = () => {
    const file = readPidFile(folders)
    return file?.pid === server.pid && file.status === 'ready'
  }
  await until(() => state.ended || isReady(), START_BUDGET_MS)
  if (isReady()) return { pid: server.pid, socketDir: folders.socket, started: true }
  return explain(folders, server, state.ended)
}

/** Why the server did not become ready: null where it is worth another look at the folder. */
async function explain(folders: Folders, server: Server, ended: boolean): Promise<null> {
  if (!ended) {
    server.kill('SIGINT')
    throw new StartError(`The embedded PostgreSQL did not become ready: see ${logFile(folders)}`)
  }
  if ((await findPostgres(folders)) !== null) return null
  const words = server.words()
  // The workers of a server that was killed take a moment to notice.
  if (words.includes('pre-existing shared memory block')) {
    await Bun.sleep(50)
    return null
  }
  throw new StartError(`The embedded PostgreSQL did not start: ${lastError(words)} (see ${logFile(folders)})`)
}

/** The last line of a program's output that says what went wrong. */
function lastError(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '')
  const line =
    lines.findLast((text) => /FATAL|PANIC|error|could not/i.test(text)) ?? lines.at(-1) ?? 'it said nothing'
  return line.replace(/^.*?(?:FATAL|PANIC|error):\s*/, '')
}

function logFile({ home }: Folders): string {
  return join(home, 'server.log')
}

/**
 * Given on the command line, not in a file, so that a new version's settings apply to an existing folder.
 * Errors of single statements are the service's to log: with their data they do not belong into a second file.
 */
function settings({ socket }: Folders, maxConnections: number): readonly string[] {
  return [
    'listen_addresses=',
    `unix_socket_directories=${socket}`,
    'unix_socket_permissions=0700',
    'port=5432',
    `max_connections=${maxConnections}`,
    'shared_buffers=128MB',
    'fsync=on',
    'synchronous_commit=on',
    'jit=off',
    'timezone=UTC',
    'log_timezone=UTC',
    'logging_collector=off',
    'log_min_messages=log',
    'log_error_verbosity=terse',
  ]
}
