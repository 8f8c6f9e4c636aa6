import { expect, test } from 'bun:test'
import { createSharedLoad } from '../../src/platform/concurrency/shared-load.ts'

/** A loader whose queries are answered by the test. */
function loader() {
  const queries: { key: string; answer: (value: number | Error) => void }[] = []
  const load = createSharedLoad(
    (key: string) => key,
    (key: string) => {
      const { promise, resolve, reject } = Promise.withResolvers<number>()
      queries.push({ key, answer: (value) => (value instanceof Error ? reject(value) : resolve(value)) })
      return promise
    },
  )
  return { load, queries }
}

test('callers that arrive during a query share the next one, which starts after they arrived', async () => {
  const { load, queries } = loader()
  const first = load('a')
  const later = [load('a'), load('a')]
  expect(queries).toHaveLength(1)
  queries[0]?.answer(1)
  expect(await first).toBe(1)
  await new Promise(setImmediate)
  expect(queries).toHaveLength(2)
  queries[1]?.answer(2)
  expect(await Promise.all(later)).toEqual([2, 2])
})

test('keys do not wait for each other, and no result is cached', async () => {
  const { load, queries } = loader()
  const a = load('a')
  const b = load('b')
  expect(queries.map(({ key }) => key)).toEqual(['a', 'b'])
  queries[0]?.answer(1)
  queries[1]?.answer(2)
  expect(await Promise.all([a, b])).toEqual([1, 2])
  const again = load('a')
  queries[2]?.answer(3)
  expect(await again).toBe(3)
})

test('a failed query fails the callers that shared it, not those waiting for the next', async () => {
  const { load, queries } = loader()
  const first = load('a')
  const next = load('a')
  queries[0]?.answer(new Error('away'))
  await expect(first).rejects.toThrow('away')
  await new Promise(setImmediate)
  queries[1]?.answer(2)
  expect(await next).toBe(2)
})
