/** The parts of a request body: those of a large one stay apart, so that a work thread joins them, unless they are many. */
import { expect, test } from 'bun:test'
import { createBodyBudget } from '../../src/http/body-budget.ts'
import { readParts } from '../../src/http/read-body.ts'

const MIB = 1024 * 1024

function requestOf(count: number, bytes: number): Request {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let index = 0; index < count; index++) controller.enqueue(new Uint8Array(bytes).fill(index))
      controller.close()
    },
  })
  return new Request('http://localhost/', { method: 'POST', body })
}

test.each([
  ['a large body stays in parts', 10, 100_000, 10],
  ['a small body is joined', 10, 1_000, 1],
  ['a large body of many small parts is joined', 5_000, 200, 1],
])('%s', async (_, count, bytes, parts) => {
  const budget = createBodyBudget({ maxBytes: 8 * MIB, deadlineMs: 60_000 })
  const read = await budget.lease('a', (lease) => readParts(requestOf(count, bytes), 2 * MIB, lease))
  expect(read).toHaveLength(parts)
  const expected = Array.from({ length: count }, (_, index) => new Uint8Array(bytes).fill(index))
  expect(Buffer.concat(read).equals(Buffer.concat(expected))).toBe(true)
})
