/** What is said about uploads on their way. */
import { describe, expect, test } from 'bun:test'
import { createDisplay, createRate, phaseLine, size, transferLine } from '../../src/cli/upload-progress.ts'

describe('the rate', () => {
  test('is that of the last ten seconds', () => {
    const rate = createRate()
    expect(rate.perSecond()).toBeNull()
    for (let second = 0; second <= 60; second++) rate.add(second * 1000, second * 1_000)
    expect(rate.perSecond()).toBe(1_000)
    for (let second = 61; second <= 70; second++) rate.add(second * 1000, 60_000 + (second - 60) * 5_000)
    expect(rate.perSecond()).toBe(5_000)
  })

  test('does not count bytes of an earlier run', () => {
    const rate = createRate()
    rate.add(0, 1_000_000)
    rate.add(2_000, 1_004_000)
    expect(rate.perSecond()).toBe(2_000)
  })

  test('starts over if an interruption lost bytes', () => {
    const rate = createRate()
    rate.add(0, 0)
    rate.add(1_000, 900_000)
    rate.add(2_000, 100_000)
    expect(rate.perSecond()).toBeNull()
    rate.add(3_000, 101_000)
    expect(rate.perSecond()).toBe(1_000)
  })

  test('keeps only a few samples', () => {
    const rate = createRate()
    for (let index = 0; index <= 100_000; index++) rate.add(index, index * 3)
    expect(rate.perSecond()).toBe(3_000)
  })
})

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1_000, '1.00 kB'],
  [999_499, '999 kB'],
  [999_500, '1.00 MB'],
  [12_345_678, '12.3 MB'],
  [6 * 1024 ** 3, '6.44 GB'],
  [Number.MAX_SAFE_INTEGER, '9.01 PB'],
])('%d bytes are %s', (bytes, text) => {
  expect(size(bytes)).toBe(text)
})

describe('the line', () => {
  test('has a bar, the part, both sizes, the rate and the time left', () => {
    expect(transferLine({ sent: 250_000_000, total: 1_000_000_000, rate: 10_000_000 })()).toBe(
      `[${'█'.repeat(7)}${'·'.repeat(23)}]  25 %   250 MB of 1.00 GB   10.0 MB/s   1 min 15 s left`,
    )
  })

  test.each([40, 60, 79, 200])('fits on a terminal of %d columns, with the time left to its end', (width) => {
    const line = transferLine({ sent: 250_000_000, total: 1_000_000_000, rate: 10_000_000 })(width)
    expect([...line].length).toBeLessThanOrEqual(width)
    if (width > 60) expect(line).toEndWith('10.0 MB/s   1 min 15 s left')
    expect(line).toContain('25 %')
  })

  test('omits unknown values', () => {
    expect(transferLine({ sent: 0, total: 10, rate: null })()).toEndWith('  0 %   0 B of 10 B')
    expect(transferLine({ sent: 0, total: 10, rate: 0 })()).toEndWith('0 B/s')
    expect(transferLine({ sent: 10, total: 10, rate: 5 })()).toEndWith('100 %   10 B of 10 B   5 B/s')
  })

  test('of a phase has a bar if its progress is known', () => {
    expect(phaseLine({ phase: 'processing', encodeProgress: null })()).toBe('processing')
    expect(phaseLine({ phase: 'encoding', encodeProgress: 50 })()).toBe(
      `encoding [${'█'.repeat(15)}${'·'.repeat(15)}]  50 %`,
    )
  })
})

describe('the display', () => {
  function open(isTTY: boolean) {
    const written: string[] = []
    const clock = { time: 0 }
    const terminal = { isTTY, write: (text: string) => written.push(text) }
    return { written, clock, display: createDisplay(terminal, () => clock.time) }
  }

  test('redraws in place on a terminal, at most ten times a second, and finally removes the line', () => {
    const { written, clock, display } = open(true)
    for (const time of [0, 50, 99, 100]) {
      clock.time = time
      display.show('a.mp4', () => '1 %')
    }
    display.say('a.mp4', 'ready')
    display.end()
    expect(written).toEqual(['\r\u001b[Ka.mp4  1 %', '\r\u001b[Ka.mp4  1 %', '\r\u001b[K', 'a.mp4: ready\n'])
  })

  test('truncates a line that would wrap, the long name first', () => {
    const written: string[] = []
    const terminal = { isTTY: true, columns: 40, write: (text: string) => written.push(text) }
    createDisplay(terminal, () => 0).show(`${'a'.repeat(30)}.mp4`, () => 'b'.repeat(30))
    expect(written).toEqual([`\r\u001b[K${'a'.repeat(23)}…  ${'b'.repeat(12)}…`])
  })

  test('prints a sentence every ten seconds without a terminal', () => {
    const { written, clock, display } = open(false)
    for (let second = 0; second <= 25; second++) {
      clock.time = second * 1000
      display.show('a.mp4', () => `[██·] ${second} %`)
    }
    expect(written).toEqual(['a.mp4: 10 %\n', 'a.mp4: 20 %\n'])
  })

  test('shows only the file in focus', () => {
    const { written, display } = open(true)
    display.focus('b.mp4')
    display.show('a.mp4', () => 'processing')
    display.show('b.mp4', () => '1 %')
    expect(written).toEqual(['\r\u001b[Kb.mp4  1 %'])
  })
})
