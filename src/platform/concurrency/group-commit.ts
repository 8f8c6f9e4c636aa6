/**
 * Group commit: jobs that arrive while a transaction is on its way share the next one.
 *
 * The rules: a job waits for nothing but a free place, so an idle service pays no delay; of the jobs that touch the
 * same thing (`keyOf`) only one is under way, in the order of their arrival; every job has its own outcome, and what
 * failed as a whole is done over one by one, so that a bad job fails alone; a batch that is held up holds up no other. What
 * waits is bounded: a job too many is refused at once.
 */

export type Outcome<R> =
  | { readonly kind: 'done'; readonly result: R }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** Not decided: to be done again with a later batch. */
  | { readonly kind: 'again' }
  /** Not decided, because what it shared with others failed: to be done over by itself, before this batch ends. */
  | { readonly kind: 'alone' }

export interface GroupCommitOptions<J, R> {
  /** What the job locks. */
  keyOf(job: J): string
  /** Its share of a batch. */
  weightOf(job: J): number
  /** What it takes while it waits. */
  sizeOf(job: J): number
  /** Does the jobs; outcomes in their order. Rejects where none was done, and never says `alone` of a single job. */
  run(jobs: readonly J[]): Promise<readonly Outcome<R>[]>
  /** True for an error that says nothing of a job: where one alone meets it too, the others are not tried. */
  isOutage(error: unknown): boolean
  /** The error of a job that finds `maxWaitingSize` taken. */
  refusal(): Error
  readonly maxBatches: number
  /**
   * A batch that takes longer waits for a lock of somebody else. It then counts for nothing, so that others go on beside
   * it; not more than `maxBatches` are let off like that.
   */
  readonly patienceMs: number
  /** A batch beside another one begins only for this much: a small one costs nearly as much as a large one. */
  readonly minWeightBeside: number
  readonly maxJobs: number
  readonly maxWeight: number
  /** Of a batch. A single job may be larger, here and below. */
  readonly maxBatchSize: number
  /** Of everything that waits or is under way. */
  readonly maxWaitingSize: number
}

interface Waiting<J, R> {
  readonly job: J
  readonly key: string
  readonly weight: number
  readonly size: number
  resolve(result: R): void
  reject(error: unknown): void
}

/** Returns the function that does one job; what is under way counts as waiting. */
export function createGroupCommit<J, R>(options: GroupCommitOptions<J, R>): (job: J) => Promise<R> {
  let queue: Waiting<J, R>[] = []
  const busy = new Set<string>()
  let batches = 0
  /** Of them, those that took longer than `patienceMs`. */
  let overdue = 0
  let waitingSize = 0

  /** Moves the jobs of the next batch out of the queue; later jobs of a key wait behind an earlier one. */
  function take(): Waiting<J, R>[] {
    const batch: Waiting<J, R>[] = []
    const rest: Waiting<J, R>[] = []
    const held = new Set<string>()
    let weight = 0
    let size = 0
    for (const waiting of queue) {
      const fits =
        batch.length === 0 ||
        (batch.length < options.maxJobs &&
          weight + waiting.weight <= options.maxWeight &&
          size + waiting.size <= options.maxBatchSize)
      if (!fits || busy.has(waiting.key) || held.has(waiting.key)) {
        held.add(waiting.key)
        rest.push(waiting)
        continue
      }
      batch.push(waiting)
      held.add(waiting.key)
      weight += waiting.weight
      size += waiting.size
    }
    queue = rest
    return batch
  }

  function isWorthwhile(): boolean {
    let weight = 0
    for (const waiting of queue) {
      weight += waiting.weight
      if (weight >= options.minWeightBeside) return true
    }
    return false
  }

  function start(): void {
    while (queue.length > 0) {
      const counted = batches - Math.min(overdue, options.maxBatches)
      if (counted >= options.maxBatches || (counted > 0 && !isWorthwhile())) return
      const batch = take()
      if (batch.length === 0) return
      void follow(batch)
    }
  }

  /** Performs a batch, and lets the next ones begin when it has ended, or has taken too long. */
  async function follow(batch: readonly Waiting<J, R>[]): Promise<void> {
    let isOverdue = false
    const timer = setTimeout(() => {
      isOverdue = true
      overdue++
      start()
    }, options.patienceMs)
    batches++
    for (const { key } of batch) busy.add(key)
    await perform(batch)
    clearTimeout(timer)
    batches--
    if (isOverdue) overdue--
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

  /** One after another, until one of them shows that none can be done. */
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
      queue.unshift(waiting)
      return
    }
    waitingSize -= waiting.size
    if (outcome?.kind === 'done') waiting.resolve(outcome.result)
    else if (outcome?.kind === 'failed') waiting.reject(outcome.error)
    else waiting.reject(new Error('a job was left without an outcome'))
  }

  return (job) => {
    const size = options.sizeOf(job)
    if (waitingSize > 0 && waitingSize + size > options.maxWaitingSize)
      return Promise.reject(options.refusal())
    waitingSize += size
    const { promise, resolve, reject } = Promise.withResolvers<R>()
    queue.push({ job, key: options.keyOf(job), weight: options.weightOf(job), size, resolve, reject })
    start()
    return promise
  }
}
