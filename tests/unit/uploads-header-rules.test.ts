/** Headers of upload requests: understood completely, or not at all. */
import { describe, expect, test } from 'bun:test'
import {
  dialectOf,
  isOffsetStream,
  methodOf,
  parseBytes,
  parseChecksum,
  parseContentRange,
} from '../../src/calls/uploads/http/header.rules.ts'
import { shownPath } from '../../src/http/shown-path.ts'

describe('Content-Range', () => {
  test.each([
    ['bytes 0-0/1', { kind: 'bytes', first: 0, last: 0, total: 1 }],
    ['bytes 0-524287/2000000', { kind: 'bytes', first: 0, last: 524_287, total: 2_000_000 }],
    ['Bytes 5-9/*', { kind: 'bytes', first: 5, last: 9, total: null }],
    ['bytes  1-2 / 3', { kind: 'bytes', first: 1, last: 2, total: 3 }],
    ['bytes */2000000', { kind: 'probe', total: 2_000_000 }],
    ['bytes */*', { kind: 'probe', total: null }],
    ['bytes 0-9007199254740990/9007199254740991', { last: 9_007_199_254_740_990 }],
  ] as const)('is understood: %s', (text, range) => {
    expect(parseContentRange(text)).toMatchObject(range)
  })

  test.each([
    '',
    'bytes',
    'bytes 0-1',
    'bytes 2-1/3',
    'bytes 0-3/3',
    'bytes 0-/3',
    'bytes -1/3',
    'bytes 0-1/-3',
    'bytes=0-1/3',
    'items 0-1/3',
    'bytes 0-1/3, 4-5/6',
    'bytes 0-1/0x3',
    'bytes 1e0-2/3',
    'bytes 0-9007199254740992/9007199254740993',
    'bytes */9007199254740993',
    'bytes 00000000000000000-1/3',
  ])('is not understood: %p', (text) => {
    expect(parseContentRange(text)).toBeNull()
  })
})

test('a number of bytes consists of digits and is a safe integer', () => {
  expect(['0', '42', '007', '9007199254740991'].map(parseBytes)).toEqual([0, 42, 7, 9_007_199_254_740_991])
  for (const text of [null, '', '-1', '+1', '1.0', '1e3', '0x1', '1 1', '9007199254740992', '٣'])
    expect(parseBytes(text)).toBeNull()
})

test('a checksum is an offered algorithm and a digest of its length', () => {
  const sha1 = parseChecksum('sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=')
  expect(sha1?.algorithm).toBe('sha1')
  expect(Buffer.from(sha1?.digest ?? []).toString('hex')).toBe('2aae6c35c94fcfb415dbe95f408b9ce91ee846ed')
  const refused = [
    '',
    'sha1',
    'sha1 Kq5s',
    'sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0',
    'toString AAAA',
    'crc32 AAAAAA=',
  ]
  expect(refused.map(parseChecksum)).toEqual(refused.map(() => null))
})

test('the dialect follows from the method, that of a PUT from Content-Range', () => {
  const dialect = (method: string, headers = {}) => dialectOf(method, new Headers(headers))
  expect(['OPTIONS', 'HEAD', 'PATCH', 'DELETE'].map((method) => dialect(method))).toEqual(
    Array(4).fill('tus'),
  )
  expect(dialect('OPTIONS', { 'access-control-request-method': 'PATCH' })).toBe('preflight')
  expect(dialect('PUT')).toBe('plain')
  expect(dialect('PUT', { 'content-range': 'anything' })).toBe('range')
  expect(['GET', 'POST', 'TRACE'].map((method) => dialect(method))).toEqual(Array(3).fill('none'))
})

test('X-HTTP-Method-Override overrides the method', () => {
  expect(methodOf('POST', new Headers())).toBe('POST')
  expect(methodOf('POST', new Headers({ 'x-http-method-override': 'patch' }))).toBe('PATCH')
  expect(methodOf('HEAD', new Headers({ 'x-http-method-override': '' }))).toBe('HEAD')
})

test('the type of a tus PATCH may have parameters and any case', () => {
  expect(isOffsetStream('application/offset+octet-stream')).toBe(true)
  expect(isOffsetStream('Application/Offset+Octet-Stream; charset=binary')).toBe(true)
  expect([null, '', 'application/offset+octet-streams', 'text/plain'].map(isOffsetStream)).not.toContain(true)
})

test('a path is logged without its token', () => {
  const token = 'aB3-_'.repeat(9).slice(0, 43)
  expect(shownPath(`/uploads/${token}`)).toBe('/uploads/…')
  expect(shownPath('/uploads/short')).toBe('/uploads/…')
  expect(shownPath(`/uploads/${token}/more`)).toBe('/uploads/…')
  expect(shownPath(`/prefix/uploads/${token}`)).toBe('/prefix/uploads/…')
  for (const wrong of ['/Uploads/', '//uploads//', '/uploads%2F', '/prefix%2fuploads%2f'])
    expect(shownPath(`${wrong}${token}`)).toBe(`${wrong}…`)
  const status = `/v3/rest/recordings/${crypto.randomUUID()}/uploads/${crypto.randomUUID()}`
  expect([status, '/uploads/', '/uploads', '/v3/rest/recordings'].map(shownPath)).toEqual([
    status,
    '/uploads/',
    '/uploads',
    '/v3/rest/recordings',
  ])
})
