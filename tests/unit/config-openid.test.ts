/** Settings of OpenID Connect: who makes user tokens, and with whom people sign in. */
import { describe, expect, test } from 'bun:test'
import { loadConfig } from '../../src/app/config.ts'

const OIDC_ISSUER = 'https://login.example.com'
const TOKENS = { OIDC_ISSUER, OIDC_AUDIENCE: 'earshot', OIDC_JWKS_URL: 'https://login.example.com/keys' }
const SIGN_IN = { OIDC_ISSUER, OIDC_CLIENT_ID: 'client' }
const ORGANIZATION = '01A1FDC2-308C-730F-AFC3-7288CAB37998'

describe('settings of OpenID Connect', () => {
  test('none: the service makes tokens, and nobody signs in with a provider', () => {
    expect(loadConfig({})).toMatchObject({ oidc: null, openId: null })
  })

  test('an audience: the issuer makes tokens', () => {
    expect(loadConfig(TOKENS)).toMatchObject({ oidc: { audience: 'earshot' }, openId: null })
  })

  test('a client id: people sign in, and the service makes tokens', () => {
    const signIn = {
      issuer: OIDC_ISSUER,
      clientId: 'client',
      clientSecret: null,
      trustEmail: false,
      newUsers: null,
    }
    expect(loadConfig(SIGN_IN)).toMatchObject({ oidc: null, openId: signIn })
  })

  test('both: the issuer makes tokens, and people sign in', () => {
    const config = loadConfig({ ...TOKENS, ...SIGN_IN, OIDC_CLIENT_SECRET: 'x' })
    expect(config).toMatchObject({ oidc: { audience: 'earshot' }, openId: { clientSecret: 'x' } })
  })

  test('domains and an organization: new users', () => {
    const env = {
      ...SIGN_IN,
      OIDC_ALLOWED_DOMAINS: ' Example.com, b.example ',
      OIDC_ORGANIZATION: ORGANIZATION,
    }
    const newUsers = { domains: ['example.com', 'b.example'], organizationId: ORGANIZATION.toLowerCase() }
    expect(loadConfig(env).openId?.newUsers).toEqual(newUsers)
  })

  test.each([
    [{ OIDC_CLIENT_ID: 'client' }, 'OIDC_ISSUER is not set'],
    [{ OIDC_ISSUER }, 'OIDC_AUDIENCE is not set'],
    [{ OIDC_ISSUER, OIDC_AUDIENCE: 'x' }, 'OIDC_JWKS_URL is not set'],
    [{ ...SIGN_IN, OIDC_AUDIENCE: 'x' }, 'OIDC_JWKS_URL is not set'],
    [{ ...SIGN_IN, OIDC_ALLOWED_DOMAINS: 'example.com' }, 'OIDC_ORGANIZATION is not set'],
    [
      { ...SIGN_IN, OIDC_ALLOWED_DOMAINS: 'example', OIDC_ORGANIZATION: ORGANIZATION },
      'OIDC_ALLOWED_DOMAINS is "example"',
    ],
    [
      { ...SIGN_IN, OIDC_ALLOWED_DOMAINS: 'a@b.example', OIDC_ORGANIZATION: ORGANIZATION },
      'OIDC_ALLOWED_DOMAINS',
    ],
    [
      { ...SIGN_IN, OIDC_ALLOWED_DOMAINS: 'b.example', OIDC_ORGANIZATION: 'acme' },
      'OIDC_ORGANIZATION is "acme"',
    ],
  ])('%j is refused', (env, message) => {
    expect(() => loadConfig(env)).toThrow(message)
  })
})
