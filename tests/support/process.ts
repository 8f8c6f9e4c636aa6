/**
 * The real service as child processes, which a test may kill.
 *
 * Everything that a test file starts, and its child processes, must have ended at the end of the file. Otherwise the
 * file fails, and what still runs is killed.
 */
import { afterAll } from 'bun:test'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { eventually } from './eventually.ts'
import { EARSHOT } from './executable.ts'

const ROOT = resolve(import.meta.dir, '../..')
const START_TIMEOUT_MS = 60_000
/** The start banner: `Address   http://127.0.0.1:40001`. */
const URL_IN_OUTPUT = /^\s*Address\s+https?:\/\/\S+:(\d+)$/m

export interface ServiceOptions {
  /** Default: `earshot serve`. */
  readonly command?: readonly string[]
  /** The folder in which it runs. Default: the source tree. */
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /**
   * When the service counts as started. `http` (the default): `/ready` answers 200 at the printed port, or at `PORT`. A pattern:
   * the output matches. `none`: at once.
   */
  readonly ready?: 'http' | 'none' | RegExp
  /** Leads its own process group. `killGroup` ends the group. */
  readonly group?: boolean
}

export interface Service {
  /** Scheme, host and port. Empty unless `ready` is `http`. */
  readonly baseUrl: string
  readonly pid: number
  /** Exit code, or the name of the signal that ended the process. */
  readonly exited: Promise<number | string>
  /** Everything written to standard output and standard error so far. */
  output(): string
  /** Sends the signal (default `SIGTERM`) and waits for the end. Does not wait after SIGSTOP and SIGCONT. */
  kill(signal?: NodeJS.Signals): Promise<number | string | null>
  /** Sends SIGKILL to the process and to its children, except those in process groups of their own. */
  killGroup(): Promise<number | string>
}

export interface Services {
  /** A private folder. The default of `DATA_DIR` is `data` in it. */
  readonly folder: string
  start(options?: ServiceOptions): Promise<Service>
}

/** Registers the clean-up of this test file or `describe` block, and returns the starter. */
export function useServices(): Services {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'earshot-test-')))
  const started: Service[] = []
  afterAll(async () => {
    const left = new Set([...started.map(({ pid }) => pid).filter(isAlive), ...processesNaming(folder)])
    for (const pid of left) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
    await Promise.all(started.map((service) => service.exited))
    rmSync(folder, { recursive: true, force: true })
    if (left.size > 0) throw new Error(`still running at the end of the file: ${[...left].join(', ')}`)
  })
  return {
    folder,
    async start(options = {}) {
      const spawned = spawnService(folder, options)
      started.push(spawned)
      return { ...spawned, baseUrl: await untilReady(spawned, options) }
    },
  }
}

function spawnService(folder: string, options: ServiceOptions): Service {
  let output = ''
  const child = Bun.spawn([...(options.command ?? [...EARSHOT, 'serve'])], {
    cwd: options.cwd ?? ROOT,
    // Only these variables: a variable of the developer's shell must not change a test.
    env: {
      PATH: process.env.PATH ?? '',
      HOME: folder,
      TMPDIR: process.env.TMPDIR ?? tmpdir(),
      HOST: '127.0.0.1',
      PORT: '0',
      DATA_DIR: join(folder, 'data'),
      // Most services end after a few requests.
      WARM_UP: 'false',
      // Tests have no proxy that must notice the end.
      DRAIN_SECONDS: '0',
      // One is enough for most tests. Each takes a third of a second of CPU to start.
      WORKER_THREADS: '1',
      ...options.env,
    },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    detached: options.group ?? false,
  })
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) output += decoder.decode(chunk, { stream: true })
  }
  void collect(child.stdout)
  void collect(child.stderr)
  const exited = child.exited.then((code) => child.signalCode ?? code)
  return {
    baseUrl: '',
    pid: child.pid,
    exited,
    output: () => output,
    async kill(signal = 'SIGTERM') {
      child.kill(signal)
      return signal === 'SIGSTOP' || signal === 'SIGCONT' ? null : exited
    },
    killGroup() {
      process.kill(-child.pid, 'SIGKILL')
      return exited
    },
  }
}

async function untilReady(service: Service, options: ServiceOptions): Promise<string> {
  const { ready = 'http' } = options
  const { PORT = '0' } = options.env ?? {}
  const chosen = PORT === '0' ? undefined : PORT
  if (ready === 'none') return ''
  let gone = false
  const ended = service.exited.then((code): never => {
    gone = true
    throw new Error(`the service ended with ${code} before it was ready:\n${service.output()}`)
  })
  const answers = eventually(
    async () => {
      if (gone) return ''
      if (ready instanceof RegExp) return ready.test(service.output()) && ''
      const port = chosen ?? URL_IN_OUTPUT.exec(service.output())?.[1]
      if (port === undefined) return false
      const baseUrl = `http://127.0.0.1:${port}`
      return (await fetch(`${baseUrl}/ready`)).ok && baseUrl
    },
    { deadlineMs: START_TIMEOUT_MS },
  )
  return Promise.race([answers, ended]).catch((error: Error) => {
    throw new Error(`${error.message}\n${service.output()}`)
  })
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Processes whose command line names the folder: servers that the service started. */
function processesNaming(folder: string): readonly number[] {
  const { stdout } = Bun.spawnSync(['ps', '-axww', '-o', 'pid=,command='])
  return stdout
    .toString()
    .split('\n')
    .filter((line) => line.includes(folder))
    .map((line) => Number.parseInt(line, 10))
}
