/** Tokens of OAuth clients: issued for this resource, with the scopes that the call needs. */
import { describe, expect, test } from 'bun:test'
import type { UserPrincipal } from '../../src/identity/authentication.ts'
import { assertScope, createAuthorize } from '../../src/mcp/http/authorize.ts'
import { AppError } from '../../src/platform/errors.ts'

const CONFIG = { publicBaseUrl: 'https://ears.example.com', oidc: null }
const USER = { kind: 'user', organizationId: 'o', userId: 'u' } as const
const request = () =>
  new Request('https://ears.example.com/mcp', { headers: { authorization: 'Bearer abc' } })

const authorize = (principal: UserPrincipal) =>
  createAuthorize({
    config: CONFIG,
    identity: { byToken: async () => principal },
    countFailure: async () => ({}),
  })(request(), null)

describe('a token', () => {
  test('for this resource, or for all, is accepted', async () => {
    for (const principal of [USER, { ...USER, audience: 'https://ears.example.com/mcp' }])
      expect(await authorize(principal)).toEqual(principal)
  })

  test.each(['https://ears.example.com', 'https://ears.example.com/mcp/', 'https://other.example.com/mcp'])(
    'for %s is 401',
    async (audience) => {
      const error = await authorize({ ...USER, audience }).catch((reason: AppError) => reason)
      expect(error).toMatchObject({ code: 'unauthenticated' })
      expect((error as AppError).headers['www-authenticate']).toContain('error="invalid_token"')
    },
  )
})

describe('the scopes of a token', () => {
  const scopeError = (scopes: readonly string[] | undefined, changes: boolean): AppError | null => {
    try {
      assertScope(request(), CONFIG, scopes === undefined ? USER : { ...USER, scopes }, changes)
      return null
    } catch (error) {
      return error as AppError
    }
  }

  test.each([
    [undefined, true, true],
    [undefined, false, true],
    [['tools:read'], false, true],
    [['tools:read', 'tools:write'], true, true],
    [['tools:read'], true, false],
    [['tools:write'], false, false],
    [[], false, false],
  ])('%j: a call that changes something: %p, allowed: %p', (scopes, changes, allowed) => {
    const error = scopeError(scopes, changes)
    expect(error === null).toBe(allowed)
    if (error !== null) expect(error).toBeInstanceOf(AppError)
  })

  test('that do not suffice are 403 with the scopes to ask for', () => {
    const error = scopeError(['tools:read'], true)
    expect(error?.code).toBe('insufficient_scope')
    expect(error?.headers['www-authenticate']).toBe(
      'Bearer realm="earshot", error="insufficient_scope", error_description="The access token lacks the scope tools:write.", ' +
        'resource_metadata="https://ears.example.com/.well-known/oauth-protected-resource/mcp", scope="tools:read tools:write"',
    )
  })
})
