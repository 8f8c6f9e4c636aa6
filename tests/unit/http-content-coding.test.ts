/** Which coding an answer gets, and how a body is coded (RFC 9110, sections 8.4.1 and 12.5.3). */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  CODINGS,
  chooseCoding,
  codingOfBody,
  gzipLayers,
} from '../../src/platform/net/content-coding.rules.ts'

describe('chooseCoding', () => {
  test.each([
    [null, null],
    ['', null],
    ['gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['gzip, deflate, br, zstd', 'zstd'],
    ['gzip, deflate, br', 'br'],
    ['deflate', null],
    ['identity', null],
    ['*', 'zstd'],
    ['*;q=0', null],
    ['br;q=0, *', 'zstd'],
    ['zstd;q=0, *', 'br'],
    ['zstd;q=0.2, br;q=0.3, gzip;q=0.9', 'gzip'],
    ['gzip;q=0', null],
    ['gzip;q=0.000', null],
    ['gzip;q=0.001', 'gzip'],
    ['GZIP ; Q=1.000', 'gzip'],
    ['gzip;q=0.5, identity', null],
    ['gzip;q=0.5, identity;q=0.5', 'gzip'],
    ['gzip;q=2', null],
    ['gzip;q=', null],
    ['gzip;level=9', null],
    [', ,gzip,', 'gzip'],
    ['identity;q=0', null],
  ])('%j → %j', (header, coding) => {
    expect(chooseCoding(header)).toBe(coding as never)
  })

  const weight = fc.integer({ min: 0, max: 1000 }).map((n) => n / 1000)
  const header = fc.dictionary(fc.constantFrom(...CODINGS, 'deflate', 'identity', '*'), weight)

  test('never picks a refused coding or one with a lower q-value than another or than identity', () => {
    fc.assert(
      fc.property(header, (weights) => {
        const text = Object.entries(weights)
          .map(([name, q]) => `${name};q=${q}`)
          .join(', ')
        const weightOf = (name: string) => weights[name] ?? weights['*'] ?? 0
        const chosen = chooseCoding(text)
        const best = Math.max(...CODINGS.map(weightOf))
        if (chosen === null) return best === 0 || best < (weights.identity ?? 0)
        return weightOf(chosen) === best && best > 0 && best >= (weights.identity ?? 0)
      }),
    )
  })

  test('any text is parsed without an error', () => {
    fc.assert(fc.property(fc.string(), (text) => [...CODINGS, null].includes(chooseCoding(text))))
  })
})

describe('codingOfBody', () => {
  test.each([
    [null, null],
    ['', null],
    ['identity', null],
    ['gzip', 'gzip'],
    [' X-GZIP ', 'gzip'],
    ['br', 'unknown'],
    ['zstd', 'unknown'],
    ['deflate', 'unknown'],
    ['gzip, gzip', 'unknown'],
  ])('%j → %j', (header, coding) => {
    expect(codingOfBody(header)).toBe(coding as never)
  })
})

describe('an answer with', () => {
  test.each([
    [null, 0],
    ['', 0],
    ['identity', 0],
    ['aws-chunked', 0],
    ['utf-8', 0],
    ['gzipped', 0],
    ['gzip', 1],
    [' X-GZip ', 1],
    ['aws-chunked,gzip', 1],
    ['gzip, gzip', 2],
    ['gzip, gzip, gzip, gzip', 2],
  ])('Content-Encoding %p has at most %d layers of gzip', (header, expected) => {
    expect(gzipLayers(header)).toBe(expected)
  })
})
