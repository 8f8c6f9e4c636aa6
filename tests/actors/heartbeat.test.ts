/**
 * A worker survives failing heartbeats, but a thread ends if its statements neither succeed nor fail. That defect of the driver
 * cannot be caused on demand, so here the connection is a function with controlled answers.
 */
import { expect, test } from 'bun:test'
import type { Context } from '../../src/actors/context.ts'
import { keepBeating } from '../../src/actors/heartbeat.ts'
import { DEFAULT_OPTIONS } from '../../src/actors/options.ts'
import { createRunningMark } from '../../src/actors/running.ts'
import type { Sql } from '../../src/platform/db/pool.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { eventually } from '../support/eventually.ts'

const OPTIONS = { ...DEFAULT_OPTIONS, heartbeatMs: 5, leaseMs: 20 }
/** Many more than a thread sends without an answer. */
const MANY = 40

function contextOf(answer: () => Promise<unknown>): Context {
  const sql = answer as unknown as Sql
  const log = createLog('silent', 'test')
  return {
    sql,
    log,
    worker: 'worker',
    options: OPTIONS,
    longTurns: new Map(),
    running: createRunningMark(),
  } as unknown as Context
}

test('a worker ends if its statements neither succeed nor fail any more', async () => {
  const stopping = new AbortController()
  let beats = 0
  const unanswered = () => {
    beats += 1
    return new Promise(() => {})
  }
  const ended = keepBeating(contextOf(unanswered), stopping.signal).catch((error: Error) => error.message)
  const wentOn = eventually(() => beats >= MANY).then(() => 'went on')
  expect(await Promise.race([ended, wentOn])).toMatch(/none of 8 heartbeats/)
  stopping.abort()
})

for (const [what, answer] of [
  ['fail', () => Promise.reject(new Error('the database is away'))],
  ['succeed late', () => Bun.sleep(3 * OPTIONS.heartbeatMs)],
] as const) {
  test(`a worker continues if its statements ${what}`, async () => {
    const stopping = new AbortController()
    let beats = 0
    const counted = () => {
      beats += 1
      return answer()
    }
    const beating = keepBeating(contextOf(counted), stopping.signal)
    await Promise.race([beating, eventually(() => beats >= MANY)])
    stopping.abort()
    await beating
    expect(beats).toBeGreaterThanOrEqual(MANY)
  })
}

test('a heartbeat that is under way when the worker stops ends before the worker does, which removes its row', async () => {
  const stopping = new AbortController()
  const [sent, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const beating = keepBeating(
    contextOf(() => {
      sent.resolve()
      return answer.promise
    }),
    stopping.signal,
  )
  await sent.promise
  stopping.abort()
  let hasEnded = false
  void beating.then(() => {
    hasEnded = true
  })
  await Bun.sleep(0)
  expect(hasEnded).toBe(false)
  answer.resolve()
  await beating
})
