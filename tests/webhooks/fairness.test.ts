/** Slow receivers of one organization do not hold up the events of another, and take a bounded number of places. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Lane } from '../../src/actors/lane.ts'
import { eventually } from '../support/eventually.ts'
import { createRecording } from '../support/recordings.ts'
import { createWebhook, type SendingServer, startReceiver, startSendingServer } from '../support/webhooks.ts'

/** Far beyond what the other organization may need. */
const TIMEOUT_MS = 30_000
const SHARE = 3

let server: SendingServer
const stops: (() => Promise<void>)[] = []
beforeAll(async () => {
  server = await startSendingServer({}, {}, false)
})
afterAll(async () => {
  for (const stop of stops) await stop()
  await server.stop()
})

test('ten dead receivers of one organization take three places, and another organization is served at once', async () => {
  await server.work({ timeoutMs: TIMEOUT_MS, retrySeconds: [1] }, { outboundSlots: 4, outboundShare: SHARE })
  const slow = server.as({ apiKey: (await server.createTenant()).apiKey })
  const quick = server.as({ apiKey: (await server.createTenant()).apiKey })
  let open = 0
  const release = Promise.withResolvers<void>()
  const dead = startReceiver(async () => {
    open += 1
    await release.promise
    return new Response()
  })
  const live = startReceiver()
  stops.push(dead.stop, live.stop)
  for (let number = 0; number < 10; number++) await createWebhook(slow, { url: dead.url })
  await createWebhook(quick, { url: live.url })
  await createRecording(slow)
  await eventually(() => open === SHARE)
  const ids: string[] = []
  for (let number = 0; number < 20; number++) ids.push((await createRecording(quick)).id)
  await eventually(() => live.received.length === 20)
  expect(live.received.map(({ event }) => event.data.id)).toEqual(ids)
  expect(open).toBe(SHARE)
  release.resolve()
  await eventually(() => dead.received.length === 10)
})

test('a lane gives one organization at most its share, also if places are free', () => {
  const lane = new Lane({ pool: 'outbound', places: 10, guests: 1, width: 1, most: 2 }, async () => {})
  for (let number = 0; number < 5; number++) lane.queue.add(`webhook:${number}`, 'a')
  const next = () => {
    const actors = lane.next()
    if (actors.length > 0) lane.begin(actors)
    return actors
  }
  const first = next()
  expect(first).toHaveLength(1)
  expect(next()).toHaveLength(1)
  expect(next()).toEqual([])
  lane.queue.add('webhook:other', 'b')
  expect(next()).toEqual([{ key: 'webhook:other', organization: 'b' }])
  lane.end(first)
  expect(next()).toMatchObject([{ organization: 'a' }])
  // Five of ten places are taken or waited for: the lane reads on. With ten it is full, so that others are looked for.
  expect(lane.isFull).toBe(false)
  for (let number = 10; number < 20; number++) lane.queue.add(`webhook:${number}`, 'a')
  expect(lane.isFull).toBe(true)
})
