/** The line that says how far a long command is. */
import { describe, expect, test } from 'bun:test'
import { createProgress, progressLine } from '../../src/cli/progress.ts'

describe('the progress line', () => {
  test('has a bar, the part, rows, the rate and the time left', () => {
    expect(progressLine({ done: 25, total: 100, rows: 50_000, seconds: 2 })).toBe(
      `[${'█'.repeat(7)}${'·'.repeat(23)}]  25 %   50,000 rows   25,000 rows/s   6 s left`,
    )
  })

  test.each([
    [{ done: 0, total: 100, rows: 0, seconds: 0 }, '  0 %   0 rows   0 rows/s'],
    [{ done: 1, total: 100, rows: 1, seconds: 10 }, '16 min 30 s left'],
    [{ done: 1, total: 1000, rows: 1, seconds: 10 }, '2 h 46 min left'],
    [{ done: 0, total: 0, rows: 0, seconds: 1 }, '100 %'],
    [{ done: 110, total: 100, rows: 9, seconds: 1 }, '100 %'],
  ])('%j', (state, text) => {
    expect(progressLine(state)).toContain(text)
  })
})

describe('progress', () => {
  function draw(isTTY: boolean, times: readonly number[]) {
    const written: string[] = []
    let time = 1000
    const progress = createProgress({ isTTY, write: (text) => written.push(text) }, () => time)
    for (const at of times) {
      time = 1000 + at
      progress.update({ done: 1, total: 2, rows: 1 })
    }
    progress.end()
    return written
  }

  test('is redrawn in place, at most ten times a second, and finally removed', () => {
    const written = draw(true, [0, 50, 99, 100, 150, 250])
    expect(written).toHaveLength(4)
    for (const text of written) expect(text).toStartWith('\r\u001b[K')
    expect(written.at(-1)).toBe('\r\u001b[K')
  })

  test('without a terminal prints a line every ten seconds, without a bar', () => {
    expect(draw(false, [0, 200, 9_999, 10_000, 15_000, 20_000])).toEqual([
      'earshot: 50 %   1 rows   0 rows/s   10 s left\n',
      'earshot: 50 %   1 rows   0 rows/s   20 s left\n',
    ])
  })

  test.each([20, 50, 80, 120])('never fills a terminal of %d columns', (columns) => {
    const written: string[] = []
    let time = 0
    const terminal = { isTTY: true, columns, write: (text: string) => written.push(text) }
    const progress = createProgress(terminal, () => time)
    time = 123_000
    progress.update({ done: 12, total: 1000, rows: 1_234_567 })
    const line = (written[0] ?? '').replace('\r\u001b[K', '')
    expect([...line].length).toBeLessThan(columns)
    if (columns >= 80) expect(line).toEndWith(' left')
  })
})
