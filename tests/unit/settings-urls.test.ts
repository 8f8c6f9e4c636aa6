/** URLs of settings whose user name or password holds a character that ends it. */
import { describe, expect, test } from 'bun:test'
import { loadConfig } from '../../src/app/config.ts'

const load = (url: string) => loadConfig({ SMTP_URL: url, MAIL_FROM: 'earshot@example.com' })

describe('SMTP_URL', () => {
  test.each([
    'smtp://ann:pa#ss@mail.example:587',
    'smtp://ann:12#34@mail.example:587',
    'smtp://ann:12/34@mail.example:587',
    'smtp://ann:12?34@mail.example:587',
    'smtps://ann@example.com:#@mail.example',
  ])('%s is refused with what to write instead', (url) => {
    expect(() => load(url)).toThrow(/^SMTP_URL is \(value hidden\), but must be .*# as %23/)
  })

  test.each([
    'smtp://ann:pa%23ss@mail.example:587',
    'smtps://ann%40example.com:x@mail.example',
    'smtp://mail',
  ])('%s is taken', (url) => {
    expect(load(url).mail.smtpUrl).toBe(url)
  })
})

test('REDIS_URL is read alike', () => {
  expect(() => loadConfig({ REDIS_URL: 'redis://:12#34@cache:6379' })).toThrow(/# as %23/)
  expect(loadConfig({ REDIS_URL: 'redis://:12%2334@cache:6379/0' }).redisUrl).toContain('%23')
})
