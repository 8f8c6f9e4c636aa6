/** Which address a request is counted under, for every way of forwarding. */
import { describe, expect, test } from 'bun:test'
import { clientIp, countingKey, trustedProxies } from '../../src/http/client-ip.ts'

const isTrusted = trustedProxies(['10.0.0.0/8', '127.0.0.1/32', '2001:db8:ffff::/48'])

type Row = readonly [
  rule: string,
  peer: string | null,
  headers: Record<string, string>,
  client: string | null,
]

const ROWS: readonly Row[] = [
  ['an unknown peer is nobody', null, { 'x-forwarded-for': '192.0.2.1' }, null],
  ['without headers it is the peer', '192.0.2.1', {}, '192.0.2.1'],
  ['an untrusted peer is not believed', '192.0.2.1', { 'x-forwarded-for': '198.51.100.7' }, '192.0.2.1'],
  [
    'an untrusted peer is not believed (Forwarded)',
    '192.0.2.1',
    { forwarded: 'for=198.51.100.7' },
    '192.0.2.1',
  ],
  ['a trusted peer is believed', '10.0.0.1', { 'x-forwarded-for': '198.51.100.7' }, '198.51.100.7'],
  [
    'a trusted IPv6 peer is believed',
    '2001:db8:ffff::1',
    { 'x-forwarded-for': '198.51.100.7' },
    '198.51.100.7',
  ],
  [
    'what the client invented on the left is ignored',
    '10.0.0.1',
    { 'x-forwarded-for': '1.1.1.1, 198.51.100.7' },
    '198.51.100.7',
  ],
  [
    'a chain of trusted proxies is walked',
    '10.0.0.1',
    { 'x-forwarded-for': '1.1.1.1,198.51.100.7, 10.2.3.4 ,10.9.9.9' },
    '198.51.100.7',
  ],
  [
    'only trusted addresses: the first of them',
    '10.0.0.1',
    { 'x-forwarded-for': '10.1.1.1, 10.2.2.2' },
    '10.1.1.1',
  ],
  [
    'an IPv4-mapped peer is its IPv4 address',
    '::ffff:10.0.0.1',
    { 'x-forwarded-for': '::ffff:198.51.100.7' },
    '198.51.100.7',
  ],
  ['an IPv4-mapped peer in hexadecimal too', '::ffff:c000:201', {}, '192.0.2.1'],
  [
    'ports are not part of the address',
    '10.0.0.1',
    { 'x-forwarded-for': '198.51.100.7:5678' },
    '198.51.100.7',
  ],
  ['IPv6 in brackets, with a port', '10.0.0.1', { 'x-forwarded-for': '[2001:db8::7]:443' }, '2001:db8::7'],
  ['IPv6 is written in one way', '10.0.0.1', { 'x-forwarded-for': '2001:0DB8:0:0::0007' }, '2001:db8::7'],
  ['a zone is local to the proxy', '10.0.0.1', { 'x-forwarded-for': 'fe80::7%eth0' }, 'fe80::7'],
  [
    'an unreadable entry ends the walk',
    '10.0.0.1',
    { 'x-forwarded-for': '198.51.100.7, unknown, 10.2.2.2' },
    '10.2.2.2',
  ],
  ['an empty header is no claim', '10.0.0.1', { 'x-forwarded-for': '' }, '10.0.0.1'],
  ['a number is not an address', '10.0.0.1', { 'x-forwarded-for': '3232235777' }, '10.0.0.1'],
  ['a short form is not an address', '10.0.0.1', { 'x-forwarded-for': '127.1' }, '10.0.0.1'],
  ['an octet beyond 255 is not an address', '10.0.0.1', { 'x-forwarded-for': '198.51.100.999' }, '10.0.0.1'],
  [
    'Forwarded (RFC 7239)',
    '10.0.0.1',
    { forwarded: 'for=198.51.100.7;proto=https;by=10.0.0.1' },
    '198.51.100.7',
  ],
  [
    'Forwarded, quoted IPv6 with a port',
    '10.0.0.1',
    { forwarded: 'proto=http; For="[2001:db8:cafe::17]:4711"' },
    '2001:db8:cafe::17',
  ],
  [
    'Forwarded is walked from the right too',
    '10.0.0.1',
    { forwarded: 'for=1.1.1.1, for=198.51.100.7, for=10.2.2.2' },
    '198.51.100.7',
  ],
  [
    'an obfuscated identifier ends the walk',
    '10.0.0.1',
    { forwarded: 'for=198.51.100.7, for=_hidden' },
    '10.0.0.1',
  ],
  [
    'an element without for ends the walk',
    '10.0.0.1',
    { forwarded: 'for=198.51.100.7, proto=https' },
    '10.0.0.1',
  ],
  [
    'both headers that agree are believed',
    '10.0.0.1',
    { forwarded: 'for="198.51.100.7:1"', 'x-forwarded-for': '198.51.100.7' },
    '198.51.100.7',
  ],
  [
    'both headers that differ are not',
    '10.0.0.1',
    { forwarded: 'for=1.1.1.1', 'x-forwarded-for': '198.51.100.7' },
    '10.0.0.1',
  ],
]

describe('the client of a request', () => {
  test.each(ROWS)('%s', (_rule, peer, headers, client) => {
    expect(clientIp(peer, new Headers(headers), isTrusted)).toBe(client)
  })

  test('without trusted proxies no header is trusted', () => {
    const headers = new Headers({ 'x-forwarded-for': '198.51.100.7' })
    expect(clientIp('127.0.0.1', headers, trustedProxies([]))).toBe('127.0.0.1')
  })
})

describe('the key under which a client is counted', () => {
  test('IPv4 by address', () => {
    expect(countingKey('192.0.2.1')).toBe('192.0.2.1')
  })

  test('IPv6 by /64', () => {
    expect(countingKey('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::/64')
    expect(countingKey('2001:db8:1:2::ffff')).toBe(countingKey('2001:db8:1:2:3:4:5:6'))
    expect(countingKey('2001:db8:1:3::1')).not.toBe(countingKey('2001:db8:1:2::1'))
  })
})
