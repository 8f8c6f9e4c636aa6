/** Where a person goes after the sign-in, and the base of links in mails. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { linkUrl, returnPathOf } from '../../src/access/sign-in/link.rules.ts'
import { mailBaseUrl } from '../../src/http/base-url.ts'

describe('the page after the sign-in', () => {
  test.each(['/console', '/console?page=2', '/oauth/interaction/x', '/'])('may be %s', (path) => {
    expect(returnPathOf(path)).toBe(path)
  })

  test.each([
    null,
    '',
    'console',
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    '/.//evil.example',
    '/x/..//evil.example',
    'https://evil.example/',
    'https:evil.example',
    'javascript:alert(1)',
    '\\\\evil.example',
    ' //evil.example',
    `/${'x'.repeat(3_000)}`,
  ])('is the sign-in page instead of %j', (text) => {
    expect(returnPathOf(text)).toBe('/sign-in')
  })

  test('property: always stays on this service, as a browser resolves it', () => {
    const hostile = fc.array(
      fc.constantFrom('/', '\\', '.', '..', '\t', '\n', ':', '@', 'evil.example', 'https:', '?', '#', '%2f'),
      { maxLength: 8 },
    )
    fc.assert(
      fc.property(hostile, (parts) => {
        const path = returnPathOf(parts.join(''))
        expect(new URL(path, 'https://earshot.example').origin).toBe('https://earshot.example')
        expect(new URL(`https://earshot.example/prefix${path}`).origin).toBe('https://earshot.example')
      }),
    )
  })
})

describe('the base of links in mails', () => {
  test.each([
    ['https://earshot.example/x', 'http://evil.example', 'https://earshot.example/x'],
    [null, 'http://localhost:3000', 'http://localhost:3000'],
    [null, 'http://127.0.0.1:3000', 'http://127.0.0.1:3000'],
    [null, 'http://[::1]:3000', 'http://[::1]:3000'],
    [null, 'http://evil.example', null],
    [null, 'http://localhost.evil.example', null],
    [null, 'http://127.0.0.1.evil.example', null],
  ])('with PUBLIC_BASE_URL %j and a request to %s is %j', (publicBaseUrl, origin, base) => {
    expect(mailBaseUrl(publicBaseUrl, origin)).toBe(base)
  })
})

test('a link names the page to go to only if there is one', () => {
  expect(linkUrl('https://x.example/p', 'esl_1')).toBe('https://x.example/p/sign-in/link?token=esl_1')
  expect(linkUrl('https://x.example', 'esl_1', '/a?b=1')).toBe(
    'https://x.example/sign-in/link?token=esl_1&to=%2Fa%3Fb%3D1',
  )
})
