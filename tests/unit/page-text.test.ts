/** The JSON of an answer is the same whether it is sent as one text or in pieces. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { jsonOf } from '../../src/http/page-text.ts'

const textOf = (body: unknown) => new Response(jsonOf(body)).text()
const item = (length: number) => ({ text: 'ü'.repeat(length), quote: '"' })

describe('the JSON of an answer', () => {
  test('says the same as the value', async () => {
    const list = fc.record({
      data: fc.array(fc.jsonValue()),
      limit: fc.nat(),
      next_cursor: fc.option(fc.string()),
    })
    const values = fc.oneof(list, fc.record({ data: fc.array(fc.jsonValue()) }), fc.jsonValue())
    await fc.assert(
      fc.asyncProperty(values, async (value) => {
        expect(JSON.parse(await textOf(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  test.each([[0], [1], [3], [500]])('of a list of %d items is one text where it is short', (count) => {
    const body = { data: Array.from({ length: count }, () => item(100)), limit: 500 }
    expect(JSON.parse(jsonOf(body) as string)).toEqual(body)
  })

  test.each([
    ['many items', Array.from({ length: 5_000 }, () => item(1_000))],
    ['two large items', [item(2_000_000), item(2_000_000)]],
    ['a large item at the end', [item(1), item(2_000_000), item(1)]],
  ])('of a long list comes in pieces: %s', async (_, data) => {
    const body = { data, limit: 500, has_more: false, next_cursor: null }
    const json = jsonOf(body)
    expect(json).toBeInstanceOf(ReadableStream)
    const pieces = await Array.fromAsync(json as ReadableStream<Uint8Array>)
    expect(pieces.length).toBeGreaterThan(1)
    expect(JSON.parse(Buffer.concat(pieces).toString())).toEqual(body)
    // Of many items none is much longer than the first, which may be one text.
    if (data.length > 3) expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(3_000_000)
  })

  test('in pieces lets other work run between them', async () => {
    const body = { data: Array.from({ length: 20_000 }, () => item(1_000)), limit: 1 }
    let turns = 0
    const count = () => {
      turns++
      timer = setImmediate(count)
    }
    let timer = setImmediate(count)
    const pieces = await Array.fromAsync(jsonOf(body) as ReadableStream<Uint8Array>)
    clearImmediate(timer)
    expect(turns).toBeGreaterThanOrEqual(pieces.length / 2)
  })
})
