/**
 * Child processes of the embedded servers.
 *
 * A server runs in a session of its own, so that Ctrl-C in a terminal reaches only this process, which then stops its
 * servers in order. A server may outlive this process, so its output goes to a file instead of a pipe.
 */
import { closeSync, openSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { connect } from 'node:net'

/** A larger log is emptied at the next start of the server. */
const MAX_LOG_BYTES = 10 * 1024 * 1024

export interface Server {
  readonly pid: number
  /** Resolves when the process has ended, with its exit code or the name of the signal. */
  readonly exited: Promise<number | string>
  kill(signal: NodeJS.Signals): void
  /** Its output since this start. */
  words(): string
}

/** Starts a long-lived server that writes to `logFile`. */
export function spawnServer(command: readonly string[], cwd: string, logFile: string): Server {
  const isFull = sizeOf(logFile) > MAX_LOG_BYTES
  const offset = isFull ? 0 : sizeOf(logFile)
  const output = openSync(logFile, isFull ? 'w' : 'a', 0o600)
  try {
    const child = Bun.spawn([...command], {
      cwd,
      env: SERVER_ENVIRONMENT,
      stdin: 'ignore',
      stdout: output,
      stderr: output,
      detached: true,
    })
    return {
      pid: child.pid,
      exited: child.exited.then((code) => child.signalCode ?? code),
      kill: (signal) => child.kill(signal),
      words: () => readFileSync(logFile).subarray(offset).toString(),
    }
  } finally {
    closeSync(output)
  }
}

/** Servers do not inherit the environment of this process, which contains credentials. */
export const SERVER_ENVIRONMENT = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
}

export interface Outcome {
  readonly ok: boolean
  readonly output: string
}

/** Runs a short command to its end. A command that cannot start is also an outcome. */
export async function run(command: readonly string[], cwd: string): Promise<Outcome> {
  try {
    const child = Bun.spawn([...command], {
      cwd,
      env: SERVER_ENVIRONMENT,
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
    return { ok: code === 0, output: `${out}${err}`.trim() }
  } catch (error) {
    return { ok: false, output: String(error) }
  }
}

/** True while the process id is in use, even by a zombie. */
export function isTaken(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** True while a process with this id runs, whoever owns it. */
export function isAlive(pid: number): boolean {
  return isTaken(pid) && (process.platform !== 'linux' || !isZombie(pid))
}

function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z')
  } catch {
    return false
  }
}

/**
 * True if `pid` is the PostgreSQL server of the data folder. Its working folder or its command line shows that. The
 * command line stays the same when the folder is moved or removed.
 */
export async function isPostgresOf(pid: number, dataDir: string): Promise<boolean> {
  if (!isAlive(pid)) return false
  if (process.platform === 'linux') return worksIn(pid, dataDir) || wasStartedOn(pid, dataDir)
  const { output } = await run(['ps', '-o', 'command=', '-p', String(pid)], '/')
  return output.includes('postgres') && output.includes(dataDir)
}

function worksIn(pid: number, folder: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(folder)
  } catch {
    return false
  }
}

function wasStartedOn(pid: number, dataDir: string): boolean {
  try {
    const [program = '', ...options] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    return program.endsWith('/postgres') && options[options.indexOf('-D') + 1] === dataDir
  } catch {
    return false
  }
}

/** True if a process accepts connections on the Unix socket. */
export function accepts(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath)
    const finish = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('connect', () => finish(true))
    socket.once('error', () => finish(false))
  })
}

/**
 * Polls `condition` every few milliseconds until it holds.
 * @returns false after `budgetMs`
 */
export async function until(
  condition: () => boolean | Promise<boolean>,
  budgetMs: number,
  everyMs = 2,
): Promise<boolean> {
  const deadline = performance.now() + budgetMs
  while (!(await condition())) {
    if (performance.now() > deadline) return false
    await Bun.sleep(everyMs)
  }
  return true
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
