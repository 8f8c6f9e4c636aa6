/**
 * A few threads for work on requests that callers share fairly.
 *
 * Callers take turns. One caller never occupies all threads. A thread starts when it is needed and ends after an idle time. Work that
 * exceeds the deadline is ended together with its thread. Other work continues.
 */

import { AppError } from '../errors.ts'
import { unpackNumbers } from '../validation/exact-number.rules.ts'
import { createFairPool } from './fair-queue.ts'
import { transferable } from './parts.ts'
import { errorOfData } from './work.ts'
import type { Assignment, Completion, Report } from './work-thread.ts'

export interface WorkThreadsOptions {
  /** The script of a thread. */
  readonly entry: string
  readonly threads: number
  /** Time for one piece of work, including the start of its thread. */
  readonly deadlineMs: number
  readonly idleMs: number
}

export interface WorkThreads {
  /**
   * The parts of the assignment are transferred to the thread; if they are kept, also back into the same list.
   * @throws AppError of the work; 503 at the deadline
   */
  run(caller: string, assignment: Assignment): Promise<unknown>
  close(): void
}

/** Threads start on their first use. */
export function createWorkThreads(options: WorkThreadsOptions): WorkThreads {
  const threads = Array.from({ length: options.threads }, () => new WorkThread(options))
  const places = createFairPool(threads)
  return {
    run: (caller, assignment) => places.run(caller, (thread) => thread.run(assignment)),
    close() {
      for (const thread of threads) thread.end(unavailable('The service is stopping.'))
    },
  }
}

/** A place for one thread, which may not be running. */
class WorkThread {
  #thread: Worker | null = null
  #current: PromiseWithResolvers<Report> | null = null
  #idle: Timer | null = null

  constructor(private readonly options: WorkThreadsOptions) {}

  async run(assignment: Assignment): Promise<unknown> {
    const current = Promise.withResolvers<Report>()
    this.#current = current
    if (this.#idle !== null) clearTimeout(this.#idle)
    const late = () => this.end(unavailable('The request took too long.'))
    const timer = setTimeout(late, this.options.deadlineMs)
    try {
      this.#thread ??= this.#start()
      this.#thread.postMessage(assignment, transferable(assignment.parts))
      assignment.parts.length = 0
      const { completion, parts, isPacked } = await current.promise
      if (assignment.keepsParts) assignment.parts.push(...parts)
      const output = outputOf(completion)
      return isPacked === true ? unpackNumbers(output) : output
    } finally {
      clearTimeout(timer)
      this.#current = null
      this.#idle = setTimeout(() => this.end(), this.options.idleMs)
      this.#idle.unref()
    }
  }

  /** Ends the thread. Its work rejects with `error`. */
  end(error: Error = new Error('the thread was ended')): void {
    const thread = this.#thread
    this.#thread = null
    thread?.terminate()
    this.#current?.reject(error)
  }

  #start(): Worker {
    // A small heap is collected often, because large bodies leave much garbage.
    const thread = new Worker(this.options.entry, { smol: true })
    thread.unref()
    // An ended thread may have sent a report just before. It is not that of the work that runs now.
    thread.addEventListener('message', (event: MessageEvent<Report>) => {
      if (this.#thread === thread) this.#current?.resolve(event.data)
    })
    const fail = (error: Error) => {
      if (this.#thread === thread) this.end(error)
    }
    thread.addEventListener('error', (event: ErrorEvent) => {
      event.preventDefault()
      fail(new Error(`a work thread failed: ${event.message}`))
    })
    thread.addEventListener('close', () => fail(new Error('a work thread ended unexpectedly')))
    return thread
  }
}

function outputOf(completion: Completion): unknown {
  if ('output' in completion) return completion.output
  if ('error' in completion) throw errorOfData(completion.error)
  throw new Error(completion.defect)
}

function unavailable(message: string): AppError {
  return new AppError('unavailable', `${message} Try again shortly.`, { headers: { 'retry-after': '1' } })
}
