/** E-mail addresses, templates of mails, and what a robot gives away. */
import { describe, expect, test } from 'bun:test'
import { givenFields, isFromRobot, trimmed } from '../../src/hear/website/rules.ts'
import { compose } from '../../src/platform/mail/mail.ts'
import { fillHtml, fillText, textAsHtml } from '../../src/platform/mail/template.ts'
import { isEmailAddress } from '../../src/platform/validation/email-address.ts'

describe('an e-mail address', () => {
  test.each([
    'a@b.co',
    'ann.example+list@mail.example.com',
    "o'neil@example.com",
    'ANN@EXAMPLE.COM',
    'a@xn--bcher-kva.example',
    `${'a'.repeat(64)}@example.com`,
    `a@${'b'.repeat(63)}.com`,
    'a@1.2.example',
  ])('%s', (text) => {
    expect(isEmailAddress(text)).toBe(true)
  })

  test.each([
    '',
    'ann',
    '@',
    'ann@',
    '@example.com',
    'ann@example',
    'ann@.com',
    'ann@example.com.',
    'ann@example..com',
    '.ann@example.com',
    'ann.@example.com',
    'an..n@example.com',
    'ann@bob@example.com',
    'ann @example.com',
    'ann@example.com ',
    'ann@example.com\n',
    'ann@-a.com',
    'ann@a-.com',
    'ann@192.0.2.1',
    'änn@example.com',
    'ann@bücher.example',
    `${'a'.repeat(65)}@example.com`,
    `a@${'b'.repeat(64)}.com`,
    `a@${'b.'.repeat(126)}com`,
  ])('not %j', (text) => {
    expect(isEmailAddress(text)).toBe(false)
  })

  test('is checked quickly, however long the text', () => {
    for (const text of ['a'.repeat(1_000_000), `${'a.'.repeat(500_000)}@`, `a@${'-'.repeat(1_000_000)}`])
      expect(isEmailAddress(text)).toBe(false)
  })
})

describe('a template', () => {
  test('escapes plain values in HTML and keeps marked HTML', () => {
    expect(fillHtml('<b title="{{a}}">{{{b}}}</b>', { a: `"<&'>`, b: '<i>x</i>' })).toBe(
      '<b title="&quot;&lt;&amp;&#39;&gt;"><i>x</i></b>',
    )
  })

  test('does not expand values', () => {
    const values = { a: '{{b}}{{{b}}}$&$1', b: 'secret' }
    expect(fillHtml('{{a}}', values)).toBe('{{b}}{{{b}}}$&amp;$1')
    expect(fillText('{{a}}', values)).toBe('{{b}}{{{b}}}$&$1')
  })

  test('requires an own, not inherited, value for every name', () => {
    for (const name of ['missing', 'toString', '__proto__'])
      expect(() => fillHtml(`{{${name}}}`, {})).toThrow('no value')
  })

  test('keeps lines of text separate', () => {
    expect(textAsHtml('a\r\nb\nc\r<')).toBe('a<br>\nb<br>\nc<br>\n&lt;')
  })
})

test('a mail has one recipient, whatever the address contains', () => {
  const mail = { id: 'x', to: 'a@b.co, c@d.co', subject: 's', text: 't', html: 'h' }
  expect(compose(mail, { name: 'N', address: 'n@mail.example' })).toMatchObject({
    to: { name: '', address: 'a@b.co, c@d.co' },
    messageId: '<x@mail.example>',
  })
})

describe('a submission', () => {
  test('is from a robot if the honeypot is filled', () => {
    for (const trap of ['x', ' ', 0, false, [], {}]) expect(isFromRobot({ _gotcha: trap })).toBe(true)
    for (const body of [
      {},
      { _gotcha: '' },
      { _gotcha: null },
      null,
      'x',
      [],
      Object.create({ _gotcha: 'x' }),
    ])
      expect(isFromRobot(body)).toBe(false)
  })

  test('is validated after trimming its members', () => {
    expect(trimmed({ name: ' Ann\n', company: ' ', other: [' x '] })).toEqual({
      name: 'Ann',
      company: '',
      other: [' x '],
    })
    for (const body of [null, ' x ', 5, [' x ']]) expect(trimmed(body)).toEqual(body)
  })

  test('keeps only the given members', () => {
    const body = { name: 'Ann', company: '', other: 'x', toString: 'y' }
    expect(givenFields(['name', 'company', 'useCase', 'constructor'], body)).toEqual({ name: 'Ann' })
  })
})
