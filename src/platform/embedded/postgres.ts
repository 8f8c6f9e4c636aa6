/**
 * The embedded PostgreSQL server: its folder, its start and its stop.
 *
 * A folder has one server. If a killed process left a running server behind, it is joined, not started again. PostgreSQL's
 * own `postmaster.pid` tells whether a server runs, and a connection to its socket proves it. A file that a power loss left
 * behind is therefore harmless.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { StartError } from '../lifecycle/start-error.ts'
import type { Log } from '../observability/log.ts'
import { findBinaries } from './binaries.ts'
import { type PostgresSize, serverSettings } from './postgres-settings.ts'
import { accepts, isAlive, isPostgresOf, isTaken, run, type Server, spawnServer, until } from './processes.ts'
import { chooseRunner, type Folders, hasName, type Runner } from './runner.ts'
import { removeShortFolder, socketFolder } from './socket-folder.ts'

const SOCKET_NAME = '.s.PGSQL.5432'

/** Crash recovery of a large database takes time. A server that needs longer than this is stuck. */
const START_BUDGET_MS = 300_000
const FAST_STOP_BUDGET_MS = 20_000
const LAST_MOMENT_MS = 1_000
const IMMEDIATE_STOP_BUDGET_MS = 5_000
const POLL_MS = 10

export interface RunningPostgres {
  readonly pid: number
  readonly socketDir: string
  /** False if the server was running before. */
  readonly started: boolean
}

/** Folders of the embedded database below DATA_DIR. The socket may be elsewhere, because the path of a socket is limited. */
export function postgresFolders(dataDir: string): Folders {
  const home = join(dataDir, 'postgres')
  return { root: dataDir, home, data: join(home, 'data'), socket: socketFolder(home, SOCKET_NAME) }
}

/** The data folder lost its database while the service was running. */
export class DatabaseLost extends StartError {
  constructor({ root, data }: Folders) {
    super(
      `DATA_DIR is ${JSON.stringify(root)}, but its database ${data} disappeared while it was in use: ` +
        'restore the folder from a backup, or start again, which creates an empty database',
    )
  }
}

/** True if the data folder has a database, complete or not. */
export function hasDatabase({ data }: Folders): boolean {
  return existsSync(versionFile(data))
}

function versionFile(data: string): string {
  return join(data, 'PG_VERSION')
}

export interface StartOptions extends PostgresSize {
  /** Allows creating a database in an empty folder. */
  readonly atStart: boolean
}

/**
 * Joins the server of the folder or starts one, creating the database at the first start.
 * @throws DatabaseLost if there is no database and `atStart` is false
 * @throws StartError with the server's last error message if it does not start
 */
export async function ensurePostgres(
  folders: Folders,
  { atStart, ...sizes }: StartOptions,
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
      const started = await startServer(folders, runner, sizes)
      if (started !== null) return started
    }
  }
  throw new StartError(
    `The PostgreSQL server in ${folders.home} neither starts nor stops: see ${logFile(folders)}`,
  )
}

/** Fast shutdown (closes sessions, writes everything to disk). If that takes too long, an immediate shutdown. */
export async function stopPostgres(folders: Folders, pid: number, log: Log): Promise<void> {
  await endPostgres(folders, pid, log)
  removeShortFolder(folders.socket)
}

async function endPostgres(folders: Folders, pid: number, log: Log): Promise<void> {
  // A server without its folder has nothing to write.
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
  // The file disappears a moment before the process. A longer wait could meet a reused process id.
  if (stopped) await until(() => !isAlive(pid), LAST_MOMENT_MS)
  return stopped
}

/** Sends a signal to a server that may have ended meanwhile. */
export function signalPostgres(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // The process has ended.
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
 * The running server of the folder. Null: there is none. `changing`: it starts, recovers or stops. Removes a stale
 * `postmaster.pid`.
 */
export async function findPostgres(
  folders: Folders,
): Promise<{ readonly pid: number; readonly socketDir: string } | 'changing' | null> {
  const file = readPidFile(folders)
  if (file === null) return null
  if (file.socketDir !== '' && (await accepts(join(file.socketDir, SOCKET_NAME))))
    return file.status === 'ready' ? { pid: file.pid, socketDir: file.socketDir } : 'changing'
  if (await isPostgresOf(file.pid, folders.data)) return 'changing'
  // The file is stale. PostgreSQL removes it itself, unless its process id is in use: by another program, or by a zombie of
  // the old server that is never reaped. PostgreSQL's lock on shared memory still protects against surviving workers.
  if (isTaken(file.pid)) {
    rmSync(join(folders.data, 'postmaster.pid'), { force: true })
    rmSync(join(folders.socket, `${SOCKET_NAME}.lock`), { force: true })
  }
  return null
}

/** Prepares the programs, their user and the database for a server start. */
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
      `PostgreSQL ${version} created ${folders.data}, but this version of Earshot contains PostgreSQL ${binaries.version}: ` +
        `dump the data with the former version, or set DATABASE_URL`,
    )
  return runner
}

/** Runs `initdb` in a temporary folder and renames it, so that a killed start leaves no incomplete database. */
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
    const uid = process.geteuid?.() ?? 0
    if (uid !== 0 && !(await hasName(uid)))
      throw new StartError(
        `The embedded PostgreSQL creates no database for user id ${uid}, which has no entry in /etc/passwd: ` +
          'add one, start as a user that has one, or set DATABASE_URL',
      )
    throw new StartError(`Cannot create the embedded database in ${folders.home}: ${lastError(output)}`)
  }
  try {
    renameSync(target, folders.data)
  } catch {
    // Another process created the database first. The server's own lock decides which process serves it.
    rmSync(target, { recursive: true, force: true })
  }
}

/** Resolves with null if another process started a server for the folder first. */
async function startServer(
  folders: Folders,
  runner: Runner,
  sizes: PostgresSize,
): Promise<RunningPostgres | null> {
  mkdirSync(folders.socket, { recursive: true, mode: 0o700 })
  const server = spawnServer(
    [
      ...runner.prefix,
      join(runner.binaries.folder, 'bin', 'postgres'),
      '-D',
      folders.data,
      ...serverSettings(folders, sizes).flatMap((setting) => ['-c', setting]),
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

/** Throws the reason why the server did not become ready, or returns null if a retry makes sense. */
async function explain(folders: Folders, server: Server, ended: boolean): Promise<null> {
  if (!ended) {
    server.kill('SIGINT')
    throw new StartError(`The embedded PostgreSQL did not become ready: see ${logFile(folders)}`)
  }
  if ((await findPostgres(folders)) !== null) return null
  const words = server.words()
  // Workers of a killed server take a moment to end.
  if (words.includes('pre-existing shared memory block')) {
    await Bun.sleep(50)
    return null
  }
  throw new StartError(`The embedded PostgreSQL did not start: ${lastError(words)} (see ${logFile(folders)})`)
}

/** The last error line in a program's output. */
function lastError(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '')
  const line =
    lines.findLast((text) => /FATAL|PANIC|error|could not/i.test(text)) ?? lines.at(-1) ?? 'no output'
  return line.replace(/^.*?(?:FATAL|PANIC|error):\s*/, '')
}

function logFile({ home }: Folders): string {
  return join(home, 'server.log')
}
