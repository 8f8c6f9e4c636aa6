/** Work on requests: done here where it is small, else in threads that callers share and that can be ended. */
import { afterEach, describe, expect, test } from 'bun:test'
import { createRequestWork } from '../../src/platform/concurrency/request-work.ts'
import type { RequestWork } from '../../src/platform/concurrency/work.ts'
import { crash, echo, hang, refuse, spendUnits } from '../support/work.worker.ts'

const ENTRY = new URL('../support/work.worker.ts', import.meta.url).href
const SMALL = 1_000
const LARGE = 1_000_000

let open: RequestWork | null = null
afterEach(() => open?.close())

function requestWork(options: { readonly threads?: number; readonly deadlineMs?: number } = {}) {
  open = createRequestWork({ entry: ENTRY, deadlineMs: 20_000, ...options })
  return open
}

describe('work on a request', () => {
  test('is done here where it is small, and in a thread where its input is large or it turns out to be long', async () => {
    const work = requestWork()
    expect(await work.run(spendUnits, 10, { caller: 'a', bytes: SMALL })).toBe('here')
    expect(await work.run(spendUnits, 10, { caller: 'a', bytes: LARGE })).toBe('in a thread')
    expect(await work.run(spendUnits, 1_000_000, { caller: 'a', bytes: SMALL })).toBe('in a thread')
  })

  test('that is too much for one request is refused with 400', async () => {
    const load = { caller: 'a', bytes: SMALL }
    await expect(requestWork().run(spendUnits, 1e12, load)).rejects.toMatchObject({
      code: 'request_too_costly',
      status: 400,
    })
  })

  test.each([SMALL, LARGE])('is refused in its own words: input of %d bytes', async (bytes) => {
    await expect(requestWork().run(refuse, null, { caller: 'a', bytes })).rejects.toMatchObject({
      code: 'validation_failed',
      details: [{ path: 'a', code: 'type', message: 'no' }],
    })
  })

  test('that does not end is ended with 503, and the work behind it is done', async () => {
    const work = requestWork({ threads: 1, deadlineMs: 1_000 })
    const hanging = work.run(hang, null, { caller: 'a', bytes: LARGE })
    const behind = work.run(echo, 'b', { caller: 'b', bytes: LARGE })
    await expect(hanging).rejects.toMatchObject({ code: 'unavailable' })
    expect(await behind).toBe('b')
  })

  test('whose thread ends fails or is done, and the work behind it is done', async () => {
    const work = requestWork({ threads: 1 })
    const load = { caller: 'a', bytes: LARGE }
    await work.run(crash, null, load).catch(() => null)
    // The thread may end during this one.
    await work.run(echo, 'between', load).catch(() => null)
    expect(await work.run(echo, 'b', load)).toBe('b')
  })

  test('of one caller never takes all threads', async () => {
    const work = requestWork({ threads: 2, deadlineMs: 4_000 })
    const greedy = Array.from({ length: 4 }, () => work.run(hang, null, { caller: 'greedy', bytes: LARGE }))
    const over = Promise.allSettled(greedy)
    const first = Promise.race(greedy.map((one) => one.catch(() => 'ended')))
    for (let count = 0; count < 20; count++)
      expect(await Promise.race([work.run(echo, 'quiet', { caller: 'quiet', bytes: LARGE }), first])).toBe(
        'quiet',
      )
    work.close()
    void over
  })

  test('of several callers is done in turns', async () => {
    const work = requestWork({ threads: 1 })
    const order: string[] = []
    const run = async (caller: string) => {
      order.push(await work.run(echo, caller, { caller, bytes: LARGE }))
    }
    await Promise.all([...Array.from({ length: 6 }, () => run('a')), run('b'), run('c')])
    expect(order.slice(0, 4).sort()).toEqual(['a', 'a', 'b', 'c'])
  })

  test('lets the event loop look at the network between many small inputs', async () => {
    const work = requestWork()
    const bytes = 30_000
    let done = 0
    const all = Array.from({ length: 100 }, async () => {
      await work.run(echo, 'a', { caller: 'a', bytes })
      done++
    })
    await Promise.resolve()
    await new Promise((resolve) => setImmediate(resolve))
    expect(done).toBeGreaterThan(0)
    expect(done).toBeLessThan(40)
    await Promise.all(all)
    expect(done).toBe(100)
  })
})
