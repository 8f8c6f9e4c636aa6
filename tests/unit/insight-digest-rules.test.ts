/** The rules of counts and summaries: which days a period has, and what grew or fell. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { daysBefore, daysOf, daysOfDigest } from '../../src/understand/counts/counts.rules.ts'
import { changesOf, pairsOf } from '../../src/understand/counts/digest/digest.rules.ts'

const NOW = new Date('2026-03-10T15:00:00Z')

describe('days', () => {
  test.each([
    [{}, '2026-02-09', '2026-03-11'],
    [
      { since: '2026-03-01T23:59:59.999999Z', until: '2026-03-02T00:00:00.000000Z' },
      '2026-03-01',
      '2026-03-02',
    ],
    [{ since: '2026-03-01T00:00:00Z', until: '2026-03-02T00:00:00.000001Z' }, '2026-03-01', '2026-03-03'],
    [{ until: '2026-03-31T00:00:00Z' }, '2026-03-01', '2026-03-31'],
  ])('of %j are whole', (period, from, to) => {
    expect(daysOf(period, NOW, 'UTC')).toEqual({ timeZone: 'UTC', from, to })
  })

  test.each([
    // Today is the 11th there.
    ['Pacific/Auckland', {}, '2026-02-10', '2026-03-12'],
    // The 2nd begins at 5:00 UTC.
    [
      'America/New_York',
      { since: '2026-03-02T04:59:59Z', until: '2026-03-03T05:00:00Z' },
      '2026-03-01',
      '2026-03-03',
    ],
    [
      'America/New_York',
      { since: '2026-03-02T05:00:00Z', until: '2026-03-03T05:00:01Z' },
      '2026-03-02',
      '2026-03-04',
    ],
    // A summer day has begun at 22:00 UTC.
    [
      'Europe/Berlin',
      { since: '2026-07-01T22:00:00Z', until: '2026-07-02T22:00:00Z' },
      '2026-07-02',
      '2026-07-03',
    ],
  ])('in %s of %j are those of its clocks', (timeZone, period, from, to) => {
    expect(daysOf(period, NOW, timeZone)).toEqual({ timeZone, from, to })
  })

  test('of a summary are the last seven that are over', () => {
    const week = { timeZone: 'UTC', from: '2026-03-03', to: '2026-03-10' }
    expect(daysOfDigest({}, NOW, 'UTC')).toEqual(week)
    expect(daysBefore(week)).toEqual({
      timeZone: 'UTC',
      from: '2026-02-24',
      to: '2026-03-03',
    })
  })

  test.each([
    [{ since: '2026-03-05T00:00:00Z', until: '2026-03-05T00:00:00Z' }],
    [{ since: '2025-03-01T00:00:00Z', until: '2026-03-05T00:00:00Z' }],
    [{ since: '0001-01-01T00:00:00Z', until: '0001-01-09T00:00:00Z' }],
    [{ until: '0001-01-01T00:00:00Z' }],
  ])('of %j are refused', (period) => {
    expect(() => daysOfDigest(period, NOW, 'UTC')).toThrow('since')
  })
})

describe('what grew and fell', () => {
  const pairs = (...all: [string, number, number][]) =>
    all.map(([name, count, before]) => ({ name, count, before }))

  test('is what changed by more than chance, the largest change first', () => {
    const { grew, fell } = changesOf(
      pairs(
        ['one more', 1, 0],
        ['a', 30, 10],
        ['noise', 104, 100],
        ['b', 90, 40],
        ['c', 2, 20],
        ['d', 0, 5],
        ['new', 3, 0],
      ),
    )
    expect(grew.map(({ name }) => name)).toEqual(['b', 'a', 'new'])
    expect(fell.map(({ name }) => name)).toEqual(['c', 'd'])
  })

  test('has each name of both periods, and at most five of each', () => {
    const name = fc.option(fc.constantFrom(...'abcdefghijklmn'), { nil: null })
    const counts = fc.dictionary(fc.constantFrom(...'abcdefghijklmn'), fc.nat(1_000))
    fc.assert(
      fc.property(counts, counts, name, (now, before, other) => {
        const all = pairsOf(new Map([...Object.entries(now), [other, 3]]), new Map(Object.entries(before)))
        const names = new Set([
          ...Object.keys(now),
          ...Object.keys(before),
          ...(other === null ? [] : [other]),
        ])
        expect(new Set(all.map((pair) => pair.name))).toEqual(names)
        const { grew, fell } = changesOf(all)
        expect(grew.length).toBeLessThanOrEqual(5)
        expect(fell.length).toBeLessThanOrEqual(5)
        for (const pair of grew) expect(pair.count).toBeGreaterThan(pair.before)
        for (const pair of fell) expect(pair.count).toBeLessThan(pair.before)
      }),
    )
  })
})
