/**
 * Text jobs in a child process.
 *
 * The rule: one job at a time, under a deadline. A job that takes longer, or whose signal is aborted, is ended with its process; the
 * next job gets a new one. Jobs that wait are not affected, so only the job that was running fails.
 *
 * A process and not a thread: a regular expression that runs cannot be ended in a thread. The process ends by itself when its
 * standard input is closed, which the system does when this process dies.
 */
import { fileURLToPath } from 'node:url'
import { linesOf } from './lines.ts'
import { type TextJob, type TextJobs, type TextWork, TextWorkError } from './text-work.ts'

/** The argument that makes the program serve text jobs: known to `src/cli.ts`, and no command of the command line. */
export const TEXT_PROCESS = '__text-process'

export interface TextProcessOptions {
  readonly command: readonly string[]
  /** For one job, with the start of the process. */
  readonly deadlineMs: number
  /** A process that has had nothing to do for so long ends, and gives its memory back. */
  readonly idleMs: number
}

export interface TextProcess extends TextWork {
  /** Ends the process, with the job that is running. */
  close(): void
}

const COMPILED = import.meta.url.includes('$bunfs') || import.meta.url.includes('~BUN')
const COMMAND = COMPILED
  ? [process.execPath, TEXT_PROCESS]
  : [process.execPath, fileURLToPath(new URL('../cli.ts', import.meta.url)), TEXT_PROCESS]

const DEFAULTS: TextProcessOptions = { command: COMMAND, deadlineMs: 30_000, idleMs: 60_000 }

/** Nothing of this process's environment, with its credentials, is handed to the child. */
const ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }

/** Text jobs in a child process that is started when it is needed. */
export function createTextProcess(options: Partial<TextProcessOptions> = {}): TextProcess {
  return new OneProcess({ ...DEFAULTS, ...options })
}

/** What the child answers to one line. */
export type Answer = { readonly value: unknown } | { readonly error: string }

class OneProcess implements TextProcess {
  #child: Child | null = null
  /** Settled when the jobs that came before are over. */
  #before: Promise<unknown> = Promise.resolve()
  #idle: Timer | null = null

  constructor(private readonly options: TextProcessOptions) {}

  async run<J extends TextJob>(job: J, input: TextJobs[J]['input'], signal: AbortSignal) {
    const over = Promise.withResolvers<void>()
    const before = this.#before
    this.#before = before.then(() => over.promise)
    try {
      await before
      signal.throwIfAborted()
      return (await this.#ask(JSON.stringify({ job, input }), signal)) as TextJobs[J]['output']
    } finally {
      over.resolve()
    }
  }

  close(): void {
    this.#end()
  }

  async #ask(line: string, signal: AbortSignal): Promise<unknown> {
    if (this.#idle !== null) clearTimeout(this.#idle)
    const child = this.#child ?? this.#start()
    const { promise: ended, reject } = Promise.withResolvers<never>()
    const abort = () => reject(signal.reason)
    const { deadlineMs } = this.options
    const late = () => reject(new TextWorkError(`the text work was ended after ${deadlineMs / 1_000} s`))
    const timer = setTimeout(late, deadlineMs)
    signal.addEventListener('abort', abort, { once: true })
    try {
      const answer = await Promise.race([child.ask(line), ended])
      if ('error' in answer) throw new TextWorkError(`the text work failed: ${answer.error}`)
      return answer.value
    } catch (error) {
      this.#end()
      throw error
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      this.#idle = setTimeout(() => this.#end(), this.options.idleMs)
      this.#idle.unref()
    }
  }

  #start(): Child {
    const child = startChild(this.options.command)
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

interface Child {
  /** One at a time. @throws TextWorkError where the process ends before it answers */
  ask(line: string): Promise<Answer>
  kill(): void
  readonly exited: Promise<unknown>
}

function startChild(command: readonly string[]): Child {
  const child = Bun.spawn([...command], {
    cwd: '/',
    env: ENVIRONMENT,
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'ignore',
  })
  child.unref()
  const answers = linesOf(child.stdout)
  return {
    async ask(line) {
      child.stdin.write(`${line}\n`)
      await child.stdin.flush()
      const { value } = await answers.next()
      if (value === undefined) throw new TextWorkError('the process of the text work has ended')
      return JSON.parse(value) as Answer
    },
    kill: () => child.kill('SIGKILL'),
    exited: child.exited,
  }
}
