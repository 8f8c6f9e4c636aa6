import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { compileRedaction, invalidPatterns, REDACTED } from '../../src/hear/agents/events/redaction.ts'
import { createPattern, formsOf } from '../../src/hear/agents/events/redaction-patterns.ts'

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

describe('the normal form', () => {
  test.each([
    // Full width, ligatures, half-width kana.
    ['\\d{4}', 'pin １２３４!', 'pin [redacted]!'],
    ['[A-Z]{2}\\d{6}', 'id ＡＢ１２３４５６.', 'id [redacted].'],
    ['Falcon', 'x Ｆａｌｃｏｎ x', 'x [redacted] x'],
    ['office', 'an oﬃce', 'an [redacted]'],
    ['ガンダム', 'xｶﾞﾝﾀﾞﾑx', 'x[redacted]x'],
    ['ｶﾞﾝﾀﾞﾑ', 'xガンダムx', 'x[redacted]x'],
    ['：ok', 'a:ok', 'a[redacted]'],
    // Case.
    ['Falcon', 'FALCON falcon', '[redacted] [redacted]'],
    ['straße', 'STRASSE Strasse', '[redacted] [redacted]'],
    ['ΟΔΟΣ', 'οδος', '[redacted]'],
    ['ПРОЕКТ', 'проект', '[redacted]'],
    // Accents, composed and not.
    ['Müller', 'Mu\u0308ller, MÜLLER, Muller', '[redacted], [redacted], [redacted]'],
    ['Mu\u0308ller', 'Müller', '[redacted]'],
    ['Muller', 'Müller', '[redacted]'],
    ['Ørsted', 'orsted', '[redacted]'],
    ['[éè]t[éè]', 'e\u0301te\u0301 ete', '[redacted] [redacted]'],
    // Korean, composed and not.
    ['비밀', `그 ${'비밀번호'.normalize('NFD')} 는`, `그 [redacted]${'번호'.normalize('NFD')} 는`],
    ['비밀'.normalize('NFD'), '그비밀번호', '그[redacted]번호'],
    ['한글', `x${'한글'.normalize('NFD')}`, 'x[redacted]'],
    // What is not seen.
    ['secret', 'se\u200bcr\u00adet', '[redacted]'],
    ['pass word', 'pass\u00a0word', '[redacted]'],
    // A repetition means the last letter.
    ['Noé+', 'NOÉÉÉ n', '[redacted] n'],
    ['ab{2}c', 'ABBC ABABC', '[redacted] ABABC'],
    ['\\QA+é\\E+', 'xa+ee', 'x[redacted]'],
    ['(?P<name>Kö)ln', 'KOLN', '[redacted]'],
    ['\\p{Lu}{2}', 'ab AB', 'ab [redacted]'],
    // Classes keep their case.
    ['[A-Z]{3}', 'abc ABC', 'abc [redacted]'],
    ['[A-Z][a-z]+', 'hello World', 'hello [redacted]'],
    ['(?-i)[a-z]+9', 'AB9 ab9', 'AB9 [redacted]'],
    // Nothing beside the match is touched.
    ['x', 'é 한글 １', 'é 한글 １'],
  ])('%j turns %j into %j', (pattern, text, expected) => {
    expect(redactor([], [pattern]).text(text)).toBe(expected)
  })

  test('hides members whose names are written otherwise', () => {
    const value = { 'pre\u0301nom': 1, PRENOM: 1, ｐａｓｓｗｏｒｄ: 1, 'pass\u200bword': 1, other: 1 }
    expect(redactor(['prénom', 'password']).value(value)).toEqual({
      'pre\u0301nom': REDACTED,
      PRENOM: REDACTED,
      ｐａｓｓｗｏｒｄ: REDACTED,
      'pass\u200bword': REDACTED,
      other: 1,
    })
    expect(redactor(['prénom']).text('{"pre\u0301nom":"Al"}')).toBe(`{"pre\u0301nom":"${REDACTED}"}`)
  })

  test('a secret in any spelling goes, and what stands around it stays', () => {
    const letters = fc.constantFrom('a', 'é', 'Ü', 'ß', '한', 'ガ', '請', '1', 'Ø', 'ж')
    const word = fc.array(letters, { minLength: 2, maxLength: 8 }).map((all) => `${all.join('')}z`)
    const change = fc.constantFrom<(text: string) => string>(
      (text) => text,
      (text) => text.normalize('NFD'),
      (text) => text.normalize('NFKD'),
      (text) => text.toLowerCase(),
      (text) => [...text].join('\u200b'),
      (text) => text.replace(/[\x21-\x7e]/g, (one) => String.fromCharCode(one.charCodeAt(0) + 0xfee0)),
    )
    fc.assert(
      fc.property(word, change, change, (secret, one, other) => {
        expect(redactor([], [one(secret)]).text(`한 é ${other(secret)}. é`)).toBe(`한 é ${REDACTED}. é`)
      }),
      { numRuns: 500 },
    )
  })

  test('every older version of the rules redacts as it did', () => {
    const text = '{"Password":"x"} falcon ＦＡＬＣＯＮ {"ｐａｓｓｗｏｒｄ":"y"}'
    const { under } = redactor(['password'], ['falcon'])
    expect(under(1).text(text)).toBe('{"Password":"x"} [redacted] ＦＡＬＣＯＮ {"ｐａｓｓｗｏｒｄ":"y"}')
    expect(under(2).text(text)).toBe(
      '{"Password":"[redacted]"} [redacted] ＦＡＬＣＯＮ {"ｐａｓｓｗｏｒｄ":"y"}',
    )
    expect(under(3).text(text)).toBe(
      '{"Password":"[redacted]"} [redacted] [redacted] {"ｐａｓｓｗｏｒｄ":"[redacted]"}',
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

test('property: the search by literals leaves out no match of any spelling', () => {
  const letter = fc.constantFrom(
    ...'aAeEéÉssßẞſςσΣkKKåÅÅiIıİﬁｓＳ한각한がかﾞ１1 .',
    'e\u0301',
    '\u0301',
    'A\u030a',
    'ǅ',
    'ŉ',
    'µ',
  )
  const word = fc.array(letter, { minLength: 1, maxLength: 6 }).map((letters) => letters.join(''))
  const text = fc.array(letter, { maxLength: 20 }).map((letters) => letters.join(''))
  const spend = () => {}
  fc.assert(
    fc.property(word, text, text, (literal, before, behind) => {
      const source = RegExp.escape(literal)
        .replaceAll(/\\x([\da-f]{2})/g, '\\x{$1}')
        .replaceAll(/\\u([\da-f]{4})/g, '\\x{$1}')
      const pattern = createPattern(source)
      for (const said of [literal, literal.toUpperCase(), literal.normalize('NFD'), literal.toLowerCase()]) {
        const forms = formsOf(`${before}${said}${behind}`, spend)
        const all = { text: forms.text, composed: forms.composed, folded: forms.folded, has: () => true }
        expect(pattern.normal(forms, spend)).toEqual(pattern.normal(all, spend))
      }
    }),
    { numRuns: 2_000 },
  )
})
