/**
 * The worker threads of a process. The main thread starts, watches, replaces and stops them.
 *
 * A thread may end at any time. The main thread soon starts another; after failed starts it waits longer each time. It also ends
 * the thread's worker, so that other workers take over its actors without waiting for the lease. If it is known which message the
 * thread was running, only that message is blamed. The epochs keep this safe even if the old thread is not really gone.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { resolvesWithin } from '../platform/concurrency/timeout.ts'
import type { Sql } from '../platform/db/pool.ts'
import type { Servers } from '../platform/lifecycle/servers.ts'
import type { Log } from '../platform/observability/log.ts'
import { createSharedMark, type Running, readSharedMark } from './running.ts'
import type { FromThread, ThreadSettings, ToThread } from './thread-protocol.ts'
import { endWorker, removeWorker } from './worker-statements.ts'

export interface Threads {
  /** Resolves when every thread has started its runtime. */
  ready(): Promise<void>
  /** Stops all threads in order. Threads that take longer than `budgetMs` are terminated. */
  stop(budgetMs: number): Promise<void>
  /** The metrics of each thread that answers, as its registry exports them. */
  metricsJson(): Promise<readonly object[]>
}

export interface ThreadsDeps {
  readonly config: ThreadSettings
  readonly servers: Servers
  readonly sql: Sql
  readonly log: Log
  /** Serves a thread's requests on `port`. @returns a function to call when the thread has ended */
  readonly serve?: (port: MessagePort) => () => void
}

export interface ThreadsOptions {
  /** The path of the thread's script. */
  readonly entry: string
  /** The pause between two pings. A thread that leaves three in a row unanswered is replaced. */
  readonly pingMs: number
  /** The pause before a thread is replaced. It doubles after each failed start, up to `respawnCapMs`. */
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
/** The limit for a starting thread is higher, because it loads all its code first. */
const MAX_UNANSWERED_AT_START = 30
const METRICS_BUDGET_MS = 1_000
/** The part of the budget that is reserved for terminating threads. */
const FORCE_MS = 500

/** Starts `config.workerThreads` threads and does not wait until they are ready. */
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
    stop: async (budgetMs) =>
      void (await Promise.all(supervisors.map((supervisor) => supervisor.stop(budgetMs)))),
    metricsJson: async () =>
      (await Promise.all(supervisors.map((supervisor) => supervisor.metrics()))).filter(
        (json) => json !== null,
      ),
  }
}

/** Supervises one thread and its successors. */
class ThreadSupervisor {
  readonly #ready = Promise.withResolvers<void>()
  readonly #metricsRequests = new Map<number, (json: object) => void>()
  #thread: Worker | null = null
  #worker: string | null = null
  #unanswered = 0
  /** The number of failed starts in a row. */
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

  async stop(budgetMs: number): Promise<void> {
    const stopped = Promise.withResolvers<void>()
    this.#stopped = stopped
    if (this.#respawning !== null) clearTimeout(this.#respawning)
    if (this.#thread === null) return
    this.#post({ type: 'stop', budgetMs: Math.max(0, budgetMs - FORCE_MS) })
    await resolvesWithin(stopped.promise, budgetMs)
    if (this.#pinging !== null) clearInterval(this.#pinging)
    this.#thread?.terminate()
    this.#thread = null
    this.#endService()
  }

  /** Null if the thread is not running or does not answer in time. */
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
    } else if (message.type === 'metrics') {
      this.#metricsRequests.get(message.request)?.(message.json)
    } else if (message.type === 'stopped') {
      this.#stopped?.resolve()
    }
  }

  /** Counts pings, not time: after a pause of the whole process, the thread gets a chance to answer first. */
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
    // After a successful start the pause is short: the message that ended the thread waits by itself, and no other work should.
    const waitMs = Math.min(respawnCapMs, respawnMs * 2 ** Math.min(this.#failures, 20))
    if (worker === null) this.#failures += 1
    const details = { thread: this.index, worker, running: culprit, waitMs }
    this.deps.log.error(details, 'a worker thread ended; starting another')
    this.#respawning = setTimeout(() => this.#spawn(), waitMs)
  }

  /** If this fails, other workers take over when the lease runs out. */
  #endWorker(worker: string, culprit: Running | 'nobody' | null): void {
    const { sql } = this.deps
    const ended =
      culprit === null
        ? removeWorker(sql, worker)
        : endWorker(sql, worker, culprit === 'nobody' ? null : culprit)
    ended.catch(() => {})
  }
}
