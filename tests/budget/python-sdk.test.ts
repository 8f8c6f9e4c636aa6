/**
 * A call of the Python SDK delays the application by less than 1 ms (99th percentile), while the service answers nothing. Another
 * program on the machine can delay a call, so there are three attempts.
 */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { pythons, runPython } from '../support/python.ts'

setDefaultTimeout(300_000)

const MAX_P99_MS = 1
const ATTEMPTS = 3

test('a call takes less than 1 ms', async () => {
  const [python] = pythons()
  const measured: number[] = []
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { code, output, errors } = await runPython(python, ['tests/delay.py'])
    expect(code, errors).toBe(0)
    const { median, p99, max } = JSON.parse(output)
    console.log(
      `median ${median.toFixed(3)} ms, 99th percentile ${p99.toFixed(3)} ms, longest ${max.toFixed(3)} ms`,
    )
    measured.push(p99)
    if (p99 < MAX_P99_MS) break
  }
  expect(Math.min(...measured)).toBeLessThan(MAX_P99_MS)
})
