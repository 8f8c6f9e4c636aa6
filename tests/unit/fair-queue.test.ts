import { describe, expect, test } from 'bun:test'
import { AsyncLocalStorage } from 'node:async_hooks'
import fc from 'fast-check'
import {
  createFairPool,
  createFairQueue,
  type Entry,
  type FairQueueOptions,
} from '../../src/platform/concurrency/fair-queue.ts'
import { eventually } from '../support/eventually.ts'

/** A queue whose work the test ends. */
function queueOf(options: FairQueueOptions) {
  const queue = createFairQueue(options)
  const inside: { readonly name: string; readonly end: () => Promise<void> }[] = []
  return {
    queue,
    names: () => inside.map(({ name }) => name),
    run: (caller: string, name: string, entry?: Entry) =>
      queue.run(
        caller,
        () => {
          const { promise, resolve } = Promise.withResolvers<string>()
          const end = async () => {
            inside.splice(
              inside.findIndex((one) => one.name === name),
              1,
            )
            resolve(name)
            await new Promise(setImmediate)
          }
          inside.push({ name, end })
          return promise
        },
        entry,
      ),
    end: (name: string) => inside.find((one) => one.name === name)?.end(),
  }
}

const reasonOf = (promise: Promise<unknown>) =>
  promise.then(
    () => null,
    (reason: unknown) => reason,
  )

describe('a fair queue', () => {
  test('a free place goes to the caller that holds least, and one caller never holds all', async () => {
    const { run, names, end } = queueOf({ places: 3 })
    for (const name of ['a1', 'a2', 'a3', 'a4']) void run('a', name)
    expect(names()).toEqual(['a1', 'a2'])
    for (const name of ['b1', 'b2']) void run('b', name)
    expect(names()).toEqual(['a1', 'a2', 'b1'])
    void run('c', 'c1')
    await end('a1')
    expect(names()).toEqual(['a2', 'b1', 'c1'])
    await end('a2')
    expect(names()).toEqual(['b1', 'c1', 'a3'])
  })

  test('a caller holds as much as it leaves for others', async () => {
    const { run, names } = queueOf({ places: 9, share: 'asMuchAsItLeaves' })
    for (let index = 1; index < 9; index++) void run('a', `a${index}`)
    expect(names()).toHaveLength(4)
    for (let index = 1; index < 9; index++) void run('b', `b${index}`)
    expect(names()).toHaveLength(6)
    void run('c', 'c1')
    expect(names().at(-1)).toBe('c1')
  })

  test('a caller holds less while others come, and as much as before when the others have been away for a while', async () => {
    let now = 0
    const { run, names, end } = queueOf({
      ...{ places: 10, share: 'asMuchAsItLeaves', shareBesideOthers: 2, now: () => now },
    })
    for (let index = 1; index <= 12; index++) void run('a', `a${index}`)
    expect(names()).toEqual(['a1', 'a2', 'a3', 'a4', 'a5'])
    void run('b', 'b1')
    for (const name of ['a1', 'a2', 'a3', 'a4']) await end(name)
    expect(names()).toEqual(['a5', 'b1', 'a6'])
    for (const name of ['b2', 'b3']) void run('b', name)
    expect(names()).toEqual(['a5', 'b1', 'a6', 'b2'])
    for (const name of ['b1', 'b2', 'b3']) await end(name)
    now += 1_000
    await end('a5')
    expect(names()).toEqual(['a6', 'a7', 'a8', 'a9', 'a10'])
  })

  test('what has been inside for long leaves the smaller share to what came later', async () => {
    const { run, names } = queueOf({
      places: 10,
      share: 'asMuchAsItLeaves',
      shareBesideOthers: 2,
      now: () => 0,
    })
    void run('b', 'b1')
    for (const name of ['a1', 'a2', 'a3']) void run('a', name)
    expect(names()).toEqual(['b1', 'a1', 'a2'])
    await eventually(() => names().includes('a3'))
  })

  test('work with the same key runs one at a time in order, and takes no place while it waits', async () => {
    const { run, names, end } = queueOf({ places: 3, share: 3 })
    for (const name of ['x1', 'x2', 'x3']) void run('a', name, { key: 'x' })
    void run('a', 'y1', { key: 'y' })
    void run('a', 'z1')
    expect(names()).toEqual(['x1', 'y1', 'z1'])
    await end('y1')
    expect(names()).toEqual(['x1', 'z1'])
    await end('x1')
    await end('x2')
    expect(names()).toEqual(['z1', 'x3'])
    await end('x3')
    void run('a', 'x4', { key: 'x' })
    expect(names()).toEqual(['z1', 'x4'])
  })

  test('heavy work is not passed by the lighter work of others for ever', async () => {
    const { run, names, end } = queueOf({ places: 4, share: 4 })
    for (const name of ['a', 'b', 'c']) void run(name, name)
    void run('d', 'heavy', { weight: 3 })
    void run('e', 'light')
    expect(names()).toEqual(['a', 'b', 'c'])
    await end('a')
    expect(names()).toEqual(['b', 'c'])
    await end('b')
    expect(names()).toEqual(['c', 'heavy'])
    await end('c')
    expect(names()).toEqual(['heavy', 'light'])
  })

  test('what weighs more than all places runs alone', async () => {
    const { run, names, end } = queueOf({ places: 4 })
    void run('a', 'small')
    void run('b', 'giant', { weight: 10 })
    expect(names()).toEqual(['small'])
    await end('small')
    expect(names()).toEqual(['giant'])
    void run('c', 'next')
    expect(names()).toEqual(['giant'])
    await end('giant')
    expect(names()).toEqual(['next'])
  })

  test('refuses what exceeds the number of one caller', async () => {
    const { queue, run, end } = queueOf({ places: 1, maxOfCaller: 2, refusal: () => new Error('full') })
    void run('a', 'a1')
    void run('a', 'a2')
    expect(await reasonOf(run('a', 'a3'))).toEqual(new Error('full'))
    expect(queue.enter('a')).toBeNull()
    void run('b', 'b1')
    await end('a1')
    await end('b1')
    void run('a', 'a3')
  })

  test('refuses what waited too long, and what waits behind it goes on', async () => {
    const { run, names, end } = queueOf({
      places: 2,
      share: 2,
      maxWaitMs: 20,
      refusal: () => new Error('late'),
    })
    void run('a', 'x1', { key: 'x' })
    void run('a', 'y1')
    const late = [run('a', 'x2', { key: 'x' }), run('a', 'z1', { key: 'z' })].map(reasonOf)
    expect(await Promise.all(late)).toEqual([new Error('late'), new Error('late')])
    const next = [run('a', 'x3', { key: 'x' }), run('a', 'z2', { key: 'z' })]
    await end('x1')
    await end('y1')
    expect(names()).toEqual(['z2', 'x3'])
    await end('x3')
    await end('z2')
    expect(await Promise.all(next)).toEqual(['x3', 'z2'])
  })

  test('a place can be entered at once or not at all, and is left once', () => {
    const { queue, names, run } = queueOf({ places: 3 })
    const leave = queue.enter('a', { weight: 2 })
    expect(leave).not.toBeNull()
    expect(queue.enter('a')).toBeNull()
    expect(queue.enter('b', { weight: 2 })).toBeNull()
    void run('b', 'b1', { weight: 2 })
    expect(names()).toEqual([])
    leave?.()
    leave?.()
    expect(names()).toEqual(['b1'])
    expect(queue.enter('c', { weight: 2 })).toBeNull()
  })

  test('work runs in the context of its caller, and its failure is its own', async () => {
    const context = new AsyncLocalStorage<string>()
    const { queue, run, end } = queueOf({ places: 1 })
    void context.run('first', () => run('a', 'a1'))
    const second = context.run('second', () => queue.run('b', async () => context.getStore()))
    const failed = queue.run('c', () => Promise.reject(new Error('broken')))
    const reason = reasonOf(failed)
    await end('a1')
    expect(await second).toBe('second')
    expect(await reason).toEqual(new Error('broken'))
    expect(await queue.run('d', async () => 'still works')).toBe('still works')
  })

  test('a pool gives its first free place', async () => {
    const pool = createFairPool(['one', 'two'])
    const held = Promise.withResolvers<void>()
    const first = pool.run('a', (place) => held.promise.then(() => place))
    expect(await pool.run('b', async (place) => place)).toBe('two')
    held.resolve()
    expect(await first).toBe('one')
    expect(await pool.run('b', async (place) => place)).toBe('one')
  })

  test('whatever arrives and ends: everything runs once, keys and shares hold', async () => {
    const work = fc.record({
      caller: fc.constantFrom('a', 'b', 'c'),
      key: fc.option(fc.constantFrom('x', 'y'), { nil: undefined }),
      weight: fc.integer({ min: 1, max: 6 }),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(work, { maxLength: 40 }),
        fc.integer({ min: 1, max: 5 }),
        async (works, places) => {
          const queue = createFairQueue({ places })
          const inside = new Set<(typeof works)[number]>()
          const ran = works.map((one) =>
            queue.run(
              one.caller,
              async () => {
                const others = [...inside]
                const key = one.key === undefined ? undefined : `${one.caller}${one.key}`
                for (const other of others)
                  if (key !== undefined) expect(`${other.caller}${other.key}`).not.toBe(key)
                inside.add(one)
                if (others.length > 0)
                  expect([...inside].reduce((sum, { weight }) => sum + weight, 0)).toBeLessThanOrEqual(places)
                await new Promise(setImmediate)
                inside.delete(one)
                return one
              },
              { weight: one.weight, key: one.key === undefined ? undefined : `${one.caller}${one.key}` },
            ),
          )
          expect(await Promise.all(ran)).toEqual(works)
        },
      ),
    )
  })
})
