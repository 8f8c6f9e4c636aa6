/** Origins of pages, and the actor of a response. */
import { describe, expect, test } from 'bun:test'
import { isAllowedOrigin, originOf, responseActorId } from '../../src/hear/widget/rules.ts'
import { isUuid } from '../../src/platform/ids.ts'

describe('originOf', () => {
  test.each([
    ['https://www.example.com', 'https://www.example.com'],
    ['https://www.example.com/', 'https://www.example.com'],
    ['HTTPS://WWW.Example.com:443', 'https://www.example.com'],
    ['http://localhost:8080', 'http://localhost:8080'],
    ['https://münchen.example', 'https://xn--mnchen-3ya.example'],
    ['http://[::1]:3000', 'http://[::1]:3000'],
  ])('%s is the origin %s', (text, origin) => expect(originOf(text)).toBe(origin))

  test.each([
    '',
    '*',
    'null',
    'www.example.com',
    'https://*.example.com',
    'https://www.example.com/path',
    'https://www.example.com?x',
    'https://user@www.example.com',
    'https://user:secret@www.example.com',
    'ftp://example.com',
    'file:///etc',
    'javascript:alert(1)',
    'https://a.example https://b.example',
    'https://',
    'https://a.example:99999',
  ])('%p is none', (text) => expect(originOf(text)).toBeNull())
})

describe('isAllowedOrigin', () => {
  const origins = ['https://www.example.com', 'http://localhost:8080']
  test.each(['https://www.example.com', 'http://localhost:8080'])('%s is allowed', (origin) =>
    expect(isAllowedOrigin(origins, origin)).toBe(true),
  )
  test.each([
    null,
    '',
    'null',
    'http://www.example.com',
    'https://www.example.com:8443',
    'https://www.example.com.evil.example',
    'https://evil.example/https://www.example.com',
  ])('%p is not', (origin) => expect(isAllowedOrigin(origins, origin)).toBe(false))
})

describe('responseActorId', () => {
  test('is a UUID that depends on each part and on where a part ends', () => {
    const ids = [
      responseActorId('a', 's', 'm'),
      responseActorId('b', 's', 'm'),
      responseActorId('a', 't', 'm'),
      responseActorId('a', 's', 'n'),
      responseActorId('a', 'sm', ''),
    ]
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.every(isUuid)).toBe(true)
    expect(responseActorId('a', 's', 'm')).toBe(ids[0]!)
  })
})
