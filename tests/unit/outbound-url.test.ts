/** The lexical policy on URLs that the service is asked to fetch ("Create", rule 4), one spelling a line. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { loadConfig } from '../../src/app/config.ts'
import { AppError } from '../../src/platform/errors.ts'
import {
  allowLocalNames,
  createOutboundPolicy,
  isPublicAddress,
} from '../../src/platform/net/outbound-url.ts'

const strict = createOutboundPolicy([])

function refusal(text: string, policy = strict): AppError | null {
  try {
    policy.assertUrl(text, 'assetUrl')
    return null
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}

const REFUSED: Readonly<Record<string, readonly string[]>> = {
  'IPv4 loopback in other spellings': [
    'http://127.0.0.1/',
    'https://127.0.0.1:8443/a',
    'http://127.1/',
    'http://127.0.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0x7f.0.0.1/',
    'http://0X7F.1/',
    'http://017700000001/',
    'http://0177.0.0.01/',
    'http://127.0.0.1./',
    'http://127.255.255.254/',
    'http://%31%32%37.0.0.1/',
    'http://１２７.０.０.１/',
    'http://①②⑦.0.0.1/',
    'http://127。0。0。1/',
    'http:127.0.0.1',
    'http:/127.0.0.1/',
    'http:\\\\127.0.0.1\\',
    ' http://127.0.0.1/ ',
    'ht\ntp://127.\t0.0.1/',
    'HTTP://127.0.0.1/',
    'http://127.0.0.1#@example.com/',
    'http://127.0.0.1?example.com',
  ],
  'private and reserved IPv4 addresses': [
    'http://0/',
    'http://0.0.0.0/',
    'http://0.1.2.3/',
    'http://10.0.0.1/',
    'http://012.0.0.1/',
    'http://100.64.0.1/',
    'http://100.127.255.255/',
    'http://169.254.169.254/latest/meta-data/',
    'http://0xA9FEA9FE/',
    'http://2852039166/',
    'http://172.16.0.1/',
    'http://172.31.255.255/',
    'http://192.168.0.1/',
    'http://0300.0250.1/',
    'http://168.63.129.16/machine/?comp=goalstate',
    'http://2822734096/',
    'http://192.0.0.1/',
    'http://192.0.0.170/',
    'http://192.0.2.1/',
    'http://192.88.99.1/',
    'http://198.18.0.1/',
    'http://198.19.255.255/',
    'http://198.51.100.1/',
    'http://203.0.113.1/',
    'http://224.0.0.1/',
    'http://239.255.255.255/',
    'http://240.0.0.1/',
    'http://255.255.255.255/',
  ],
  'IPv6 addresses that are not public': [
    'http://[::]/',
    'http://[::1]/',
    'http://[0:0:0:0:0:0:0:1]/',
    'http://[fe80::1]/',
    'http://[febf::1]/',
    'http://[fec0::1]/',
    'http://[fc00::1]/',
    'http://[fd12:3456:789a::1]/',
    'http://[ff02::1]/',
    'http://[ff0e::1]/',
    'http://[100::1]/',
    'http://[2001:db8::1]/',
    'http://[3fff::1]/',
    'http://[2001:2::1]/',
    'http://[2001:10::1]/',
    'http://[5f00::1]/',
    'http://[4000::1]/',
    'http://[fe80::1%25eth0]/',
  ],
  'IPv6 addresses that carry an IPv4 one': [
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[::ffff:8.8.8.8]/',
    'http://[::FFFF:a00:1]/',
    'http://[::ffff:0:127.0.0.1]/',
    'http://[::127.0.0.1]/',
    'http://[::8.8.8.8]/',
    'http://[64:ff9b::10.0.0.1]/',
    'http://[64:ff9b::8.8.8.8]/',
    'http://[64:ff9b:1::10.0.0.1]/',
    'http://[2002:7f00:1::]/',
    'http://[2002:808:808::1]/',
    'http://[2001::1]/',
    'http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/',
  ],
  'names of this machine and of private networks': [
    'http://localhost/',
    'http://LOCALHOST:3000/',
    'http://LocalHost./',
    'http://loc%61lhost/',
    'http://ⓛocalhost/',
    'http://ｌocalhost/',
    'http://lo\u00adcalhost/',
    'http://a.localhost/',
    'http://a.b.LOCALHOST/',
    'http://localhost6/',
    'http://ip6-localhost/',
    'http://ip6-loopback/',
    'http://localhost.localdomain/',
    'http://printer.local/',
    'http://local/',
    'http://metadata.google.internal/computeMetadata/v1/',
    'http://internal/',
    'http://example.com./',
    'http://example.com../',
    'http://.example.com/',
    'http://example..com/',
    'http://host.internal./',
  ],
  credentials: [
    'https://user:password@example.com/a.mp3',
    'https://user@example.com/',
    'https://:password@example.com/',
    'https://@example.com/',
    'https://:@example.com/',
    'https:\\\\user@example.com/',
    'http://example.com@127.0.0.1/',
    'http://example.com%2f@127.0.0.1/',
    'http://example.com:80@127.0.0.1/',
  ],
  'other schemes': [
    'ftp://example.com/a.mp3',
    'file:///etc/passwd',
    'data:audio/mpeg;base64,AAAA',
    'javascript:alert(1)',
    'gopher://example.com/',
    's3://bucket/a.mp3',
    'blob:https://example.com/1',
    'ws://example.com/',
    'view-source:https://example.com/',
    'unix:/run/a.sock',
  ],
  'what is no absolute URL': [
    '',
    'a.mp3',
    '/a.mp3',
    '//example.com/a.mp3',
    'example.com/a.mp3',
    'http://',
    'http:///',
    'http://exa mple.com/',
    'http://[::1',
    'http://256.0.0.1/',
    'http://1.2.3.4.5/',
    'http://08.0.0.1/',
    'http://localhost%00.example.com/',
    'http://example.com:99999/',
    'http://example.com:0/',
    'http://xn--localhost/',
    `https://example.com/${'a'.repeat(8_192)}`,
  ],
}

for (const [group, urls] of Object.entries(REFUSED)) {
  describe(`4. refused: ${group}`, () => {
    test.each(urls.map((url) => [url]))('%p', (url) => {
      const error = refusal(url)
      expect(error?.code).toBe('url_not_allowed')
      expect(error?.details).toMatchObject([{ path: 'assetUrl', code: 'url_not_allowed' }])
    })
  })
}

describe('servers of settings', () => {
  const ofSettings = allowLocalNames(strict)

  test.each([
    'http://localhost:8000/',
    'http://a.localhost/',
    'http://printer.local/',
    'https://login.corp.internal/',
  ])('%s', (url) => {
    expect([refusal(url, ofSettings), refusal(url)?.code]).toEqual([null, 'url_not_allowed'])
  })

  test.each(['http://127.0.0.1/', 'http://[::1]/', 'http://ada@localhost/', 'http://localhost:0/'])(
    '%s is refused',
    (url) => expect(refusal(url, ofSettings)?.code).toBe('url_not_allowed'),
  )
})

describe('4. allowed', () => {
  test.each([
    ['https://example.com/a.mp3', 'https://example.com/a.mp3'],
    ['http://example.com', 'http://example.com/'],
    ['HTTPS://EXAMPLE.COM/A?b=c#d', 'https://example.com/A?b=c#d'],
    ['https://example.com:8443/a', 'https://example.com:8443/a'],
    ['https://example.com:443/a', 'https://example.com/a'],
    ['http://8.8.8.8/a', 'http://8.8.8.8/a'],
    ['http://134744072/', 'http://8.8.8.8/'],
    ['http://172.32.0.1/', 'http://172.32.0.1/'],
    ['http://100.128.0.1/', 'http://100.128.0.1/'],
    ['http://[2606:4700:4700::1111]/', 'http://[2606:4700:4700::1111]/'],
    ['http://[2001:4860:4860:0:0:0:0:8888]:80/', 'http://[2001:4860:4860::8888]/'],
    ['https://bücher.example/', 'https://xn--bcher-kva.example/'],
    ['https://localhost.example.com/', 'https://localhost.example.com/'],
    ['https://local.example/', 'https://local.example/'],
    ['https://127.0.0.1.example.com/', 'https://127.0.0.1.example.com/'],
    ['https://mylocalhost/', 'https://mylocalhost/'],
    ['https://example.com/@user:password', 'https://example.com/@user:password'],
    ['https://example.com?a=b@c', 'https://example.com/?a=b@c'],
    ['https://example.com/#@127.0.0.1', 'https://example.com/#@127.0.0.1'],
    ['https://s3.example.com/a%20b.mp3?X-Signature=1', 'https://s3.example.com/a%20b.mp3?X-Signature=1'],
  ])('%p', (text, href) => {
    expect(strict.assertUrl(text, 'assetUrl').href).toBe(href)
  })

  test('the error has the given place', () => {
    expect(() => strict.assertUrl('x', 'joinUrl')).toThrow('joinUrl')
  })
})

describe('addresses', () => {
  test.each([
    '',
    'example.com',
    '127.1',
    '0x7f.0.0.1',
    '[::1]',
    '1.1.1.1 ',
    'fe80::1%eth0',
    '::ffff:1.1.1.1',
  ])('%p is not public', (text) => {
    expect(isPublicAddress(text)).toBe(false)
  })

  test.each(['1.1.1.1', '8.8.8.8', '2606:4700:4700::1111'])('%p is public', (text) => {
    expect(isPublicAddress(text)).toBe(true)
  })

  test('property: every spelling of an IPv4 address is judged as the address', () => {
    const spelling = fc.constantFrom(
      (n: number) => String(n),
      (n: number) => `0x${n.toString(16)}`,
      (n: number) => `0${n.toString(8)}`,
    )
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), spelling, (number, spell) => {
        const dotted = [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join('.')
        expect(refusal(`http://${spell(number)}/`) === null).toBe(isPublicAddress(dotted))
        expect(refusal(`http://[::ffff:${dotted}]/`)).not.toBeNull()
      }),
    )
  })
})

describe('OUTBOUND_ALLOW', () => {
  const allow = createOutboundPolicy(['127.0.0.0/8', '10.1.2.3/32', 'fd00:1::/32', '169.254.169.254/32'])

  test.each([
    'http://127.0.0.1:4000/hook',
    'http://127.1/',
    'http://2130706433/',
    'http://0x7f.0.0.1/',
    'http://127.255.255.255/',
    'http://10.1.2.3/',
    'http://[fd00:1::7]/',
    'http://[fd00:1:ffff::7]/',
    'http://169.254.169.254/',
    'https://example.com/',
  ])('allows %p', (url) => {
    expect(refusal(url, allow)).toBeNull()
  })

  test.each([
    ...[
      'http://10.1.2.4/',
      'http://192.168.0.1/',
      'http://172.16.0.1/',
      'http://0.0.0.0/',
      'http://100.64.0.1/',
    ],
    ...['http://[::1]/', 'http://[fd00:2::1]/', 'http://[fe80::1]/', 'http://169.254.169.253/'],
    // IPv6 forms of an allowed IPv4 address.
    ...[
      'http://[::ffff:127.0.0.1]/',
      'http://[::127.0.0.1]/',
      'http://[64:ff9b::7f00:1]/',
      'http://[2002:7f00:1::]/',
    ],
    // Nothing but the judgement of addresses changes.
    ...['http://localhost/', 'http://a.localhost/', 'http://printer.local/', 'http://127.0.0.1:0/'],
    ...['http://user@127.0.0.1/', 'ftp://127.0.0.1/', 'file:///etc/passwd', 'http://host.internal/'],
  ])('still refuses %p', (url) => {
    expect(refusal(url, allow)?.code).toBe('url_not_allowed')
  })

  test.each([
    ['127.8.8.8', true],
    ['8.8.8.8', true],
    ['10.1.2.3', true],
    ['10.1.2.2', false],
    ['fd00:1::1', true],
    ['fd00:2::1', false],
    ['::ffff:127.0.0.1', false],
    ['127.1', false],
    ['', false],
  ])('a resolved address %p: %p', (address, expected) => {
    expect(allow.allowsAddress(address)).toBe(expected)
  })

  test('property: an address is allowed exactly where it is public or in the block', () => {
    const address = fc.tuple(
      fc.integer({ min: 0, max: 2 ** 32 - 1 }),
      fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    )
    fc.assert(
      fc.property(address, fc.integer({ min: 0, max: 32 }), ([base, number], bits) => {
        const dotted = (n: number) => [24, 16, 8, 0].map((shift) => (n >>> shift) & 255).join('.')
        const policy = createOutboundPolicy([`${dotted(base)}/${bits}`])
        const isInside = bits === 0 || base >>> (32 - bits) === number >>> (32 - bits)
        expect(policy.allowsAddress(dotted(number))).toBe(isPublicAddress(dotted(number)) || isInside)
        expect(policy.allowsAddress(`::ffff:${dotted(number)}`)).toBe(false)
      }),
    )
  })

  test.each([
    ...[
      '10.0.0.0',
      '10.0.0.0/33',
      '10.0.0/8',
      '1/8',
      '0x7f.0.0.1/8',
      '999.1.1.1/8',
      '10.0.0.0/-1',
      '10.0.0.0/8x',
    ],
    ...['fd00::/129', 'fd00:::/8', '[fd00::]/8', 'localhost/8', 'example.com', '/8', '10.0.0.0/ 8'],
  ])('%p is no block', (block) => {
    expect(() => loadConfig({ OUTBOUND_ALLOW: `10.0.0.0/8, ${block}` })).toThrow(
      `OUTBOUND_ALLOW is ${JSON.stringify(block)}, but must be a comma-separated list of CIDR blocks, such as 10.0.0.0/8`,
    )
  })

  test('is a list with commas; empty by default', () => {
    expect(loadConfig({}).outboundAllow).toEqual([])
    expect(loadConfig({ OUTBOUND_ALLOW: ' 10.0.0.0/8 ,fd00::/8, ' }).outboundAllow).toEqual([
      '10.0.0.0/8',
      'fd00::/8',
    ])
  })
})
