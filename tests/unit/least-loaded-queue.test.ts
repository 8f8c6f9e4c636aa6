/** The queue whose next actor belongs to the organization with the fewest in hand. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { LeastLoadedQueue, type Queued } from '../../src/actors/least-loaded-queue.ts'
import type { ActorKey } from '../../src/actors/types.ts'

const NOTHING = () => 0
const keyOf = (name: string): ActorKey => `session:${name}`

/** `a1` is the first actor of the organization `a`. */
function queueOf(...names: readonly string[]): LeastLoadedQueue {
  const queue = new LeastLoadedQueue()
  for (const name of names) queue.add(keyOf(name), name[0] ?? '')
  return queue
}
const namesOf = (taken: readonly Queued[]) => taken.map(({ key }) => key.slice('session:'.length))

describe('take', () => {
  test('a single organization gets everything, in order of arrival', () => {
    expect(namesOf(queueOf('a1', 'a2', 'a3').take(2, NOTHING))).toEqual(['a1', 'a2'])
  })

  test('organizations take turns', () => {
    const queue = queueOf('a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'c2')
    expect(namesOf(queue.take(6, NOTHING))).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3'])
    expect(namesOf(queue.take(6, NOTHING))).toEqual(['a4'])
  })

  test('the organization with the fewest running actors comes first', () => {
    const inHand = (organization: string) => (organization === 'a' ? 2 : 0)
    expect(namesOf(queueOf('a1', 'a2', 'b1', 'b2', 'b3').take(4, inHand))).toEqual(['b1', 'b2', 'a1', 'b3'])
  })
})

test('an organization apart shares no activation, and keeps its turn', () => {
  const isApart = (organization: string) => organization === 'b'
  const queue = queueOf('a1', 'b1', 'b2', 'c1')
  const take = () => namesOf(queue.take(4, NOTHING, undefined, isApart))
  expect([take(), take(), take()]).toEqual([['a1', 'c1'], ['b1', 'b2'], []])
})

test('an unknown actor counts as of an organization without running actors', () => {
  const queue = queueOf('a1', 'a2', 'b1')
  const inHand = (organization: string) => (organization === 'a' ? 1 : 0)
  expect(namesOf(queue.takeStranger(inHand))).toEqual(['b1'])
  expect(queue.takeStranger(inHand)).toEqual([])
  expect(queue.size).toBe(2)
})

test('an actor is queued and taken once; shares differ by at most one', () => {
  const organization = fc.constantFrom('a', 'b', 'c', 'd')
  const actors = fc.array(fc.tuple(organization, fc.nat(20)), { maxLength: 60 })
  fc.assert(
    fc.property(actors, fc.integer({ min: 1, max: 10 }), (added, count) => {
      const queue = new LeastLoadedQueue()
      for (const [name, number] of added) queue.add(keyOf(`${name}${number}`), name)
      const unique = new Set(added.map(([name, number]) => `${name}${number}`))
      expect(queue.size).toBe(unique.size)
      const out: string[] = []
      while (queue.size > 0) {
        const before = new Map(['a', 'b', 'c', 'd'].map((name) => [name, queue.sizeOf(name)]))
        const taken = queue.take(count, NOTHING)
        expect(taken.length).toBe(Math.min(count, unique.size - out.length))
        const shares = [...before]
          .filter(([, waiting]) => waiting > 0)
          .map(([name, waiting]) => {
            const share = taken.filter((one) => one.organization === name).length
            return { share, isAll: share === waiting }
          })
        const most = Math.max(...shares.map(({ share }) => share))
        for (const { share, isAll } of shares) expect(isAll || share >= most - 1).toBe(true)
        out.push(...namesOf(taken))
      }
      expect(new Set(out)).toEqual(unique)
      expect(out).toHaveLength(unique.size)
    }),
  )
})
