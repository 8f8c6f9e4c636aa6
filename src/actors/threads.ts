/**
 * The worker threads of a process, seen from the main thread: started, watched, replaced, stopped.
 *
 * The rule: a thread may end at any time. It is replaced soon; after a pause that grows where it could not even start. Its worker is
 * ended with it, so that others take over its actors without waiting for the lease, and the message that the thread was running is
 * blamed, alone, where it is known. Nothing relies on the old thread being really gone: the epochs see to that.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { Config } from '../config.ts'
import type { Servers } from '../container.ts'
import type { Sql } from '../platform/db/pool.ts'
import type { Log } from '../platform/observability/log.ts'
import { createSharedMark, type Running, readSharedMark } from './running.ts'
import type { FromThread, ToThread } from './thread-protocol.ts'
import { endWorker, removeWorker } from './worker-statements.ts'

export interface Threads {
  /** Resolves when every thread works. */
  ready(): Promise<void>
  /** Resolves when every thread has practised its first turns; see `agents/warm-up.ts`. */
  warm(): Promise<void>
  /** Stops all threads in order; those that take longer than `budgetMs` are ended by force. */
  stop(budgetMs: number): Promise<void>
  /** The metrics of each thread that answers, as its registry gives them. */
  metricsJson(): Promise<readonly object[]>
}

export interface ThreadsDeps {
  readonly config: Config
  readonly servers: Servers
  readonly sql: Sql
  readonly log: Log
  /** Serves what a thread asks of the main thread on `port`. @returns ends that, when the thread has ended */
  readonly serve?: (port: MessagePort) => () => void
}

export interface ThreadsOptions {
  /** The script of a thread. */
  readonly entry: string
  /** Pause between two pings; a thread that leaves three in a row unanswered is replaced. */
  readonly pingMs: number
  /** The pause before a thread is replaced, and the longest before one that could not start is tried again. */
  readonly respawnMs: number
  readonly respawnCapMs: number
}

// In a compiled binary every entry is embedded under its path from the root of the build.
const COMPILED = import.meta.url.includes('$bunfs') || import.meta.url.includes('~BUN')
const ENTRY = COMPILED
  ? './workers/actor.worker.ts'
  : new URL('../../workers/actor.worker.ts', import.meta.url).href

const DEFAULTS: ThreadsOptions = { entry: ENTRY, pingMs: 2_000, respawnMs: 250, respawnCapMs: 30_000 }

const MAX_UNANSWERED = 3
/** A thread that starts loads all its code first. */
const MAX_UNANSWERED_AT_START = 30
const METRICS_BUDGET_MS = 1_000
/** What the main thread keeps of the budget to end threads by force. */
const FORCE_MS = 500

/** Starts `config.workerThreads` threads; does not wait until they work. */
export async function startThreads(
  deps: ThreadsDeps,
  options: Partial<ThreadsOptions> = {},
): Promise<Threads> {
  const all = { ...DEFAULTS, ...options }
  const supervisors = Array.from(
    { length: deps.config.workerThreads },
    (_, index) => new ThreadSupervisor(deps, all, index),
  )
  return {
    ready: async () => void (await Promise.all(supervisors.map((supervisor) => supervisor.ready))),
    warm: async () => void (await Promise.all(supervisors.map((supervisor) => supervisor.warm))),
    stop: async (budgetMs) =>
      void (await Promise.all(supervisors.map((supervisor) => supervisor.stop(budgetMs)))),
    metricsJson: async () =>
      (await Promise.all(supervisors.map((supervisor) => supervisor.metrics()))).filter(
        (json) => json !== null,
      ),
  }
}

/** The place of one thread, whichever thread sits there at the moment. */
class ThreadSupervisor {
  readonly #ready = Promise.withResolvers<void>()
  readonly #warm = Promise.withResolvers<void>()
  readonly #metricsRequests = new Map<number, (json: object) => void>()
  #thread: Worker | null = null
  #worker: string | null = null
  #unanswered = 0
  /** Starts in a row that came to nothing. */
  #failures = 0
  #running = createSharedMark()
  #endService = () => {}
  #requests = 0
  #pinging: Timer | null = null
  #respawning: Timer | null = null
  #stopped: PromiseWithResolvers<void> | null = null

  constructor(
    private readonly deps: ThreadsDeps,
    private readonly options: ThreadsOptions,
    private readonly index: number,
  ) {
    this.#spawn()
  }

  get ready(): Promise<void> {
    return this.#ready.promise
  }

  get warm(): Promise<void> {
    return this.#warm.promise
  }

  async stop(budgetMs: number): Promise<void> {
    const stopped = Promise.withResolvers<void>()
    this.#stopped = stopped
    if (this.#respawning !== null) clearTimeout(this.#respawning)
    if (this.#thread === null) return
    const timer = setTimeout(stopped.resolve, budgetMs)
    this.#post({ type: 'stop', budgetMs: Math.max(0, budgetMs - FORCE_MS) })
    await stopped.promise
    clearTimeout(timer)
    if (this.#pinging !== null) clearInterval(this.#pinging)
    this.#thread?.terminate()
    this.#thread = null
    this.#endService()
  }

  /** Null where the thread is away or does not answer in time. */
  async metrics(): Promise<object | null> {
    if (this.#worker === null) return null
    const request = ++this.#requests
    const { promise, resolve } = Promise.withResolvers<object | null>()
    this.#metricsRequests.set(request, resolve)
    const timer = setTimeout(() => resolve(null), METRICS_BUDGET_MS)
    this.#post({ type: 'metrics', request })
    const json = await promise
    clearTimeout(timer)
    this.#metricsRequests.delete(request)
    return json
  }

  #spawn(): void {
    const thread = new Worker(this.options.entry)
    this.#thread = thread
    this.#unanswered = 0
    this.#running = createSharedMark()
    thread.addEventListener('message', (event: MessageEvent<FromThread>) => this.#hear(event.data))
    thread.addEventListener('error', (event: ErrorEvent) => {
      event.preventDefault()
      this.deps.log.error({ thread: this.index, err: event.message }, 'error in a worker thread')
    })
    thread.addEventListener('close', () => this.#ended(thread))
    this.#pinging = setInterval(() => this.#ping(thread), this.options.pingMs)
    this.#start(thread)
  }

  #start(thread: Worker): void {
    const { config, servers, serve } = this.deps
    const order = { type: 'start', config, servers, index: this.index, running: this.#running } as const
    if (serve === undefined) {
      thread.postMessage({ ...order, port: null } satisfies ToThread)
      return
    }
    const { port1, port2 } = new MessageChannel()
    this.#endService = serve(port1)
    thread.postMessage({ ...order, port: port2 } satisfies ToThread, [port2])
  }

  #post(message: ToThread): void {
    this.#thread?.postMessage(message)
  }

  #hear(message: FromThread): void {
    this.#unanswered = 0
    if (message.type === 'ready') {
      this.#worker = message.worker
      this.#failures = 0
      this.#ready.resolve()
    } else if (message.type === 'warm') {
      this.#warm.resolve()
    } else if (message.type === 'metrics') {
      this.#metricsRequests.get(message.request)?.(message.json)
    } else if (message.type === 'stopped') {
      this.#stopped?.resolve()
    }
  }

  /** Counts pings, not time: after the whole process was paused, the thread gets its turn to answer first. */
  #ping(thread: Worker): void {
    const allowed = this.#worker === null ? MAX_UNANSWERED_AT_START : MAX_UNANSWERED
    if (this.#unanswered >= allowed) {
      this.deps.log.error({ thread: this.index, worker: this.#worker }, 'a worker thread does not answer')
      thread.terminate()
      this.#ended(thread)
      return
    }
    this.#unanswered += 1
    this.#post({ type: 'ping' })
  }

  #ended(thread: Worker): void {
    if (this.#thread !== thread) return
    this.#thread = null
    this.#endService()
    if (this.#pinging !== null) clearInterval(this.#pinging)
    const worker = this.#worker
    this.#worker = null
    if (this.#stopped !== null) {
      this.#stopped.resolve()
      return
    }
    const culprit = readSharedMark(this.#running)
    if (worker !== null) this.#endWorker(worker, culprit)
    const { respawnMs, respawnCapMs } = this.options
    // What ended a thread that worked waits by itself; everybody else does not wait for it.
    const waitMs = Math.min(respawnCapMs, respawnMs * 2 ** Math.min(this.#failures, 20))
    if (worker === null) this.#failures += 1
    const details = { thread: this.index, worker, running: culprit, waitMs }
    this.deps.log.error(details, 'a worker thread ended; starting another')
    this.#respawning = setTimeout(() => this.#spawn(), waitMs)
  }

  /** Where this fails, the lease of the worker runs out. */
  #endWorker(worker: string, culprit: Running | 'nobody' | null): void {
    const { sql } = this.deps
    const ended =
      culprit === null
        ? removeWorker(sql, worker)
        : endWorker(sql, worker, culprit === 'nobody' ? null : culprit)
    ended.catch(() => {})
  }
}
