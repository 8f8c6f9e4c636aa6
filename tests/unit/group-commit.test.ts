import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { createGroupCommit, type Outcome } from '../../src/platform/concurrency/group-commit.ts'
import { eventually } from '../support/eventually.ts'

interface Job {
  readonly caller: string
  readonly key: string
  readonly value: number
}

const OUTAGE = new Error('the database is away')
const FULL = new Error('too much waits')

/** A committer whose batches the test ends. */
function committer(
  limits: {
    maxBatches?: number
    overdueMs?: number
    minWeightBeside?: number
    maxJobs?: number
    maxWeight?: number
    maxSharedSize?: number
    maxBatchSize?: number
    maxWaitingSize?: number
  } = {},
) {
  const batches: {
    jobs: readonly Job[]
    end: (outcomes?: readonly Outcome<number>[] | Error) => Promise<void>
  }[] = []
  const commit = createGroupCommit<Job, number>({
    callerOf: (job) => job.caller,
    keyOf: (job) => job.key,
    weightOf: (job) => job.value,
    sizeOf: (job) => job.value,
    isOutage: (error) => error === OUTAGE,
    refusal: () => FULL,
    maxBatches: limits.maxBatches ?? 1,
    overdueMs: limits.overdueMs ?? 60_000,
    minWeightBeside: limits.minWeightBeside ?? 0,
    maxJobs: limits.maxJobs ?? 10,
    maxWeight: limits.maxWeight ?? 1_000,
    maxSharedSize: limits.maxSharedSize ?? 1_000,
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
const job = (key: string, value: number, caller = 'caller'): Job => ({ caller, key, value })

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
    const { commit, batches, values } = committer({ minWeightBeside: 5, overdueMs: 1 })
    const own = (key: string, value: number) => commit(job(key, value, key))
    const results = [own('a', 1), own('a', 2), own('b', 3), own('c', 4)]
    expect(values()).toEqual([[1]])
    await eventually(() => batches.length > 1)
    expect(values()).toEqual([[1], [3, 4]])
    results.push(own('d', 9))
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

  test('a small job does not wait for large ones of another caller, and shares no batch with them', async () => {
    const { commit, batches, values } = committer({ maxSharedSize: 10, minWeightBeside: 500 })
    const results = [commit(job('a', 100)), commit(job('b', 200)), commit(job('c', 3))]
    expect(values()).toEqual([[100]])
    results.push(commit(job('d', 4, 'other')), commit(job('e', 300, 'third')))
    expect(values()).toEqual([[100], [4]])
    results.push(commit(job('f', 5, 'other')), commit(job('g', 6, 'fourth')))
    await batches[1]?.end()
    expect(values()).toEqual([[100], [4], [5]])
    await batches[0]?.end()
    expect(values()).toEqual([[100], [4], [5], [200, 3]])
    await batches[3]?.end()
    await batches[2]?.end()
    expect(values()).toEqual([[100], [4], [5], [200, 3], [300], [6]])
    for (const batch of batches) await batch.end()
    expect(await Promise.all(results)).toEqual([100, 200, 3, 4, 300, 5, 6])
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

  test('a job of another caller is in one of the next two batches, however many jobs of one wait', async () => {
    const { commit, batches, values } = committer({ maxBatches: 2, maxWeight: 500, maxWaitingSize: 1e9 })
    const many = Array.from({ length: 400 }, (_, index) => commit(job(`a${index}`, 500, 'a')))
    const other = commit(job('b', 1, 'b'))
    expect(values()).toEqual([[500], [500]])
    await batches[0]?.end()
    await batches[1]?.end()
    expect(values().slice(2).flat()).toContain(1)
    for (let index = 2; index < batches.length; index++) await batches[index]?.end()
    expect(await other).toBe(1)
    expect(await Promise.all(many)).toHaveLength(400)
  })

  test('a caller whose job does not fit keeps its turn for this job', async () => {
    const { commit, batches, values } = committer({ maxWeight: 10 })
    const results = [commit(job('x', 3, 'x'))]
    results.push(commit(job('b1', 1, 'b')), commit(job('a1', 10, 'a')), commit(job('a2', 2, 'a')))
    results.push(commit(job('b2', 4, 'b')), commit(job('b3', 9, 'b')), commit(job('b4', 5, 'b')))
    for (let index = 0; index < 5; index++) await batches[index]?.end()
    expect(values()).toEqual([[3], [1, 4, 5], [10], [9], [2]])
    expect(await Promise.all(results)).toHaveLength(7)
  })

  test('a caller whose batches are all overdue leaves a place to others', async () => {
    const { commit, batches, values } = committer({ maxBatches: 2, maxWeight: 1, overdueMs: 1 })
    const stuck = ['a1', 'a2', 'a3', 'a4', 'a5'].map((key) => commit(job(key, 1, 'a')))
    await eventually(() => batches.length === 3)
    const other = commit(job('b', 0, 'b'))
    expect(values()).toEqual([[1], [1], [1], [0]])
    for (let index = 3; index >= 0; index--) await batches[index]?.end()
    expect(await other).toBe(0)
    await batches[4]?.end()
    await batches[5]?.end()
    expect(await Promise.all(stuck)).toEqual([1, 1, 1, 1, 1])
  })

  test('callers of an overdue batch share no other batch until it ends', async () => {
    const { commit, batches, values } = committer({ maxBatches: 2, minWeightBeside: 50, overdueMs: 1 })
    const own = (caller: string, value: number) => commit(job(`${caller}${value}`, value, caller))
    const results = [own('x', 1), own('a', 2), own('b', 3)]
    await batches[0]?.end()
    expect(values()).toEqual([[1], [2, 3]])
    results.push(own('c', 4), own('a', 5), own('d', 6), own('b', 7))
    for (let index = 2; index < 5; index++) {
      await eventually(() => batches.length > index)
      await batches[index]?.end()
    }
    expect(values().slice(2)).toEqual([[4, 6], [5], [7]])
    await batches[1]?.end()
    results.push(own('x', 8), own('a', 9), own('b', 10))
    for (let index = 5; index < 7; index++) await batches[index]?.end()
    expect(values().slice(5)).toEqual([[8], [9, 10]])
    expect(await Promise.all(results)).toHaveLength(10)
  })

  test('property: callers take turns, and jobs of a key keep their order', async () => {
    const one = fc.record({
      caller: fc.constantFrom('a', 'b', 'c', 'd'),
      key: fc.nat(3),
      value: fc.integer({ min: 1, max: 12 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(one, { maxLength: 40 }), async (wanted) => {
        const { commit, batches } = committer({ maxJobs: 3, maxWeight: 10 })
        const jobs = wanted.map(({ caller, key, value }) => job(`${caller}${key}`, value, caller))
        const results = [job('x', 1, 'x'), ...jobs].map(commit)
        for (let index = 0; index < batches.length; index++) await batches[index]?.end()
        await Promise.all(results)
        const stored = batches.slice(1).map((batch) => batch.jobs)
        expect(stored.flat()).toHaveLength(jobs.length)
        const callers = new Set(jobs.map(({ caller }) => caller))
        for (const caller of callers)
          expect(
            stored
              .slice(0, callers.size)
              .flat()
              .map((each) => each.caller),
          ).toContain(caller)
        const inOrder = (all: readonly Job[]) => Object.groupBy(all, ({ key }) => key)
        expect(inOrder(stored.flat())).toEqual(inOrder(jobs))
      }),
    )
  })
})
