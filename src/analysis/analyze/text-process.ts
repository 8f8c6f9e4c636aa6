/**
 * Runs text jobs in two child processes, which all threads of this process share. The second one runs only while two
 * organizations have jobs.
 *
 * A process runs one job at a time, under a deadline. A job that takes longer, or whose signal is aborted, is killed with its
 * process; the next job gets a new process. Organizations take turns, and no organization has both processes. A job of
 * another organization therefore waits for one job at most, even if that job hangs.
 *
 * Background analyses (`insight_background`) have a process of their own, at a low priority. They delay no other job, and it alone holds
 * the trained head in memory during second passes.
 *
 * It is a process because a running regular expression cannot be stopped in a thread. The process ends when its standard input
 * closes, which happens when this process dies.
 */
import { setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import { NO_ORGANIZATION } from '../../actors/types.ts'
import { createFairPool } from '../../platform/concurrency/fair-queue.ts'
import { heapEnvironment } from '../../platform/lifecycle/heap.ts'
import { linesOf } from './lines.ts'
import { type TextJob, type TextJobs, type TextWork, TextWorkError } from './text-work.ts'

/** The argument that makes the program serve text jobs. `src/cli.ts` reads it; it is not a command. */
export const TEXT_PROCESS = '__text-process'

export interface TextProcessesOptions {
  readonly command: readonly string[]
  /** With one, background analyses share it, and have the same priority and time limit. */
  readonly textProcesses: number
  /** The memory from which the engine derives when to collect garbage. Null: that of the machine. */
  readonly heapBytes: number | null
  /** Time limit of one job, including the start of the process. A background analysis has `BACKGROUND_TIME` times as much. */
  readonly deadlineMs: number
  /** An idle process ends after this time, to free its memory. */
  readonly idleMs: number
  /** Niceness (POSIX, 0 to 19) of the process for background analyses. */
  readonly backgroundNiceness: number
}

export interface TextProcesses extends TextWork {
  /** Kills the processes with their running jobs, and refuses all later jobs. */
  close(): void
}

const COMPILED = import.meta.url.includes('$bunfs') || import.meta.url.includes('~BUN')
const COMMAND = COMPILED
  ? [process.execPath, TEXT_PROCESS]
  : [process.execPath, fileURLToPath(new URL('../../cli.ts', import.meta.url)), TEXT_PROCESS]

const DEFAULTS: TextProcessesOptions = {
  command: COMMAND,
  textProcesses: 2,
  heapBytes: null,
  deadlineMs: 30_000,
  idleMs: 60_000,
  backgroundNiceness: 10,
}

/** A busy machine leaves a tenth of a core to the background process, and loading the trained head alone takes a second of CPU. */
const BACKGROUND_TIME = 4

/** The child does not inherit the environment of this process, which contains credentials. */
const ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }

/** Starts a process when a job needs it. */
export function createTextProcesses(options: Partial<TextProcessesOptions> = {}): TextProcesses {
  const all = { ...DEFAULTS, ...options }
  const processes = Array.from({ length: all.textProcesses }, () => new Place(all))
  const places = createFairPool(processes)
  const patient = { ...all, deadlineMs: all.deadlineMs * BACKGROUND_TIME }
  const background =
    all.textProcesses === 1 ? places : createFairPool([new Place(patient, all.backgroundNiceness)])
  const closing = new AbortController()
  return {
    async run<J extends TextJob>(
      job: J,
      input: TextJobs[J]['input'],
      signal: AbortSignal,
      organization = NO_ORGANIZATION,
    ) {
      const line = JSON.stringify({ job, input })
      const until = AbortSignal.any([signal, closing.signal])
      const among = job === 'insight_background' ? background : places
      const done = among.run(organization, (place) => place.ask(line, until))
      // A waiting job also ends at once.
      return (await orAborted(done, until)) as TextJobs[J]['output']
    },
    close: () => closing.abort(new TextWorkError('the service is stopping')),
  }
}

async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** The child's answer to one line. */
export type Answer = { readonly value: unknown } | { readonly error: string }

/** The slot of one process, which may be empty. */
class Place {
  #child: Child | null = null
  #idle: Timer | null = null

  constructor(
    private readonly options: TextProcessesOptions,
    private readonly niceness = 0,
  ) {}

  /** One job at a time. */
  async ask(line: string, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted()
    if (this.#idle !== null) clearTimeout(this.#idle)
    const child = this.#child ?? this.#start()
    const { promise: late, reject } = Promise.withResolvers<never>()
    const { deadlineMs } = this.options
    const timer = setTimeout(
      () => reject(new TextWorkError(`the text work was ended after ${deadlineMs / 1_000} s`)),
      deadlineMs,
    )
    try {
      const answer = await orAborted(Promise.race([child.ask(line), late]), signal)
      if ('error' in answer) throw new TextWorkError(`the text work failed: ${answer.error}`)
      return answer.value
    } catch (error) {
      this.#end()
      throw error
    } finally {
      clearTimeout(timer)
      this.#idle = setTimeout(() => this.#end(), this.options.idleMs)
      this.#idle.unref()
    }
  }

  #start(): Child {
    const child = startChild(this.options, this.niceness)
    this.#child = child
    void child.exited.then(() => {
      if (this.#child === child) this.#child = null
    })
    return child
  }

  #end(): void {
    this.#child?.kill()
    this.#child = null
  }
}

/** Where the system refuses it, the process has the usual priority. */
function lowerPriority(pid: number, niceness: number): void {
  try {
    setPriority(pid, niceness)
  } catch {}
}

interface Child {
  /** One at a time. @throws TextWorkError if the process ends before it answers */
  ask(line: string): Promise<Answer>
  kill(): void
  readonly exited: Promise<unknown>
}

function startChild({ command, heapBytes }: TextProcessesOptions, niceness: number): Child {
  const child = Bun.spawn([...command], {
    cwd: '/',
    env: { ...ENVIRONMENT, ...heapEnvironment(heapBytes) },
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'ignore',
  })
  child.unref()
  if (niceness !== 0) lowerPriority(child.pid, niceness)
  const answers = linesOf(child.stdout)
  return {
    async ask(line) {
      child.stdin.write(`${line}\n`)
      await child.stdin.flush()
      const { value } = await answers.next()
      if (value === undefined) throw new TextWorkError('the text process has ended')
      return JSON.parse(value) as Answer
    },
    kill: () => child.kill('SIGKILL'),
    exited: child.exited,
  }
}
