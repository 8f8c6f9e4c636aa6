/** Which meeting a link names: a table of real-looking links, and what holds of every link. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { identifyMeeting, type MeetingAddress } from '../../src/calls/meetings/url.rules.ts'
import { MEETINGS, REFUSALS } from './meetings-url-table.ts'

function meetingOf(link: string): MeetingAddress {
  const found = identifyMeeting(link)
  if ('refused' in found) throw new Error(`${link} ${found.refused}`)
  return found
}

const reasonOf = (link: string) => {
  const found = identifyMeeting(link)
  return 'refused' in found ? found.refused : `is the meeting ${found.identity}`
}

describe('a link to a meeting', () => {
  test('the table is large', () => {
    expect(MEETINGS.length + REFUSALS.length).toBeGreaterThan(200)
  })

  test.each(MEETINGS)('%s', (link, identity) => {
    const found = meetingOf(link)
    expect(found.identity).toBe(identity)
    // What is handed to a recorder names the same meeting.
    expect(meetingOf(found.url)).toEqual(found)
  })

  test.each(REFUSALS)('refused: %s', (link, reason) => {
    expect(reasonOf(link)).toContain(reason)
  })
})

describe('what is handed to a recorder', () => {
  test.each([
    [
      'https://us02web.zoom.us/j/86423571980?pwd=aBc.1&from=addon#success',
      'https://us02web.zoom.us/j/86423571980?pwd=aBc.1',
    ],
    ['https://zoom.us/w/98765432101?tk=iv0.DQ&pwd=x1', 'https://zoom.us/w/98765432101?pwd=x1&tk=iv0.DQ'],
    ['https://zoom.us/s/1234567890?zak=eyJ0eXAi&pwd=x1', 'https://zoom.us/j/1234567890?pwd=x1'],
    ['zoommtg://zoom.us/join?confno=1234567890&pwd=abc', 'https://zoom.us/j/1234567890?pwd=abc'],
    ['https://meet.google.com/_meet/ABC-defg-hij?authuser=1', 'https://meet.google.com/abc-defg-hij'],
    [
      'https://teams.live.com/meet/9345678901234?p=aBc&utm_source=mail',
      'https://teams.live.com/meet/9345678901234?p=aBc',
    ],
    [
      'https://acme.webex.com/acme/m.php?AT=JM&MK=25551234567&x=1',
      'https://acme.webex.com/acme/m.php?AT=JM&MK=25551234567',
    ],
    [
      `https://teams.live.com/light-meetings/launch?coords=${btoa('{"meetingCode":"9345678901234","passcode":"a+b"}')}`,
      'https://teams.live.com/meet/9345678901234?p=a%2Bb',
    ],
    [
      'https://teams.live.com/dl/launcher/launcher.html?url=%2F_%23%2Fmeet%2F2345678901234%3Fp%3Da%252Bb%2Bc&fqdn=teams.microsoft.com',
      'https://teams.microsoft.com/meet/2345678901234?p=a%2Bb+c',
    ],
    [
      'https://zoom.us/j/1234567890<https://zoom.us/j/1234567890?pwd=abc>',
      'https://zoom.us/j/1234567890?pwd=abc',
    ],
  ])('%s becomes %s', (link, url) => {
    expect(meetingOf(link).url).toBe(url)
  })
})

describe('a password', () => {
  const PLACES = [
    ['https://zoom.us/j/1234567890', 'pwd'],
    ['https://zoom.us/w/1234567890', 'tk'],
    ['https://acme.zoom.us/my/ann', 'pwd'],
    ['https://teams.microsoft.com/meet/2345678901234', 'p'],
    ['https://acme.webex.com/meet/ann', 'PW'],
    ['https://acme.webex.com/meet/ann', 'pwd'],
  ] as const

  test.each([
    'a+b',
    'a*b',
    'a!',
    'a%20b',
    'a/b',
    'a%2Fb',
    'a%2Bb',
    "o'Neil".replace("'", '%27'),
    'p@ss:w$rd',
    'a=b==',
    '~a.',
    'a%',
    'a%26b',
    '%C3%BC',
    '(a)',
    'a,',
    'a;b',
    '^|a',
  ])('%s reaches the recorder as it stands in the link', (text) => {
    for (const [start, name] of PLACES) {
      const { url } = meetingOf(`${start}?x=1&${name}=${text}&y=2`)
      expect(url.replace(/&$/, '')).toBe(`${start}?${name}=${text}`)
      for (const wrap of WRAPPERS)
        expect(meetingOf(wrap(`${start}?${name}=${text}&y=2`)).url.replace(/&$/, '')).toBe(
          `${start}?${name}=${text}`,
        )
    }
  })

  test.each(['', '%00', 'a%0Ab', 'x'.repeat(1_025)])('%p is none', (text) => {
    for (const [start, name] of PLACES) expect(meetingOf(`${start}?${name}=${text}&y=2`).url).toBe(start)
  })
})

const enc = encodeURIComponent
const WRAPPERS: readonly ((url: string) => string)[] = [
  (url) => `https://nam02.safelinks.protection.outlook.com/?url=${enc(url)}&data=05%7C01&reserved=0`,
  (url) => `https://urldefense.proofpoint.com/v1/url?u=${enc(url)}&k=x`,
  (url) =>
    `https://urldefense.proofpoint.com/v2/url?u=${enc(url).replaceAll('-', '%2D').replaceAll('_', '%5F').replaceAll('%', '-').replaceAll('-2F', '_')}&d=x`,
  (url) => `https://www.google.com/url?q=${enc(url)}&sa=D`,
]

const link = fc.constantFrom(...MEETINGS.map(([text]) => identifyMeeting(text) as MeetingAddress))

describe('the identity', () => {
  test('is the same inside of wrappers', () => {
    const wrappers = fc.array(fc.constantFrom(...WRAPPERS), { maxLength: 5 })
    fc.assert(
      fc.property(link, wrappers, ({ url, identity }, layers) => {
        expect(meetingOf(layers.reduce((inner, wrap) => wrap(inner), url)).identity).toBe(identity)
      }),
    )
  })

  test('does not depend on the order of parameters, on unknown ones, or on the case of the host', () => {
    const extra = fc.array(fc.tuple(fc.stringMatching(/^x_[a-z]{1,8}$/), fc.stringMatching(/^[a-z\d]{0,8}$/)))
    fc.assert(
      fc.property(link, extra, fc.boolean(), ({ url, identity }, more, reverse) => {
        const changed = new URL(url)
        const parameters = [...changed.searchParams, ...more]
        changed.search = String(new URLSearchParams(reverse ? parameters.reverse() : parameters))
        const loud = changed.href.replace(changed.host, changed.host.toUpperCase())
        expect(meetingOf(loud).identity).toBe(identity)
      }),
    )
  })

  test('contains no password, no token and no key of a host, and the key is not handed on', () => {
    const secret = fc.stringMatching(/^[A-Z]{12}\d{4}$/)
    const base = fc.constantFrom(
      'https://zoom.us/j/1234567890',
      'https://acme.zoom.us/my/ann',
      'https://teams.microsoft.com/meet/2345678901234',
      'https://acme.webex.com/meet/ann',
    )
    fc.assert(
      fc.property(base, secret, secret, secret, (start, password, token, key) => {
        const query = { pwd: password, p: password, PW: password, tk: token, zak: key }
        const found = meetingOf(`${start}?${new URLSearchParams(query)}`)
        for (const hidden of [password, token, key]) expect(found.identity).not.toContain(hidden)
        expect(found.url).not.toContain(key)
      }),
    )
  })
})

describe('any text', () => {
  test('is a meeting or a refusal, never an error', () => {
    const nasty = fc.stringMatching(/^[a-z%./:?&=#*<>_-]{0,200}$/)
    const mixed = fc.tuple(fc.constantFrom(...MEETINGS.map(([text]) => text)), nasty, fc.nat())
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.webUrl(), nasty, mixed), (made) => {
        const text = typeof made === 'string' ? made : splice(made[0], made[1], made[2])
        const found = identifyMeeting(text)
        if ('refused' in found) expect(found.refused).toEndWith('.')
        else expect(meetingOf(found.url)).toEqual(found)
      }),
      { numRuns: 2_000, examples: [['https://acme.zoom.us/my/ann.#lee']] },
    )
  })

  test.each([
    ['percent signs', '%25'.repeat(2_700)],
    ['stars', `https://urldefense.com/v3/__${'*'.repeat(8_000)}__;AAAA!!x`],
    ['runs of stars', `https://urldefense.com/v3/__${'**A'.repeat(2_600)}__;${'A'.repeat(300)}!!x`],
    ['brackets', `https://zoom.us/j/1234567890${'>'.repeat(8_000)}`],
    ['encoded brackets', `https://zoom.us/j/1234567890${'%3E'.repeat(2_600)}`],
    ['slashes', `https://zoom.us${'/'.repeat(8_000)}j/1234567890`],
    ['dots', `${'a.'.repeat(4_000)}com/j`],
    ['parameters', `https://zoom.us/j/1234567890?${'a&'.repeat(4_000)}`],
    ['entities', `https://zoom.us/j/1234567890?${'&amp;'.repeat(1_600)}`],
    ['brackets before it', `${'<'.repeat(8_000)}https://zoom.us/j/1234567890`],
    ['links', 'https://a '.repeat(800)],
    ['schemes', '<https://'.repeat(900)],
    ['stars of emphasis', `${'*'.repeat(8_000)}`],
    ['invisible characters', `https://zoom.us/j/1${'\u200b'.repeat(8_000)}`],
    ['base64', `https://zoom.us/j/1234567890?x=${'QUJD'.repeat(2_000)}`],
  ])('of many %s ends at once', (_, text) => {
    expect(text.length).toBeLessThan(8_192)
    expect(reasonOf(text)).toBeString()
  })
})

function splice(text: string, part: string, at: number): string {
  const place = at % (text.length + 1)
  return text.slice(0, place) + part + text.slice(place)
}
