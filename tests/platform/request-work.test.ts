/** Work on requests: short work runs on this thread, long work in shared threads that can be ended. */
import { afterEach, describe, expect, test } from 'bun:test'
import { createRequestWork } from '../../src/platform/concurrency/request-work.ts'
import type { RequestWork } from '../../src/platform/concurrency/work.ts'
import { eventually } from '../support/eventually.ts'
import { crash, echo, echoParts, hang, refuse, spendUnits } from '../support/work.worker.ts'

const ENTRY = new URL('../support/work.worker.ts', import.meta.url).href
const BYTES = 1_000
const SHORT = 1_000
const LONG = 1_000_000

/** Work with this estimate, in units. */
const loadOf = (caller: string, units: number) => ({ caller, bytes: BYTES, units })

let open: RequestWork | null = null
afterEach(() => open?.close())

function requestWork(options: { readonly threads?: number; readonly deadlineMs?: number } = {}) {
  open = createRequestWork({ entry: ENTRY, deadlineMs: 20_000, ...options })
  return open
}

describe('work on a request', () => {
  test('runs here if short, and in a thread if estimated long or found to be long', async () => {
    const work = requestWork()
    expect(await work.run(spendUnits, 10, loadOf('a', SHORT))).toBe('here')
    expect(await work.run(spendUnits, 10, loadOf('a', LONG))).toBe('in a thread')
    expect(await work.run(spendUnits, 1_000_000, loadOf('a', SHORT))).toBe('in a thread')
  })

  test.each([
    ['transferred if they fill their buffer', new Uint8Array(BYTES), 0],
    ['copied if their buffer holds other data', new Uint8Array(2 * BYTES).subarray(BYTES), BYTES],
  ])('reaches a thread with its parts, which are %s', async (_, part, left) => {
    part.fill(7)
    const parts: Uint8Array[] = [part]
    const load = { ...loadOf('a', LONG), parts }
    const copies = await requestWork().run(echoParts, parts, load)
    expect<Uint8Array[]>(copies).toEqual([new Uint8Array(BYTES).fill(7)])
    expect(part.byteLength).toBe(left)
    expect(parts).toEqual([])
  })

  test('gets back parts that are kept, also from work that fails', async () => {
    const work = requestWork()
    const parts: Uint8Array[] = [1, 2, 3].map((value) => new Uint8Array(BYTES).fill(value))
    const [first] = parts
    const load = { ...loadOf('a', LONG), parts, keepsParts: true }
    await expect(work.run(refuse, null, load)).rejects.toMatchObject({ code: 'validation_failed' })
    for (let again = 0; again < 2; again++) {
      const copies = await work.run(echoParts, parts, load)
      expect(copies.map(([value]) => value)).toEqual([1, 2, 3])
      expect(parts).toEqual(copies)
    }
    expect(first?.byteLength).toBe(0)
  })

  test('that hangs leaves no parts', async () => {
    const parts = [new Uint8Array(BYTES)]
    const load = { ...loadOf('a', LONG), parts, keepsParts: true }
    await expect(requestWork({ deadlineMs: 1_000 }).run(hang, null, load)).rejects.toMatchObject({
      code: 'unavailable',
    })
    expect(parts).toEqual([])
  })

  test('short, leaves its parts here', async () => {
    const parts = [new Uint8Array(BYTES)]
    await requestWork().run(echoParts, parts, { ...loadOf('a', SHORT), parts })
    expect(parts[0]?.byteLength).toBe(BYTES)
  })

  test('above the budget of one request is refused', async () => {
    const load = loadOf('a', SHORT)
    await expect(requestWork().run(spendUnits, 1e12, load)).rejects.toMatchObject({
      code: 'request_too_costly',
    })
  })

  test.each([SHORT, LONG])('is refused with its own error: work of %d units', async (units) => {
    await expect(requestWork().run(refuse, null, loadOf('a', units))).rejects.toMatchObject({
      code: 'validation_failed',
      details: [{ path: 'a', code: 'type', message: 'no' }],
    })
  })

  test('that hangs is ended with 503, and queued work is done', async () => {
    const work = requestWork({ threads: 1, deadlineMs: 1_000 })
    const hanging = work.run(hang, null, loadOf('a', LONG))
    const behind = work.run(echo, 'b', loadOf('b', LONG))
    await expect(hanging).rejects.toMatchObject({ code: 'unavailable' })
    expect(await behind).toBe('b')
  })

  test('fails or completes when its thread dies, and queued work is done', async () => {
    const work = requestWork({ threads: 1 })
    const load = loadOf('a', LONG)
    await work.run(crash, null, load).catch(() => null)
    // The thread may end during later work, which fails with it.
    await eventually(async () => (await work.run(echo, 'b', load).catch(() => null)) === 'b')
  })

  test('of one caller never occupies all threads', async () => {
    const work = requestWork({ threads: 2, deadlineMs: 4_000 })
    const greedy = Array.from({ length: 4 }, () => work.run(hang, null, loadOf('greedy', LONG)))
    const over = Promise.allSettled(greedy)
    const first = Promise.race(greedy.map((one) => one.catch(() => 'ended')))
    for (let count = 0; count < 20; count++)
      expect(await Promise.race([work.run(echo, 'quiet', loadOf('quiet', LONG)), first])).toBe('quiet')
    work.close()
    void over
  })

  test('of several callers alternates', async () => {
    const work = requestWork({ threads: 1 })
    const order: string[] = []
    const run = async (caller: string) => {
      order.push(await work.run(echo, caller, loadOf(caller, LONG)))
    }
    await Promise.all([...Array.from({ length: 6 }, () => run('a')), run('b'), run('c')])
    expect(order.slice(0, 4).sort()).toEqual(['a', 'a', 'b', 'c'])
  })

  test('yields to the event loop between many short pieces', async () => {
    const work = requestWork()
    let done = 0
    const all = Array.from({ length: 100 }, async () => {
      await work.run(echo, 'a', loadOf('a', 50_000))
      done++
    })
    await Promise.resolve()
    await new Promise((resolve) => setImmediate(resolve))
    expect(done).toBeGreaterThan(0)
    expect(done).toBeLessThan(40)
    await Promise.all(all)
    expect(done).toBe(100)
  })

  test('of several callers alternates on this thread as well', async () => {
    const work = requestWork()
    const order: string[] = []
    const run = async (caller: string) => {
      order.push(await work.run(echo, caller, loadOf(caller, 350_000)))
    }
    await Promise.all([...Array.from({ length: 6 }, () => run('a')), run('b'), run('c')])
    // Two are admitted at once.
    expect(order.slice(0, 5).sort()).toEqual(['a', 'a', 'a', 'b', 'c'])
  })
})
