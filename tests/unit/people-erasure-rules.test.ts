/** Finding a person in free text: every form of a name, whole words only, in linear time. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { createEraser, ERASED, termsOf } from '../../src/people/erasure.rules.ts'

const ada = createEraser(
  termsOf({ email: 'Ada.L@Example.com', firstName: ' Ada ', lastName: 'Lovelace King' }),
)

describe('a text', () => {
  test.each([
    ['Write to ada.l@example.com, please.', 'Write to [erased], please.'],
    ['ADA.L@EXAMPLE.COM', '[erased]'],
    ['?email=Ada.L%40Example.com&x=1', '?email=[erased]&x=1'],
    ['{\\"email\\":\\"ada.l@example.com\\"}', '{\\"email\\":\\"[erased]\\"}'],
    ['xada.l@example.com ada.l@example.community', 'xada.l@example.com [erased].l@example.community'],
    ['Ada Lovelace King', '[erased]'],
    ['Lovelace King, Ada', '[erased]'],
    ['ADA\n\tlovelace  king said', '[erased] said'],
    ['Hi Ada, hi ada! Ada’s and Ada-Marie', 'Hi [erased], hi [erased]! [erased]’s and [erased]-Marie'],
    ['Mrs Lovelace and Dr King', 'Mrs [erased] and Dr [erased]'],
    ['Adaptation, armada, Kingdom', 'Adaptation, armada, Kingdom'],
  ])('%j becomes %j', (text, erased) => {
    expect(ada.text(text)).toBe(erased)
  })

  test.each([
    ['José', 'Jose\u0301 said', '[erased] said'],
    ['Jose\u0301', 'JOSÉ said', '[erased] said'],
    ['李雷', '你好李雷先生', '你好[erased]先生'],
    ['철수', '철수가 말했다', '[erased]가 말했다'],
    ['O’Brien (x+)', 'by o’brien (X+)!', 'by [erased]!'],
    ['Jan de Vries', 'De Vries, de: Jan', 'De [erased], de: [erased]'],
    ['Jean-Luc', 'Jean-Luc, jean-luc2', '[erased], jean-luc2'],
    ['A', 'A plan by A', 'A plan by A'],
    ['Zoë', 'Zoë_Zoë2', '[erased]_Zoë2'],
  ])('with the name %j: %j becomes %j', (firstName, text, erased) => {
    expect(createEraser(termsOf({ email: null, firstName, lastName: null })).text(text)).toBe(erased)
  })

  test('an address with every character that an address may have is found', () => {
    const email = "a-b.c+d!#$%&'*/=?^_`{|}~e@x-y.example"
    const eraser = createEraser(termsOf({ email, firstName: null, lastName: null }))
    expect(eraser.text(`to ${email}, please`)).toBe('to [erased], please')
  })

  test('what is not seen in an address that has no normal form stands anywhere, in linear time', () => {
    const email = `a${'\u200b'.repeat(10)}@b!c`
    const eraser = createEraser(termsOf({ email, firstName: null, lastName: null }))
    expect(eraser.text(`to ${email}, a@b!c and a@\u180b${'\u200d'.repeat(9)}b!c`)).toBe(
      'to [erased], [erased] and [erased]',
    )
    const start = performance.now()
    eraser.text(`a${'\u200b'.repeat(80)}x`)
    // Exponential time would be several seconds.
    expect(performance.now() - start).toBeLessThan(1_000)
  })

  test('is unchanged for a person without name and address', () => {
    const nobody = createEraser(termsOf({ email: null, firstName: null, lastName: '  ' }))
    expect(nobody.text('Anything.')).toBe('Anything.')
  })
})

describe('a JSON value', () => {
  test('loses the person in texts and member names at any depth, and nothing else', () => {
    const value = {
      ada: 1,
      ADA: [{ 'note of Ada': 'by Lovelace' }],
      [ERASED]: 0,
      __proto__: null,
      n: 7,
      b: true,
    }
    const erased: unknown = ada.value(value)
    expect(erased).toEqual({
      '[erased] 2': 1,
      '[erased] 3': [{ 'note of [erased]': 'by [erased]' }],
      [ERASED]: 0,
      n: 7,
      b: true,
    })
  })

  test('without the person is the same object', () => {
    const value = { a: ['b', { c: null }] }
    expect(ada.value(value)).toBe(value)
  })

  test('property: afterwards no text and no member name holds the name or the address', () => {
    const text = fc
      .array(fc.oneof(fc.string(), fc.constantFrom('Zephyrine', 'zephyrine', 'z@q.example', ' ', '.')))
      .map((parts) => parts.join(' '))
    const { value } = createEraser({ email: 'z@q.example', names: ['Zephyrine'] })
    fc.assert(
      fc.property(fc.dictionary(text, fc.oneof(text, fc.array(text))), (members) => {
        const left = JSON.stringify(value(members)).toLowerCase()
        expect(left).not.toContain('zephyrine ')
        expect(left).not.toContain(' z@q.example ')
        expect(Object.keys(value(members))).toHaveLength(Object.keys(members).length)
      }),
    )
  })
})

test('takes linear time for text that nearly matches', () => {
  const eraser = createEraser({ email: 'a@a.aa', names: ['a a', 'aaa aaa', 'a a a a'] })
  const took = (length: number) => {
    const text = 'a  a@a.a aaa '.repeat(length)
    const start = process.cpuUsage()
    eraser.text(text)
    const { user, system } = process.cpuUsage(start)
    return user + system
  }
  took(1_000)
  // Quadratic would be 256 times; twice what linear is leaves room for a busy machine.
  const [small, large] = [Math.max(took(2_000), 2_000), took(32_000)]
  expect(large / small).toBeLessThan(64)
})
