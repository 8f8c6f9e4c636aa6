/**
 * Group commit: jobs that arrive while a transaction is running share the next one.
 *
 * - A job waits only for a free place, so an idle service adds no delay.
 * - Callers (`callerOf`) take turns, so a job does not wait behind all jobs of another caller.
 * - A batch of several callers is small (`maxSharedSize`). A larger batch belongs to one caller and runs beside the small ones, one of a
 *   caller at a time. So a job does not wait for the large jobs of another caller.
 * - Jobs with the same key (`keyOf`) run one at a time, in the order of their arrival.
 * - Every job has its own outcome. If a batch fails as a whole, its jobs are run again one by one, so a bad job fails alone.
 * - A batch that waits for a lock does not delay other batches. Until it ends, its callers share no other batch, so that a caller whose
 *   jobs wait for locks delays only itself.
 * - The queue is bounded. A job that exceeds the bound is refused at once.
 */
import { FairLine } from './fair-line.ts'

export type Outcome<R> =
  | { readonly kind: 'done'; readonly result: R }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** Undecided. The job runs again in a later batch. */
  | { readonly kind: 'again' }
  /** Undecided, because a step shared with other jobs failed. The job runs again by itself before this batch ends. */
  | { readonly kind: 'alone' }

export interface GroupCommitOptions<J, R> {
  /** Whose job it is. */
  callerOf(job: J): string
  /** The thing that the job locks. */
  keyOf(job: J): string
  /** The job's share of a batch. */
  weightOf(job: J): number
  /** The memory that the job occupies while it waits. */
  sizeOf(job: J): number
  /** Runs the jobs and returns their outcomes in order. Rejects if no job was done. Never returns `alone` for a single job. */
  run(jobs: readonly J[]): Promise<readonly Outcome<R>[]>
  /** True for an error that no job has caused. If a job fails with it alone, the remaining jobs fail without an attempt. */
  isOutage(error: unknown): boolean
  /** The error of a job that exceeds `maxWaitingSize`. */
  refusal(): Error
  readonly maxBatches: number
  /**
   * A batch that takes longer than this probably waits for a lock. It no longer counts towards `maxBatches`, so other
   * batches can start. At most `maxBatches` batches are exempted in this way. One caller never has all places, so
   * others can start.
   */
  readonly overdueMs: number
  /** The least weight for a batch beside a running one. A small batch costs nearly as much as a large one. */
  readonly minWeightBeside: number
  readonly maxJobs: number
  readonly maxWeight: number
  /** Largest size of a batch with jobs of several callers. */
  readonly maxSharedSize: number
  /** Largest size of a batch. A single job may exceed this and the next limit. */
  readonly maxBatchSize: number
  /** Largest size of all jobs that wait or run. */
  readonly maxWaitingSize: number
}

/** Large batches at a time. */
const MAX_LARGE = 1

/** Batches of one kind. */
interface Lane {
  readonly most: number
  batches: number
  /** Running batches that have taken longer than `overdueMs`. */
  overdue: number
}

const counted = ({ batches, overdue, most }: Lane): number => batches - Math.min(overdue, most)
const hasRoom = (lane: Lane): boolean => counted(lane) < lane.most

interface Waiting<J, R> {
  readonly job: J
  readonly caller: string
  readonly key: string
  readonly weight: number
  readonly size: number
  resolve(result: R): void
  reject(error: unknown): void
}

/** Returns the function that runs one job. */
export function createGroupCommit<J, R>(options: GroupCommitOptions<J, R>): (job: J) => Promise<R> {
  const queue = new FairLine<Waiting<J, R>>()
  const busy = new Set<string>()
  const small: Lane = { most: options.maxBatches, batches: 0, overdue: 0 }
  const large: Lane = { most: MAX_LARGE, batches: 0, overdue: 0 }
  /** The number of batches with jobs of a caller. */
  const running = new Counts()
  const runningLarge = new Counts()
  const runningOverdue = new Counts()
  let waitingWeight = 0
  let waitingSize = 0

  const isLarge = (size: number) => size > options.maxSharedSize

  /** Moves the jobs of the next batch out of the queue. Later jobs with the same key stay. */
  function take(maySmall: boolean, mayLarge: boolean): Waiting<J, R>[] {
    const batch: Waiting<J, R>[] = []
    const held = new Set<string>()
    /** By caller: jobs at the head of its line that stay. */
    const passed = new Map<string, number>()
    let weight = 0
    let size = 0
    const isOwn = (caller: string) => batch.every((one) => one.caller === caller)
    const maxSize = (caller: string) =>
      mayLarge && runningLarge.of(caller) === 0 && isOwn(caller)
        ? options.maxBatchSize
        : options.maxSharedSize
    const mayBegin = ({ caller, size }: Waiting<J, R>) =>
      isLarge(size) ? mayLarge && runningLarge.of(caller) === 0 : maySmall
    const fits = (waiting: Waiting<J, R>) =>
      batch.length === 0
        ? mayBegin(waiting)
        : batch.length < options.maxJobs &&
          weight + waiting.weight <= options.maxWeight &&
          size + waiting.size <= maxSize(waiting.caller)
    const choose = (caller: string, waiting: readonly Waiting<J, R>[]): number => {
      if (!mayJoin(caller, batch)) return -1
      const isFirst = !passed.has(caller)
      let index = passed.get(caller) ?? 0
      for (let one = waiting[index]; one !== undefined; one = waiting[++index]) {
        if (busy.has(one.key) || held.has(one.key)) continue
        if (fits(one)) break
        held.add(one.key)
        // It keeps its turn for this job. Otherwise its smaller jobs could always come first.
        if (isFirst) index = waiting.length
      }
      passed.set(caller, index)
      return index < waiting.length ? index : -1
    }
    for (let next = queue.take(choose); next !== null; next = queue.take(choose)) {
      batch.push(next)
      held.add(next.key)
      weight += next.weight
      size += next.size
      if (batch.length === options.maxJobs) break
    }
    waitingWeight -= weight
    return batch
  }

  /** A caller with an overdue batch gets batches of its own, up to all places but one. */
  function mayJoin(caller: string, batch: readonly Waiting<J, R>[]): boolean {
    const owner = batch[0]?.caller ?? caller
    if (owner !== caller) return runningOverdue.of(owner) === 0 && runningOverdue.of(caller) === 0
    return running.of(caller) < 2 * options.maxBatches - 1
  }

  function start(): void {
    while (!queue.isEmpty) {
      const batch = take(
        hasRoom(small) && (counted(small) === 0 || waitingWeight >= options.minWeightBeside),
        hasRoom(large),
      )
      if (batch.length === 0) return
      void follow(batch)
    }
  }

  /** Runs a batch. The next batches start when it has ended or has taken too long. */
  async function follow(batch: readonly Waiting<J, R>[]): Promise<void> {
    const callers = new Set(batch.map(({ caller }) => caller))
    const isOfLarge = isLarge(batch.reduce((sum, { size }) => sum + size, 0))
    const lane = isOfLarge ? large : small
    let isOverdue = false
    const timer = setTimeout(() => {
      isOverdue = true
      lane.overdue++
      runningOverdue.add(callers, 1)
      start()
    }, options.overdueMs)
    lane.batches++
    running.add(callers, 1)
    if (isOfLarge) runningLarge.add(callers, 1)
    for (const { key } of batch) busy.add(key)
    await perform(batch)
    clearTimeout(timer)
    lane.batches--
    running.add(callers, -1)
    if (isOfLarge) runningLarge.add(callers, -1)
    if (isOverdue) {
      lane.overdue--
      runningOverdue.add(callers, -1)
    }
    for (const { key } of batch) busy.delete(key)
    start()
  }

  async function perform(batch: readonly Waiting<J, R>[]): Promise<void> {
    const outcomes = await outcomesOf(batch)
    const alone: Waiting<J, R>[] = []
    for (const [index, waiting] of batch.entries()) {
      if (outcomes[index]?.kind === 'alone') alone.push(waiting)
      else settle(waiting, outcomes[index])
    }
    await performAlone(alone)
  }

  async function outcomesOf(batch: readonly Waiting<J, R>[]): Promise<readonly Outcome<R>[]> {
    try {
      return await options.run(batch.map(({ job }) => job))
    } catch (error) {
      return batch.map(() => (batch.length === 1 ? { kind: 'failed', error } : { kind: 'alone' }))
    }
  }

  /** Runs the jobs one after another. Stops at an outage, with which the remaining jobs fail. */
  async function performAlone(batch: readonly Waiting<J, R>[]): Promise<void> {
    let outage: Outcome<R> | null = null
    for (const waiting of batch) {
      const outcome: Outcome<R> | undefined = outage ?? (await outcomesOf([waiting]))[0]
      if (outcome?.kind === 'failed' && options.isOutage(outcome.error)) outage = outcome
      settle(waiting, outcome)
    }
  }

  function settle(waiting: Waiting<J, R>, outcome: Outcome<R> | undefined): void {
    if (outcome?.kind === 'again') {
      queue.addFirst(waiting.caller, waiting)
      waitingWeight += waiting.weight
      return
    }
    waitingSize -= waiting.size
    if (outcome?.kind === 'done') waiting.resolve(outcome.result)
    else if (outcome?.kind === 'failed') waiting.reject(outcome.error)
    else waiting.reject(new Error('the batch returned no outcome for a job'))
  }

  return (job) => {
    const size = options.sizeOf(job)
    if (waitingSize > 0 && waitingSize + size > options.maxWaitingSize)
      return Promise.reject(options.refusal())
    waitingSize += size
    const { promise, resolve, reject } = Promise.withResolvers<R>()
    const [caller, weight] = [options.callerOf(job), options.weightOf(job)]
    queue.add(caller, { job, caller, key: options.keyOf(job), weight, size, resolve, reject })
    waitingWeight += weight
    start()
    return promise
  }
}

/** How many batches each caller has. */
class Counts {
  readonly #counts = new Map<string, number>()

  of(caller: string): number {
    return this.#counts.get(caller) ?? 0
  }

  add(callers: ReadonlySet<string>, amount: number): void {
    for (const caller of callers) {
      const count = this.of(caller) + amount
      if (count === 0) this.#counts.delete(caller)
      else this.#counts.set(caller, count)
    }
  }
}
