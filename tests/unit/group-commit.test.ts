import { describe, expect, test } from 'bun:test'
import { createGroupCommit, type Outcome } from '../../src/platform/concurrency/group-commit.ts'
import { eventually } from '../support/eventually.ts'

interface Job {
  readonly key: string
  readonly value: number
}

const OUTAGE = new Error('the database is away')
const FULL = new Error('too much waits')

/** A committer whose batches the test ends. */
function committer(
  limits: {
    maxBatches?: number
    patienceMs?: number
    minWeightBeside?: number
    maxJobs?: number
    maxWeight?: number
    maxBatchSize?: number
    maxWaitingSize?: number
  } = {},
) {
  const batches: {
    jobs: readonly Job[]
    end: (outcomes?: readonly Outcome<number>[] | Error) => Promise<void>
  }[] = []
  const commit = createGroupCommit<Job, number>({
    keyOf: (job) => job.key,
    weightOf: (job) => job.value,
    sizeOf: (job) => job.value,
    isOutage: (error) => error === OUTAGE,
    refusal: () => FULL,
    maxBatches: limits.maxBatches ?? 1,
    patienceMs: limits.patienceMs ?? 60_000,
    minWeightBeside: limits.minWeightBeside ?? 0,
    maxJobs: limits.maxJobs ?? 10,
    maxWeight: limits.maxWeight ?? 1_000,
    maxBatchSize: limits.maxBatchSize ?? 1_000,
    maxWaitingSize: limits.maxWaitingSize ?? 1_000,
    run(jobs) {
      const { promise, resolve, reject } = Promise.withResolvers<readonly Outcome<number>[]>()
      batches.push({
        jobs,
        async end(outcomes = jobs.map(done)) {
          if (outcomes instanceof Error) reject(outcomes)
          else resolve(outcomes)
          await promise.catch(() => {})
          // Everything that follows from the end has settled before the test continues.
          await new Promise(setImmediate)
        },
      })
      return promise
    },
  })
  return { commit, batches, values: () => batches.map(({ jobs }) => jobs.map(({ value }) => value)) }
}

const done = (job: Job): Outcome<number> => ({ kind: 'done', result: job.value })
/** The reason of a rejection. It is observed from the start, so that it is never unhandled. */
const reasonOf = (promise: Promise<unknown>) =>
  promise.then(
    () => null,
    (reason: unknown) => reason,
  )
const job = (key: string, value: number): Job => ({ key, value })

describe('group commit', () => {
  test('a second batch starts only when enough jobs wait', async () => {
    const { commit, batches, values } = committer({ maxBatches: 2, minWeightBeside: 5 })
    const results = [commit(job('a', 1)), commit(job('b', 2))]
    expect(values()).toEqual([[1]])
    results.push(commit(job('c', 3)))
    expect(values()).toEqual([[1], [2, 3]])
    results.push(commit(job('d', 4)))
    await batches[0]?.end()
    expect(values()).toEqual([[1], [2, 3]])
    await batches[1]?.end()
    expect(values()).toEqual([[1], [2, 3], [4]])
    await batches[2]?.end()
    expect(await Promise.all(results)).toEqual([1, 2, 3, 4])
  })

  test('other batches start beside overdue ones, up to a limit', async () => {
    const { commit, batches, values } = committer({ minWeightBeside: 5, patienceMs: 1 })
    const results = [commit(job('a', 1)), commit(job('a', 2)), commit(job('b', 3)), commit(job('c', 4))]
    expect(values()).toEqual([[1]])
    await eventually(() => batches.length > 1)
    expect(values()).toEqual([[1], [3, 4]])
    results.push(commit(job('d', 9)))
    expect(values()).toEqual([[1], [3, 4]])
    await batches[0]?.end()
    await eventually(() => batches.length > 2)
    expect(values()).toEqual([[1], [3, 4], [2, 9]])
    for (const batch of batches) await batch.end()
    expect(await Promise.all(results)).toEqual([1, 2, 3, 4, 9])
  })

  test('a job starts at once if a place is free, and jobs that arrive meanwhile share the next batch', async () => {
    const { commit, batches, values } = committer()
    const results = [commit(job('a', 1)), commit(job('b', 2)), commit(job('c', 3))]
    expect(values()).toEqual([[1]])
    await batches[0]?.end()
    expect(values()).toEqual([[1], [2, 3]])
    await batches[1]?.end()
    expect(await Promise.all(results)).toEqual([1, 2, 3])
  })

  test('jobs with the same key run one at a time, in the order of their arrival', async () => {
    const { commit, batches, values } = committer({ maxBatches: 2 })
    const results = [commit(job('a', 1)), commit(job('a', 2)), commit(job('a', 3)), commit(job('b', 4))]
    expect(values()).toEqual([[1], [4]])
    await batches[0]?.end()
    expect(values()).toEqual([[1], [4], [2]])
    await batches[1]?.end()
    await batches[2]?.end()
    await batches[3]?.end()
    expect(values()).toEqual([[1], [4], [2], [3]])
    expect(await Promise.all(results)).toEqual([1, 2, 3, 4])
  })

  test('a batch is limited by jobs and by weight, and a job that is too heavy runs alone', async () => {
    const { commit, batches, values } = committer({ maxJobs: 2, maxWeight: 10 })
    const results = [1, 4, 5, 6, 50].map((value) => commit(job(`k${value}`, value)))
    for (let index = 0; index < 4; index++) await batches[index]?.end()
    expect(values()).toEqual([[1], [4, 5], [6], [50]])
    expect(await Promise.all(results)).toEqual([1, 4, 5, 6, 50])
  })

  test('a batch is limited by size, and a job that is too large runs alone', async () => {
    const { commit, batches, values } = committer({ maxBatchSize: 10 })
    const results = [1, 4, 6, 5, 50].map((value) => commit(job(`k${value}`, value)))
    for (let index = 0; index < 4; index++) await batches[index]?.end()
    expect(values()).toEqual([[1], [4, 6], [5], [50]])
    expect(await Promise.all(results)).toEqual([1, 4, 6, 5, 50])
  })

  test('jobs with the outcome `alone` run one by one, and the others get their results at once', async () => {
    const { commit, batches, values } = committer()
    const results = [commit(job('a', 1)), commit(job('b', 2)), commit(job('c', 3)), commit(job('d', 4))]
    const bad = reasonOf(results[2] as Promise<number>)
    const next = commit(job('c', 5))
    await batches[0]?.end()
    await batches[1]?.end([done(job('b', 2)), { kind: 'alone' }, { kind: 'alone' }])
    expect(await results[1]).toBe(2)
    const reason = new Error('this one cannot be stored')
    await batches[2]?.end(reason)
    await batches[3]?.end()
    await batches[4]?.end()
    expect(values()).toEqual([[1], [2, 3, 4], [3], [4], [5]])
    expect(await bad).toBe(reason)
    expect(await Promise.all([results[3], next])).toEqual([4, 5])
  })

  test('every job has its own outcome, and a job with the outcome `again` runs first', async () => {
    const { commit, batches, values } = committer()
    const first = commit(job('a', 1))
    const refusal = new Error('refused')
    const failing = reasonOf(commit(job('b', 2)))
    const again = commit(job('c', 3))
    await batches[0]?.end()
    const last = commit(job('d', 4))
    await batches[1]?.end([{ kind: 'failed', error: refusal }, { kind: 'again' }])
    await batches[2]?.end()
    expect(values()).toEqual([[1], [2, 3], [3, 4]])
    expect(await first).toBe(1)
    expect(await failing).toBe(refusal)
    expect(await Promise.all([again, last])).toEqual([3, 4])
  })

  test('the jobs of a failed batch run again one by one, so that a bad job fails alone', async () => {
    const { commit, batches, values } = committer()
    const first = commit(job('a', 1))
    const bad = reasonOf(commit(job('b', 2)))
    const good = commit(job('c', 3))
    await batches[0]?.end()
    await batches[1]?.end(new Error('the transaction failed'))
    const reason = new Error('this one cannot be stored')
    await batches[2]?.end(reason)
    await batches[3]?.end()
    expect(values()).toEqual([[1], [2, 3], [2], [3]])
    expect(await bad).toBe(reason)
    expect(await Promise.all([first, good])).toEqual([1, 3])
  })

  test('if the first job alone fails with an outage, the others fail at once', async () => {
    const { commit, batches, values } = committer()
    const first = commit(job('a', 1))
    const others = [2, 3, 4].map((value) => reasonOf(commit(job(`k${value}`, value))))
    await batches[0]?.end()
    await batches[1]?.end(OUTAGE)
    await batches[2]?.end()
    await batches[3]?.end(OUTAGE)
    expect(values()).toEqual([[1], [2, 3, 4], [2], [3]])
    expect(await Promise.all(others)).toEqual([null, OUTAGE, OUTAGE])
    expect(await first).toBe(1)
    const later = commit(job('k4', 4))
    await batches[4]?.end()
    expect(await later).toBe(4)
  })

  test('a job over the limit is refused while others wait or run, and accepted after that', async () => {
    const { commit, batches } = committer({ maxWaitingSize: 10 })
    const large = commit(job('a', 50))
    expect(await reasonOf(commit(job('b', 1)))).toBe(FULL)
    await batches[0]?.end()
    expect(await large).toBe(50)
    const [six, four] = [commit(job('c', 6)), reasonOf(commit(job('d', 4)))]
    expect(await reasonOf(commit(job('e', 1)))).toBe(FULL)
    await batches[1]?.end()
    await batches[2]?.end([{ kind: 'again' }])
    expect(await six).toBe(6)
    expect(await reasonOf(commit(job('f', 7)))).toBe(FULL)
    await batches[3]?.end([{ kind: 'failed', error: OUTAGE }])
    expect(await four).toBe(OUTAGE)
    const last = commit(job('f', 7))
    await batches[4]?.end()
    expect(await last).toBe(7)
  })
})
