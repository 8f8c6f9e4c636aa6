/**
 * The runtime of one worker. It registers, listens to the notifiers, sweeps, sends heartbeats, and runs actors until stopped.
 *
 * README.md describes the protocol. Several runtimes may live in one process; each has its own id.
 */
import { hostname } from 'node:os'
import { resolvesWithin } from '../platform/concurrency/timeout.ts'
import type { Context } from './context.ts'
import { Dispatcher } from './dispatcher.ts'
import { keepSharing } from './fair-sweep.ts'
import { keepBeating } from './heartbeat.ts'
import { createWakeUpSources, type SourceDeps } from './notifier.ts'
import { DEFAULT_OPTIONS, type RuntimeOptions } from './options.ts'
import { pause } from './pause.ts'
import { createRunningMark, type RunningMark } from './running.ts'
import { keepSweeping } from './sweeper.ts'
import { type ActorDefinition, type Notifier, POOLS, type Pool, type WakeUpSource } from './types.ts'
import { beat, giveBack, removeWorker } from './worker-statements.ts'

/**
 * If one read brings at least this many wake-ups, the worker lets the next ones gather. A transaction costs nearly the same for four actors as for
 * twenty. A worker that reads fewer is not busy, so the next wake-up has its turn at once.
 */
const CROWD = 4

export interface RuntimeDeps extends SourceDeps {
  readonly notifier: Notifier
  /** Absent if no other thread reads it. */
  readonly running?: RunningMark
}

export interface Runtime {
  /** The primary key of the worker's row, never used again. */
  readonly worker: string
  /** Registers the worker and begins. @throws Error if the database cannot be reached */
  start(): Promise<void>
  /**
   * Takes no more actors, aborts long turns, waits up to `budgetMs` for the running turns, and releases every actor. A turn that
   * is not over by then is fenced off as soon as another worker claims its actor.
   */
  stop(budgetMs: number): Promise<void>
}

/** A worker for `definitions`. Nothing happens before `start`. */
export function createRuntime(
  deps: RuntimeDeps,
  definitions: readonly ActorDefinition[],
  options: Partial<RuntimeOptions> = {},
): Runtime {
  return new ActorWorker(deps, definitions, { ...DEFAULT_OPTIONS, ...options })
}

class ActorWorker implements Runtime {
  readonly worker = `${hostname()}:${process.pid}:${crypto.randomUUID()}`
  readonly #context: Context
  readonly #dispatcher: Dispatcher
  #sources: ReadonlyMap<Pool, WakeUpSource> = new Map()
  readonly #stopping = new AbortController()
  /** Aborted later than `stopping`: heartbeats must continue until the last turn is over. */
  readonly #stopped = new AbortController()
  #loops: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly deps: RuntimeDeps,
    definitions: readonly ActorDefinition[],
    options: RuntimeOptions,
  ) {
    const { sql, log, metrics, notifier, running = createRunningMark() } = deps
    this.#context = {
      sql,
      log: log.child({ worker: this.worker }),
      metrics,
      notifier,
      running,
      worker: this.worker,
      options,
      definitions: new Map(definitions.map((definition) => [definition.kind, definition])),
      stopping: this.#stopping.signal,
      longTurns: new Map(),
    }
    this.#dispatcher = new Dispatcher(this.#context)
  }

  async start(): Promise<void> {
    await beat(this.#context.sql, this.worker)
    const pools = new Set([...this.#context.definitions.values()].map((definition) => definition.pool))
    const listening = POOLS.filter((pool) => pools.has(pool))
    this.#sources = await createWakeUpSources(this.deps, listening, this.worker)
    this.#loops = Promise.all([
      keepBeating(this.#context, this.#stopped.signal),
      keepSweeping(this.#context, this.#dispatcher),
      keepSharing(this.#context, this.#dispatcher),
      ...[...this.#sources].map(([pool, source]) => this.#listen(pool, source)),
    ])
  }

  async stop(budgetMs: number): Promise<void> {
    this.#stopping.abort()
    await Promise.all([...this.#sources.values()].map((source) => source.close().catch(() => {})))
    await resolvesWithin(this.#dispatcher.stop(), budgetMs)
    this.#stopped.abort()
    await this.#loops
    try {
      await giveBack(this.#context.sql, this.worker, this.#dispatcher.inHand())
      await removeWorker(this.#context.sql, this.worker)
    } catch (error) {
      this.#context.log.warn(
        { err: error },
        'the worker could not release its actors and remove its row; others take over when its lease runs out',
      )
    }
  }

  async #listen(pool: Pool, source: WakeUpSource): Promise<void> {
    const { stopping, options } = this.#context
    while (!stopping.aborted) {
      const free = this.#dispatcher.free(pool)
      if (free === 0) {
        await this.#dispatcher.changed()
        continue
      }
      // Takes one activation's worth at most, and leaves the rest to idle workers.
      const most = Math.min(free, options.batchKeys)
      const wakeUps = await source.take(most)
      for (const hint of wakeUps) this.#dispatcher.offer(hint)
      // Where wake-ups arrive in groups, the next ones gather meanwhile. A full read means a backlog, which waits for nothing.
      if (wakeUps.length >= CROWD && wakeUps.length < most) await pause(options.gatherMs, stopping)
    }
  }
}
