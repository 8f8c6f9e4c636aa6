/** Redaction by name in texts that contain JSON, such as the arguments of a tool call. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { compileRedaction, REDACTED } from '../../src/hear/agents/events/redaction.ts'

const redactor = compileRedaction({ redactedFields: ['password', 'pin'], redactedPatterns: [] })
const nested = (value: unknown, levels: number): string =>
  levels === 0 ? JSON.stringify(value) : JSON.stringify({ arguments: nested(value, levels - 1) })

describe('redacted names in a text', () => {
  test.each([
    ['{"password":"hunter2"}', '{"password":"[redacted]"}'],
    ['{ "Password" : "hunter2", "user": "ann" }', '{ "Password" : "[redacted]", "user": "ann" }'],
    ['{"password":"a\\"b\\\\","user":"ann"}', '{"password":"[redacted]","user":"ann"}'],
    ['{"password":12.5,"pin":null}', '{"password":"[redacted]","pin":"[redacted]"}'],
    ['{"password":{"a":["}",{}]},"b":1}', '{"password":"[redacted]","b":1}'],
    ['[{"pin":[1,[2]]},{"pin":true}]', '[{"pin":"[redacted]"},{"pin":"[redacted]"}]'],
    ['{"pass\\u0077ord":"hunter2"}', '{"pass\\u0077ord":"[redacted]"}'],
    // Cut off, as the arguments of a call that is still being written are.
    ['{"password":"hunt', '{"password":"[redacted]"'],
    ['{"password":{"a":"hunter2"', '{"password":"[redacted]"'],
    // Between other words.
    [
      '5" pipe. Calling login({"password": "hunter2"}) now',
      '5" pipe. Calling login({"password": "[redacted]"}) now',
    ],
    ['"password": hunter2, or not', '"password": "[redacted]", or not'],
    // Nothing to redact.
    ['{"passwords":"a","my password":"b"}', '{"passwords":"a","my password":"b"}'],
    ['the "password" is a word', 'the "password" is a word'],
    ['{"password":', '{"password":'],
    ['password: hunter2', 'password: hunter2'],
  ])('%p becomes %p', (text, expected) => {
    expect(redactor.text(text)).toBe(expected)
  })

  test.each([0, 1, 2, 3])('are found in JSON of %d levels of strings, which stays JSON', (levels) => {
    const value = { user: 'ann', password: 'hunter2 \\"', pin: { a: ['x"}', 1] }, rest: 'a"b' }
    const expected = { ...value, password: REDACTED, pin: REDACTED }
    expect(redactor.text(nested(value, levels))).toBe(nested(expected, levels))
  })

  test('are found in the contents of an event', () => {
    const value = { tool: 'login', arguments: '{"password":"hunter2","user":"ann"}' }
    expect(redactor.value(value)).toEqual({
      tool: 'login',
      arguments: '{"password":"[redacted]","user":"ann"}',
    })
  })

  test('lose their value in any JSON, and the rest of the JSON stays', () => {
    const name = fc.constantFrom('password', 'pin', 'user', 'note', 'a b')
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        fc.string({ unit: fc.constantFrom('a', '"', '\\', ':', '{', ' ', 'é', '\n') }),
        fc.integer(),
        fc.constant(null),
        fc.array(tie('any'), { maxLength: 3 }),
        fc.dictionary(name, tie('any'), { maxKeys: 4 }),
      ),
    })).any
    const redacted = (one: unknown): unknown => {
      if (Array.isArray(one)) return one.map(redacted)
      if (typeof one !== 'object' || one === null) return one
      return Object.fromEntries(
        Object.entries(one).map(([key, member]) => [
          key,
          ['password', 'pin'].includes(key) ? REDACTED : redacted(member),
        ]),
      )
    }
    fc.assert(
      fc.property(value, fc.integer({ min: 0, max: 3 }), (input, levels) => {
        expect(redactor.text(nested({ input }, levels))).toBe(nested({ input: redacted(input) }, levels))
      }),
      { numRuns: 2_000 },
    )
  })

  test('cost work in proportion to the length of the text', () => {
    const hostile = ['"', '\\', '"password":', '{"password":[', '\\"', '"a":', ' ', '"password":"\\"']
    for (const unit of hostile) expect(redactor.text(unit.repeat(200_000))).toBeString()
  })
})
