/** Which organizations share an activation of short turns. */
import { expect, test } from 'bun:test'
import { Lane } from '../../src/actors/lane.ts'
import type { ActorKey } from '../../src/actors/types.ts'

let now = 0
const laneOf = () =>
  new Lane(
    { pool: 'short', places: 2, guests: 0, width: 4 },
    async () => {},
    () => now,
  )
const add = (lane: Lane, ...names: readonly string[]) => {
  for (const name of names) lane.queue.add(`session:${name}` as ActorKey, name[0] ?? '')
}
const next = (lane: Lane) => {
  const actors = lane.next()
  return { actors, names: actors.map(({ key }) => key.slice('session:'.length)) }
}
function activate(lane: Lane, ms: number): readonly string[] {
  const { actors, names } = next(lane)
  lane.begin(actors)
  now += ms
  lane.end(actors)
  return names
}

test('organizations of a slow activation share none, until one of their own was fast', () => {
  const lane = laneOf()
  add(lane, 'a1', 'b1')
  expect(activate(lane, 150)).toEqual(['a1', 'b1'])
  add(lane, 'a2', 'b2', 'c2')
  expect(activate(lane, 150)).toEqual(['a2'])
  expect(activate(lane, 0)).toEqual(['b2'])
  add(lane, 'a3', 'b3')
  expect(activate(lane, 0)).toEqual(['c2', 'b3'])
  expect(activate(lane, 0)).toEqual(['a3'])
})
