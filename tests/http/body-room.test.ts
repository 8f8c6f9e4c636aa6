/** Many large JSON bodies at once: what a process holds of them is bounded, and whoever finds no room may come again. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createBodyRoom } from '../../src/http/body-room.ts'
import { type Agent, INGEST, openAgent, userMessage } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { openRequest, type RawRequest } from '../support/raw-request.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

setDefaultTimeout(60_000)

const MB = 1024 * 1024
/** Fits in the room, but not four times. */
const LARGE = 1.5 * MB
/** Counted when it is announced: 300 of them take the room. */
const SMALL = 15 * 1024

let server: TestServer
let agent: Agent
beforeAll(async () => {
  server = await startTestServer({ env: { MAX_BODIES_MB: '4' } })
  agent = await openAgent(server)
})
afterAll(() => server.stop())

/** A request of so many bytes, for a session of its own. White space at the end counts for the body and for nothing else. */
function bodyOf(bytes: number): Buffer {
  const text = JSON.stringify(agent.request([userMessage(1)], { externalSessionId: crypto.randomUUID() }))
  return Buffer.from(text.padEnd(bytes, ' '))
}

const statusOf = async (bytes: number) => (await agent.post(bodyOf(bytes).toString())).status

function slowly(body: Buffer): RawRequest {
  return openRequest('POST', `${server.baseUrl}${INGEST}`, {
    'content-type': 'application/json',
    'content-length': String(body.byteLength),
    'x-service-agent-key': agent.agentSecret,
  })
}

/** Requests whose bodies have come but for the last byte. */
async function nearlySent(count: number) {
  const bodies = Array.from({ length: count }, () => bodyOf(LARGE))
  const requests = bodies.map(slowly)
  await Promise.all(requests.map((request, at) => request.write(bodies[at]!.subarray(0, -1))))
  return requests
}

/** Resolves when the room is taken: of a body that is announced, before any of it takes room itself. */
async function whenFull(): Promise<void> {
  await eventually(async () => {
    const request = slowly(bodyOf(LARGE))
    const answer = await Promise.race([request.response, Bun.sleep(200)])
    request.reset()
    return answer?.status === 503
  })
}

/** All of the room is free: as much as fits is taken at once. */
async function expectFree(): Promise<void> {
  await eventually(async () => {
    const statuses = await Promise.all([statusOf(LARGE), statusOf(LARGE)])
    return statuses.every((status) => status === 200)
  })
}

describe('JSON bodies that are being read', () => {
  test('beyond the room of the process are refused with 503 and Retry-After, small ones are taken', async () => {
    const [first, second] = await nearlySent(2)
    await whenFull()
    const refused = await agent.post(bodyOf(LARGE).toString())
    expect(refused.status).toBe(503)
    expect(refused.body).toMatchObject({ code: 'unavailable', statusCode: 503 })
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await statusOf(1_000)).toBe(200)
    for (const request of [first!, second!]) {
      await request.write(Buffer.from(' '))
      expect((await request.response)?.status).toBe(200)
      request.end()
    }
    await expectFree()
  })

  test.each([LARGE, MB / 8])('take no room before they are there: of %d bytes', async (bytes) => {
    const announced = Array.from({ length: 40 }, () => slowly(bodyOf(bytes)))
    for (let round = 0; round < 20; round++) expect(await statusOf(LARGE)).toBe(200)
    for (const request of announced) request.reset()
  })

  test('give their room back when they are refused, or cut off', async () => {
    for (let round = 0; round < 5; round++) {
      const answer = await agent.post(bodyOf(LARGE).fill('x', 0, 1).toString())
      expect(answer.body).toMatchObject({ code: 'malformed_json' })
    }
    for (const leave of ['reset', 'end'] as const) {
      const requests = await nearlySent(2)
      await whenFull()
      for (const request of requests) request[leave]()
      await expectFree()
    }
  })

  test('are small, and cut off: what was counted when they were announced is free again', async () => {
    for (const leave of ['reset', 'end'] as const) {
      const requests = Array.from({ length: 300 }, () => slowly(bodyOf(SMALL)))
      await whenFull()
      for (const request of requests) request[leave]()
      await expectFree()
    }
  })

  test('many at once: each is stored or told to come again, and all are stored in the end', async () => {
    const bodies = Array.from({ length: 40 }, () => bodyOf(LARGE).toString())
    const seen = new Set<number>()
    await Promise.all(
      bodies.map((body) =>
        eventually(async () => {
          const { status } = await agent.post(body)
          seen.add(status)
          return status === 200
        }),
      ),
    )
    expect([...seen].sort()).toEqual([200, 503])
  })
})

describe('the room', () => {
  const never = () => new Promise<never>(() => {})

  test('is counted over all requests, and free again when each is over, however it ends', async () => {
    const room = createBodyRoom(100)
    const held = Promise.withResolvers<void>()
    const first = room.share(async (share) => {
      share.take(40)
      share.take(20)
      await held.promise
      throw new Error('over')
    })
    const attempt = (bytes: number) => room.share(async (share) => share.take(bytes))
    await expect(attempt(41)).rejects.toMatchObject({ code: 'unavailable' })
    await attempt(40)
    held.resolve()
    await expect(first).rejects.toThrow('over')
    await attempt(100)
  })

  test('has place for one alone, however large', async () => {
    const room = createBodyRoom(100)
    await room.share(async (share) => share.take(1_000))
    void room.share(async (share) => {
      share.take(1)
      await never()
    })
    await expect(room.share(async (share) => share.take(1_000))).rejects.toMatchObject({
      code: 'unavailable',
    })
  })

  test('is looked at, and not taken, for what is only announced', async () => {
    const room = createBodyRoom(100)
    void room.share(async (share) => {
      share.foresee(100)
      await never()
    })
    await room.share(async (share) => share.take(100))
  })
})
