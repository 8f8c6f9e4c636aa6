import { describe, expect, test } from 'bun:test'
import { resolvesWithin, withTimeout } from '../../src/platform/concurrency/timeout.ts'

const LONG_MS = 60_000
const never = () => new Promise<never>(() => {})
const late = () => new Error('too late')
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => 'no failure',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )

describe('withTimeout', () => {
  test('passes on the value of work that ends in time', async () => {
    expect(await withTimeout(Promise.resolve(7), LONG_MS, late)).toBe(7)
  })

  test('passes on the error of work that fails in time', async () => {
    expect(await failureOf(withTimeout(Promise.reject(new Error('broken')), LONG_MS, late))).toBe('broken')
  })

  test('rejects with the given error when the work takes longer', async () => {
    expect(await failureOf(withTimeout(never(), 1, late))).toBe('too late')
  })

  test('work that fails after the time limit is not an unhandled rejection', async () => {
    const work = Promise.withResolvers<never>()
    const unhandled: unknown[] = []
    const note = (error: unknown) => void unhandled.push(error)
    process.on('unhandledRejection', note)
    expect(await failureOf(withTimeout(work.promise, 1, late))).toBe('too late')
    work.reject(new Error('failed later'))
    await Bun.sleep(0)
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })
})

describe('resolvesWithin', () => {
  test('is true for work that ends in time', async () => {
    expect(await resolvesWithin(Promise.resolve(), LONG_MS)).toBe(true)
  })

  test('is false for work that takes longer', async () => {
    expect(await resolvesWithin(never(), 1)).toBe(false)
  })

  test('passes on the error of work that fails in time', async () => {
    expect(await failureOf(resolvesWithin(Promise.reject(new Error('broken')), LONG_MS))).toBe('broken')
  })
})
