/** Every way of writing an address has one normal form, and addresses of different people keep different ones. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  accountAddress,
  addressForms,
  contactAddress,
  normalAddress,
} from '../../src/platform/validation/user-address.ts'

const LOCALS = ['ada', 'ada.lovelace+news', "o'hara", 'josé', 'günther', '山田']
const DOMAINS = ['example.com', 'exämple.de', 'mail.b\u00fccher.example', '例え.jp']

const unseen = fc.constantFrom('', '\u200b', '\u200e', '\u200f', '\ufeff', '\u2060', '\u00ad', '\u202a')
const around = fc.constantFrom<(text: string) => string>(
  (text) => text,
  (text) => ` ${text}\n`,
  (text) => `<${text}>`,
  (text) => `mailto:${text}`,
  (text) => `MAILTO:${text}`,
  (text) => ` <mailto:${text}> `,
)
const domainForm = fc.constantFrom<(text: string) => string>(
  (text) => text,
  (text) => text.toUpperCase(),
  (text) => new URL(`http://${text}`).hostname,
  (text) => text.normalize('NFD'),
  (text) => `${text}.`,
  (text) => `${text}。`,
)
const localForm = fc.constantFrom<(text: string) => string>(
  (text) => text,
  (text) => text.normalize('NFD'),
  (text) => text.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase()),
)

/** One address, and it as somebody may write or paste it. */
const written = fc
  .record({
    local: fc.constantFrom(...LOCALS),
    domain: fc.constantFrom(...DOMAINS),
    localForm,
    domainForm,
    around,
    unseen,
    place: fc.nat(40),
  })
  .map(({ local, domain, localForm, domainForm, around, unseen, place }) => {
    const text = `${localForm(local)}@${domainForm(domain)}`
    const at = place % (text.length + 1)
    return { plain: `${local}@${domain}`, variant: around(text.slice(0, at) + unseen + text.slice(at)) }
  })

describe('an address', () => {
  test('has one normal form, however it is written', () => {
    fc.assert(
      fc.property(written, ({ plain, variant }) => {
        const normal = normalAddress(plain)
        expect(normal).not.toBeNull()
        expect(normalAddress(variant)).toBe(normal)
        expect(normalAddress(normal as string)).toBe(normal)
        expect(contactAddress(contactAddress(variant) as string)).toBe(contactAddress(variant))
        expect(normalAddress(contactAddress(variant) as string)).toBe(normal)
        for (const form of addressForms(variant)) expect(normalAddress(form)).toBe(normal)
      }),
      { numRuns: 2_000 },
    )
  })

  test('of another person has another normal form', () => {
    const normal = LOCALS.flatMap((local) => DOMAINS.map((domain) => normalAddress(`${local}@${domain}`)))
    expect(new Set(normal).size).toBe(LOCALS.length * DOMAINS.length)
  })

  test.each([
    ['\u212aate@example.com', 'a letter of ASCII is made of no other'],
    ['k\u037e@example.com', 'nor is punctuation'],
  ])('%j keeps its characters: %s', (text) => {
    expect(normalAddress(text)).toBe(text)
    expect(accountAddress(text)).toBeNull()
    expect(addressForms(text)).toEqual([text])
  })

  test('that servers would not take stays as it is, and other text is none', () => {
    expect(contactAddress(' ada@b!c ')).toBe('ada@b!c')
    expect(['ada', '', '@', 'mailto:', 'ada@b@c', '<>', 'a b@c.de'].map(contactAddress)).toEqual(
      Array.from({ length: 7 }, () => null),
    )
  })
})
