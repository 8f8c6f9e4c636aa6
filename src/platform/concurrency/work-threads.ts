/**
 * A few threads for work on requests that callers share fairly.
 *
 * Callers take turns. One caller never occupies all threads. A thread starts when it is needed and ends after an idle time. Work that
 * exceeds the deadline is ended together with its thread. Other work continues.
 */
import { AppError } from '../errors.ts'
import { createFairPlaces } from './fair-places.ts'
import { errorOfData } from './work.ts'
import type { Assignment, Completion } from './work-thread.ts'

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
   * @param transfer bytes of the assignment that the caller does not use after the call
   * @throws AppError of the work; 503 at the deadline
   */
  run(caller: string, assignment: Assignment, transfer?: Uint8Array): Promise<unknown>
  close(): void
}

/** Threads start on their first use. */
export function createWorkThreads(options: WorkThreadsOptions): WorkThreads {
  const threads = Array.from({ length: options.threads }, () => new WorkThread(options))
  const places = createFairPlaces(threads)
  return {
    run: (caller, assignment, transfer) => places.run(caller, (thread) => thread.run(assignment, transfer)),
    close() {
      for (const thread of threads) thread.end(unavailable('The service is stopping.'))
    },
  }
}

/** A place for one thread, which may not be running. */
class WorkThread {
  #thread: Worker | null = null
  #current: PromiseWithResolvers<unknown> | null = null
  #idle: Timer | null = null

  constructor(private readonly options: WorkThreadsOptions) {}

  async run(assignment: Assignment, transfer?: Uint8Array): Promise<unknown> {
    const current = Promise.withResolvers<unknown>()
    this.#current = current
    if (this.#idle !== null) clearTimeout(this.#idle)
    const late = () => this.end(unavailable('The request took too long.'))
    const timer = setTimeout(late, this.options.deadlineMs)
    try {
      this.#thread ??= this.#start()
      this.#thread.postMessage(assignment, transferList(transfer))
      return await current.promise
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
    thread.addEventListener('message', (event: MessageEvent<Completion>) => this.#receive(event.data))
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

  #receive(completion: Completion): void {
    if ('output' in completion) this.#current?.resolve(completion.output)
    else if ('error' in completion) this.#current?.reject(errorOfData(completion.error))
    else this.#current?.reject(new Error(completion.defect))
  }
}

/** The buffer of `bytes`. Empty if the buffer also holds other data, which would be transferred, too; then the bytes are copied. */
function transferList(bytes: Uint8Array | undefined): ArrayBuffer[] {
  const buffer = bytes?.buffer
  return buffer instanceof ArrayBuffer && buffer.byteLength === bytes?.byteLength ? [buffer] : []
}

function unavailable(message: string): AppError {
  return new AppError('unavailable', `${message} Try again shortly.`, { headers: { 'retry-after': '1' } })
}
