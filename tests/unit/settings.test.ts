/** The declarations of the settings and their reader agree. */
import { describe, expect, test } from 'bun:test'
import { loadConfig } from '../../src/app/config.ts'
import { SETTINGS } from '../../src/app/settings/table.ts'

/** Values that make the reader ask for every variable. */
const EVERYTHING = {
  OIDC_ISSUER: 'https://issuer.test',
  OIDC_AUDIENCE: 'earshot',
  OIDC_JWKS_URL: 'https://issuer.test/keys',
  ANALYZE_URL: 'https://chat.test',
  ANALYZE_MODEL: 'm',
  TRANSCRIBE_URL: 'https://speech.test',
  TRANSCRIBE_MODEL: 'm',
  REDIS_URL: 'rediss://redis.test',
  S3_BUCKET: 'calls',
  AWS_ACCESS_KEY_ID: 'id',
  AWS_SECRET_ACCESS_KEY: 'secret',
}

describe('settings', () => {
  test('every declared variable is read, and no other', () => {
    const asked = new Set<string>()
    loadConfig(
      new Proxy<Record<string, string>>(EVERYTHING, {
        get(target, name) {
          asked.add(String(name))
          return target[String(name)]
        },
      }),
    )
    expect([...asked].sort()).toEqual(Object.keys(SETTINGS).sort())
  })

  test('every default is an allowed value', () => {
    for (const [name, setting] of Object.entries(SETTINGS))
      if ('default' in setting)
        expect(() => loadConfig({ ...EVERYTHING, [name]: String(setting.default) })).not.toThrow()
  })
})
