/** Many JSON bodies at once, large or slow: the memory for them is bounded, and no caller takes the share of another. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createBodyBudget } from '../../src/http/body-budget.ts'
import { type Agent, INGEST, openAgent, userMessage } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { openRequest, type RawRequest } from '../support/raw-request.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

setDefaultTimeout(300_000)

const MB = 1024 * 1024
/** One caller has room for two, and all callers together for three. */
const LARGE = 1.2 * MB
/** Read in one call. */
const SMALL = 15 * 1024
const TIMEOUT_SECONDS = 4
/** For many large bodies one after another. */
const PATIENT = { deadlineMs: 100_000, everyMs: 100 }

let server: TestServer
let agent: Agent
/** Of another organization. */
let neighbour: Agent
beforeAll(async () => {
  server = await startTestServer({ env: { MAX_BODIES_MB: '5', BODY_TIMEOUT: String(TIMEOUT_SECONDS) } })
  agent = await openAgent(server)
  neighbour = await openAgent(server)
})
afterAll(() => server.stop())

/** A request of so many bytes, for a session of its own. White space at the end counts for the body and for nothing else. */
function bodyOf(bytes: number, sender = agent): Buffer {
  const text = JSON.stringify(sender.request([userMessage(1)], { externalSessionId: crypto.randomUUID() }))
  return Buffer.from(text.padEnd(bytes, ' '))
}

const statusOf = async (bytes: number, sender = agent) =>
  (await sender.post(bodyOf(bytes, sender).toString())).status

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

/** Resolves when the caller's share is taken: a body is refused as soon as it is announced. */
async function whenFull(): Promise<void> {
  await eventually(async () => {
    const request = slowly(bodyOf(LARGE))
    const answer = await Promise.race([request.response, Bun.sleep(200)])
    request.reset()
    return answer?.status === 503
  })
}

/** All of the share is free: as much as fits is taken at once. */
async function expectFree(): Promise<void> {
  await eventually(async () => {
    const statuses = await Promise.all([statusOf(LARGE), statusOf(LARGE)])
    return statuses.every((status) => status === 200)
  })
}

describe('JSON bodies in flight', () => {
  test('beyond the budget of the process are refused with 503 and Retry-After; small ones are accepted', async () => {
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

  test.each([LARGE, MB / 8])('of %d bytes use no budget before they arrive', async (bytes) => {
    const announced = Array.from({ length: 40 }, () => slowly(bodyOf(bytes)))
    for (let round = 0; round < 20; round++) expect(await statusOf(LARGE)).toBe(200)
    for (const request of announced) request.reset()
  })

  test('release their budget when refused or interrupted', async () => {
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

  test('of one caller leave half of the budget to others', async () => {
    const requests = await nearlySent(2)
    await whenFull()
    expect(await statusOf(LARGE, neighbour)).toBe(200)
    for (const request of requests) request.reset()
    await expectFree()
  })

  test('are refused with 408 if incomplete at the deadline', async () => {
    const begun = performance.now()
    const requests = [slowly(bodyOf(SMALL)), slowly(bodyOf(LARGE))]
    const dripping = setInterval(() => {
      for (const request of requests) void request.write(Buffer.from('{'))
    }, 500)
    for (const request of requests) {
      const answer = await request.response
      expect([answer?.status, JSON.parse(answer?.body ?? '{}').code]).toEqual([408, 'body_too_slow'])
    }
    clearInterval(dripping)
    expect(performance.now() - begun).toBeGreaterThan(TIMEOUT_SECONDS * 1000 - 100)
    for (const request of requests) request.reset()
  })

  test('many small and slow ones block no other caller, and their own caller only for a while', async () => {
    const requests = Array.from({ length: 700 }, () => slowly(bodyOf(SMALL)))
    await Promise.all(requests.map((request) => request.write(Buffer.from('{'))))
    // The service notices only after a second that they are slow.
    await whenFull()
    for (let round = 0; round < 10; round++) {
      expect(await statusOf(1_000, neighbour)).toBe(200)
      expect(await statusOf(LARGE, neighbour)).toBe(200)
    }
    await expectFree()
    for (const request of requests) request.reset()
  })

  test('many at once are stored or told to retry, and all are stored in the end', async () => {
    const bodies = Array.from({ length: 16 }, () => bodyOf(LARGE).toString())
    const seen = new Set<number>()
    await Promise.all(
      bodies.map((body) =>
        eventually(async () => {
          const { status } = await agent.post(body)
          seen.add(status)
          return status === 200
        }, PATIENT),
      ),
    )
    expect([...seen].sort()).toEqual([200, 503])
  })
})

describe('the budget', () => {
  const never = () => new Promise<never>(() => {})
  const budgetOf = (maxBytes: number) => createBodyBudget({ maxBytes, deadlineMs: 60_000 })

  test('is shared by all requests and released when each ends, however it ends', async () => {
    const budget = budgetOf(100)
    const held = Promise.withResolvers<void>()
    const first = budget.lease('a', async (lease) => {
      lease.take(40)
      lease.take(20)
      await held.promise
      throw new Error('over')
    })
    const attempt = (bytes: number) => budget.lease('b', async (lease) => lease.take(bytes))
    await expect(attempt(41)).rejects.toMatchObject({ code: 'unavailable' })
    await attempt(40)
    held.resolve()
    await expect(first).rejects.toThrow('over')
    await attempt(100)
  })

  test('admits a single request of any size', async () => {
    const budget = budgetOf(100)
    await budget.lease('a', async (lease) => lease.take(1_000))
    void budget.lease('a', async (lease) => {
      lease.take(1)
      await never()
    })
    await expect(budget.lease('a', async (lease) => lease.take(1_000))).rejects.toMatchObject({
      code: 'unavailable',
    })
  })

  test('is checked but not taken for an announced length', async () => {
    const budget = budgetOf(100)
    void budget.lease('a', async (lease) => {
      lease.check(100)
      await never()
    })
    await budget.lease('a', async (lease) => lease.take(100))
  })

  test.each([
    [1, 50],
    [2, 33],
    [3, 25],
  ])('leaves with %d greedy callers as much free as one of them holds', async (callers, share) => {
    const budget = budgetOf(100)
    const held = Array.from({ length: callers }, () => 0)
    const takeOne = (caller: number) =>
      new Promise<boolean>((resolve) => {
        budget
          .lease(`caller ${caller}`, async (lease) => {
            lease.take(1)
            resolve(true)
            await never()
          })
          .catch(() => resolve(false))
      })
    for (let round = 0; round < 100; round++)
      for (let caller = 0; caller < callers; caller++) if (await takeOne(caller)) held[caller]! += 1
    for (const bytes of held) expect(Math.abs(bytes - share)).toBeLessThanOrEqual(1)
    await budget.lease('quiet', async (lease) => lease.take(share - 2))
  })
})
