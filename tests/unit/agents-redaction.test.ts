import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { compileRedaction, invalidPatterns, REDACTED } from '../../src/agents/events/redaction.ts'

const redactor = (redactedFields: string[], redactedPatterns: string[] = []) =>
  compileRedaction({ redactedFields, redactedPatterns })

describe('redacted text patterns', () => {
  test.each([
    [['\\d{4}'], 'pin 1234 and 5678', 'pin [redacted] and [redacted]'],
    [['secret'], 'no match', 'no match'],
    [['secret'], '', ''],
    [['(?i)secret'], 'SECRET', '[redacted]'],
    [['^a'], 'aaa', '[redacted]aa'],
    [['a$'], 'aaa', 'aa[redacted]'],
    [['x*'], 'axxb', 'a[redacted]b'],
    [['.'], 'a😀', '[redacted]'],
    [['😀'], 'a😀b', 'a[redacted]b'],
    [['a(b)c'], 'abc$1', '[redacted]$1'],
  ])('%j turns %j into %j', (patterns, text, expected) => {
    expect(redactor([], patterns).text(text)).toBe(expected)
  })

  test('overlapping and adjacent matches of several patterns become one', () => {
    expect(redactor([], ['abc', 'bcd', 'ef']).text('xabcdefx')).toBe('x[redacted]x')
    expect(redactor([], ['abcdef', 'cd']).text('xabcdefx')).toBe('x[redacted]x')
  })

  test('the order of the patterns does not matter, and no pattern sees a replacement', () => {
    const text = 'card 4111 redacted'
    expect(redactor([], ['\\d+', 'redacted']).text(text)).toBe('card [redacted] [redacted]')
    expect(redactor([], ['redacted', '\\d+']).text(text)).toBe('card [redacted] [redacted]')
  })

  test('a pattern that makes a backtracking engine run for ever ends', () => {
    expect(redactor([], ['(a+)+$']).text(`${'a'.repeat(50_000)}b`)).toHaveLength(50_001)
  })

  test('a text is changed exactly where a pattern has a match that is not empty', () => {
    const piece = fc.constantFrom('a', 'b', '[ab]', '\\d', '\\b', '^', '$', '.', 'ab|ba', '(a|b)', '\\s')
    const pattern = fc
      .array(fc.tuple(piece, fc.constantFrom('', '*', '+', '?', '{2}')), { minLength: 1, maxLength: 4 })
      .map((pieces) => pieces.map(([text, repeat]) => `(?:${text})${repeat}`).join(''))
    const text = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '1', '\n'), maxLength: 12 })
    fc.assert(
      fc.property(pattern, text, (source, input) => {
        // For these pieces and letters ECMAScript finds the same matches.
        const found = [...input.matchAll(new RegExp(source, 'g'))].some((match) => match[0] !== '')
        expect(redactor([], [source]).text(input) !== input).toBe(found)
      }),
      { numRuns: 500 },
    )
  })
})

describe('redacted field names', () => {
  test('the whole value goes, at any depth and in any case of the name', () => {
    const value = { user: { Password: { hash: [1, 2] }, name: 'a' }, list: [{ PASSWORD: 1 }] }
    expect(redactor(['password']).value(value)).toEqual({
      user: { Password: REDACTED, name: 'a' },
      list: [{ PASSWORD: REDACTED }],
    })
  })

  test('a field name is no text pattern', () => {
    expect(redactor(['password']).value({ text: 'password', passwords: 1 })).toEqual({
      text: 'password',
      passwords: 1,
    })
  })
})

describe('the work of redaction', () => {
  test('grows with the number of names in an object, and not with the number of names that become equal', () => {
    const names = Array.from({ length: 200_000 }, (_, index) => [String(1_000_000 + index), index])
    const result = redactor([], ['\\d{4,}']).value(Object.fromEntries(names)) as object
    expect(Object.keys(result)).toHaveLength(200_000)
    expect(Object.keys(result)).toContain(`${REDACTED} 200000`)
  })

  test('is counted, and ends when the counter throws', () => {
    const units = (patterns: string[], text: string) => {
      let spent = 0
      redactor([], patterns)
        .within((more) => {
          spent += more
        })
        .text(text)
      return spent
    }
    const text = 'word '.repeat(20_000)
    expect(units(['\\d'], text)).toBeGreaterThanOrEqual(text.length)
    expect(units(['\\d', '[0-4]'], text)).toBeGreaterThanOrEqual(2 * text.length)
    const ended = redactor([], ['\\d']).within(() => {
      throw new Error('enough')
    })
    expect(() => ended.value({ a: [text] })).toThrow('enough')
  })
})

describe('redaction of any JSON', () => {
  test('without rules every value comes back as it is', () => {
    const value = { a: ['b'] }
    const none = redactor([])
    expect(none.isIdentity).toBe(true)
    expect(none.value(value)).toBe(value)
  })

  test('member names are redacted, and members that would collide are all kept', () => {
    const value = { 'key 11': 'a', 'key 22': 'b', 'key [redacted]': 'c', other: 'd' }
    expect(redactor([], ['\\d+']).value(value)).toEqual({
      'key [redacted]': 'c',
      'key [redacted] 2': 'a',
      'key [redacted] 3': 'b',
      other: 'd',
    })
  })

  test('the new name of a redacted member does not depend on the order of members', () => {
    const rules = redactor([], ['\\d+'])
    expect(rules.value({ a1: 'one', a2: 'two' })).toEqual(rules.value({ a2: 'two', a1: 'one' }))
  })

  test('a number counts as its decimal text; true, false and null are kept', () => {
    expect(redactor([], ['4111']).value([41112, 5, true, false, null])).toEqual([
      REDACTED,
      5,
      true,
      false,
      null,
    ])
  })

  test('a member called __proto__ is data', () => {
    const value: unknown = JSON.parse('{"__proto__":{"secret":"x"},"a":1}')
    expect(JSON.stringify(redactor(['secret']).value(value))).toBe(
      '{"__proto__":{"secret":"[redacted]"},"a":1}',
    )
  })

  test('values that are nested too deeply are redacted as a whole', () => {
    let value: unknown = 'canary'
    for (let depth = 0; depth < 20_000; depth++) value = [value]
    let walked = redactor([], ['x']).value(value)
    let levels = 0
    for (; Array.isArray(walked); levels++) walked = walked[0]
    expect(walked).toBe(REDACTED)
    expect(levels).toBeLessThan(200)
  })

  test('a canary never survives in any place', () => {
    const canary = 'CANARY-4711'
    const withCanary = fc.oneof(
      fc.string().map((text) => `${text}${canary}${text}`),
      fc.constant(canary),
    )
    const tree = fc.letrec<{ node: unknown }>((tie) => ({
      node: fc.oneof(
        { maxDepth: 5 },
        withCanary,
        fc.jsonValue(),
        fc.array(tie('node'), { maxLength: 4 }),
        fc.dictionary(fc.oneof(fc.string(), withCanary), tie('node'), { maxKeys: 4 }),
      ),
    }))
    fc.assert(
      fc.property(tree.node, (value) => {
        const before = JSON.stringify(value)
        const after = JSON.stringify(redactor([], ['CANARY-\\d+']).value(value))
        expect(after).not.toContain(canary)
        if (!before.includes(canary)) expect(after).toBe(before)
      }),
    )
  })

  test('redacting twice changes nothing more', () => {
    const rules = redactor(['a'], ['\\d+'])
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const once = rules.value(value)
        // A counter after a colliding name is a number too.
        fc.pre(!JSON.stringify(once).includes('[redacted] 2'))
        expect(rules.value(once)).toEqual(once)
      }),
    )
  })
})

describe('patterns in settings', () => {
  test('an RE2 pattern is accepted', () => {
    expect(invalidPatterns(['\\d{4}', '(?i)abc', '\\p{Lu}'])).toEqual([])
  })

  test.each(['[a-z', '(', '(?<=a)b', '(a)\\1', 'a{1001}', '(?:a{30}){30}', '*'])(
    '%j is refused and named by its index',
    (pattern) => {
      expect(invalidPatterns(['fine', pattern])).toMatchObject([
        { path: 'redactedPatterns[1]', code: 'pattern' },
      ])
    },
  )
})
