/** A recorder that hangs holds up no other work, not even of the same organization. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Busy, CircuitOpen, createCircuitBreaker } from '../../src/calls/meetings/circuit-breaker.ts'
import { QUICK } from '../support/actors.ts'
import { eventually } from '../support/eventually.ts'
import { joinMeeting, joinRow, RECORDER_ENV, startChecks } from '../support/meetings.ts'
import { createMemoryRecorder } from '../support/memory-recorder.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

describe('while the recorder hangs', () => {
  const recorder = createMemoryRecorder()
  let server: TestServer
  let checks: ReturnType<typeof startChecks>
  beforeAll(async () => {
    // Until the signal ends it: one minute, which is longer than this test.
    recorder.before = (_, signal) =>
      new Promise((__, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    const env = { ...RECORDER_ENV, RECORDER_TIMEOUT: '15' }
    server = await startTestServer({ env, recorder, actors: QUICK })
    checks = startChecks(server)
  })
  afterAll(async () => {
    await checks?.stop()
    await server?.stop()
  })

  test('20 joins wait, and the erasure of a person of the same organization is done', async () => {
    const { userToken, apiKey } = await server.createTenant()
    const client = server.as({ userToken })
    const joins = await Promise.all(Array.from({ length: 20 }, () => joinMeeting(client)))
    await eventually(() => (recorder.calls.join ?? 0) > 0)
    const key = server.as({ apiKey })
    const { id } = (await key.put('/v3/rest/people', { email: 'ada@example.com' })).body
    const erasure = (await key.delete(`/v3/rest/people/${id}`)).headers.get('location')
    await eventually(async () => (await key.get(erasure ?? '')).body.status === 'completed')
    // One request is under way; the other joins come back later.
    expect(recorder.calls.join).toBe(1)
    for (const one of joins) expect((await joinRow(server, one.id))?.status).toBe('joining')
  })
})

describe('the circuit breaker', () => {
  const reasonOf = (work: Promise<unknown>) => work.then(() => null).catch((error: unknown) => error)

  test('lets one in at a time, in order', async () => {
    const breaker = createCircuitBreaker()
    const order: number[] = []
    let inside = 0
    await Promise.all(
      [1, 2, 3].map((number) =>
        breaker.run(async () => {
          expect(++inside).toBe(1)
          await Promise.resolve()
          order.push(number)
          inside--
        }),
      ),
    )
    expect(order).toEqual([1, 2, 3])
  })

  test('sends those away who wait for too long, and goes on', async () => {
    const breaker = createCircuitBreaker({ timeoutMs: 10, slowMs: 10_000, pauseMs: 10 })
    const proceed = Promise.withResolvers<void>()
    const first = breaker.run(() => proceed.promise)
    expect(await reasonOf(breaker.run(async () => {}))).toBeInstanceOf(Busy)
    proceed.resolve()
    await first
    expect(await breaker.run(async () => 'in')).toBe('in')
  })

  test('pauses after a slow request, also one that failed', async () => {
    const breaker = createCircuitBreaker({ timeoutMs: 10, slowMs: -1, pauseMs: 60_000 })
    expect(await reasonOf(breaker.run(() => Promise.reject(new Error('late'))))).toEqual(new Error('late'))
    expect(await reasonOf(breaker.run(async () => {}))).toBeInstanceOf(CircuitOpen)
  })
})
