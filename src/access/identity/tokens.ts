/**
 * User access tokens (JSON Web Tokens, RFC 7519). An OpenID Connect issuer signs them if one is configured. Otherwise the
 * service signs them with its own key.
 *
 * The accepted algorithms are listed here; the token does not choose (RFC 8725 section 3.1). Issuer, audience and expiry
 * are always checked. `jose` is loaded with the first token, to keep the start short.
 */
import type { JWTPayload } from 'jose'
import type { Config } from '../../kernel/config.ts'
import type { Clock } from '../../platform/clock.ts'
import { AppError } from '../../platform/errors.ts'
import { isExactAddress } from '../../platform/validation/user-address.ts'
import { ensureSigningKey, readSigningKey } from './signing-key.ts'

const OWN_ISSUER = 'earshot'
const OWN_AUDIENCE = 'earshot-api'
export const OIDC_ALGORITHMS: readonly string[] = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]
/** Tolerated difference in seconds between the clocks of the issuer and of this machine. */
const CLOCK_TOLERANCE = 5
const KEY_SET_TIMEOUT_MS = 5_000

/** `jose` error codes that concern the key set's server, not the token. */
const KEY_SET_UNREACHABLE = new Set(['ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID', 'ERR_JOSE_GENERIC'])

/** The user of a valid token. Own tokens carry the user's id, an issuer's tokens an e-mail address. */
type Subject = { readonly userId: string } | { readonly email: string }

/** A token with a valid signature, issuer, audience and expiry. PostgreSQL knows whether it was revoked. */
export interface GoodToken {
  readonly subject: Subject
  readonly expiresAt: Date
  /** `jti` of an own token. Null for tokens of an issuer and of versions that wrote no `jti`. */
  readonly tokenId: string | null
  /** `iat` minus the clock tolerance; null if the token has none. */
  readonly issuedAt: Date | null
}

type Verdict =
  | GoodToken
  /** One sentence for the caller. */
  | { readonly refused: string }

export interface Tokens {
  /** @throws AppError 503 if the issuer's keys cannot be read */
  verify(token: string): Promise<Verdict>
  /** False if an issuer is configured, which then makes the tokens. */
  readonly signs: boolean
  /** @throws Error if an issuer is configured */
  sign(token: UnsignedToken): Promise<SignedToken>
}

export interface UnsignedToken {
  /** `jti` (RFC 7519 section 4.1.7): a UUID. */
  readonly id: string
  readonly userId: string
  readonly lifetimeSeconds: number
}

export interface SignedToken {
  readonly id: string
  readonly userId: string
  readonly expiresAt: Date
  /** The compact form. It is never stored. */
  readonly text: string
}

type TokenDeps = { readonly config: Pick<Config, 'dataDir' | 'secretKey' | 'oidc'>; readonly clock: Clock }

export function createTokens(deps: TokenDeps): Tokens {
  const { oidc } = deps.config
  return oidc === null ? ownTokens(deps) : issuerTokens(deps, oidc)
}

function ownTokens({ config, clock }: TokenDeps): Tokens {
  let key: ReturnType<typeof load> | null = null
  async function load() {
    const jwk = await readSigningKey(config)
    if (jwk === null) return null
    const { importJWK } = await import('jose')
    const { d: _, ...publicJwk } = jwk
    return importJWK(publicJwk, 'EdDSA')
  }
  return {
    async verify(token) {
      key ??= load()
      const publicKey = await key.catch((error: unknown) => {
        key = null
        throw error
      })
      if (publicKey === null) {
        key = null // another process may create one later
        return { refused: 'The access token was not signed by this service.' }
      }
      const { jwtVerify } = await import('jose')
      return judge(clock, async (options) => {
        const { payload } = await jwtVerify(token, publicKey, {
          ...options,
          algorithms: ['EdDSA'],
          issuer: OWN_ISSUER,
          audience: OWN_AUDIENCE,
        })
        if (typeof payload.sub !== 'string') return null
        return { payload, subject: { userId: payload.sub }, tokenId: payload.jti ?? null, tolerance: 0 }
      })
    },
    signs: true,
    async sign({ id, userId, lifetimeSeconds }) {
      const { importJWK, SignJWT } = await import('jose')
      const jwk = await ensureSigningKey(config)
      const issuedAt = Math.floor(clock.now().getTime() / 1000)
      const expiresAt = issuedAt + lifetimeSeconds
      const text = await new SignJWT({})
        .setProtectedHeader({ alg: 'EdDSA', typ: 'JWT', kid: jwk.kid })
        .setJti(id)
        .setSubject(userId)
        .setIssuer(OWN_ISSUER)
        .setAudience(OWN_AUDIENCE)
        .setIssuedAt(issuedAt)
        .setExpirationTime(expiresAt)
        .sign(await importJWK(jwk, 'EdDSA'))
      return { id, userId, expiresAt: new Date(expiresAt * 1000), text }
    },
  }
}

/** The keys of the issuer. They are fetched when they are first needed. */
export async function createKeySet({ jwksUrl }: Pick<NonNullable<Config['oidc']>, 'jwksUrl'>) {
  const { createRemoteJWKSet } = await import('jose')
  return createRemoteJWKSet(new URL(jwksUrl), { timeoutDuration: KEY_SET_TIMEOUT_MS })
}

function issuerTokens({ clock }: TokenDeps, oidc: NonNullable<Config['oidc']>): Tokens {
  let keySet: ReturnType<typeof createKeySet> | null = null
  return {
    async verify(token) {
      const { jwtVerify } = await import('jose')
      keySet ??= createKeySet(oidc)
      const keys = await keySet
      return judge(clock, async (options) => {
        const { payload } = await jwtVerify(token, keys, {
          ...options,
          algorithms: [...OIDC_ALGORITHMS],
          // The comparison is exact. Some issuers end in a slash, which the configuration strips.
          issuer: [oidc.issuer, `${oidc.issuer}/`],
          audience: oidc.audience,
          clockTolerance: CLOCK_TOLERANCE,
        })
        const { email, email_verified: isVerified } = payload
        if (typeof email !== 'string' || isVerified === false || !isExactAddress(email)) return null
        const subject = { email }
        return { payload, subject, tokenId: null, tolerance: CLOCK_TOLERANCE }
      })
    },
    signs: false,
    async sign() {
      throw new Error('The issuer in OIDC_ISSUER makes the tokens; this service signs none.')
    },
  }
}

interface Checked {
  readonly payload: JWTPayload
  readonly subject: Subject
  readonly tokenId: string | null
  /** Seconds by which the clock of the token's issuer may be ahead of ours. */
  readonly tolerance: number
}

/** Runs one verification and turns the errors of `jose` into a verdict. */
async function judge(
  clock: Clock,
  check: (options: { currentDate: Date; requiredClaims: string[] }) => Promise<Checked | null>,
): Promise<Verdict> {
  try {
    const checked = await check({ currentDate: clock.now(), requiredClaims: ['sub', 'exp'] })
    if (checked === null) return { refused: 'The access token names no verified e-mail address.' }
    const { payload, subject, tokenId, tolerance } = checked
    return {
      subject,
      tokenId,
      issuedAt: issueTime(payload, tolerance),
      expiresAt: new Date((payload.exp ?? 0) * 1000),
    }
  } catch (error) {
    const { errors } = await import('jose')
    if (error instanceof errors.JWTExpired) return { refused: 'The access token has expired.' }
    if (error instanceof errors.JOSEError && !KEY_SET_UNREACHABLE.has(error.code))
      return { refused: 'The access token is not valid.' }
    if (error instanceof errors.JOSEError || isFetchError(error))
      throw new AppError('unavailable', 'The keys of the token issuer cannot be read at the moment.', {
        headers: { 'retry-after': '1' },
        cause: error,
      })
    throw error
  }
}

/** Seconds since 1970 that both a `Date` and a timestamptz can hold. */
const MAX_SECONDS = 1e11

function issueTime({ iat }: JWTPayload, tolerance: number): Date | null {
  if (typeof iat !== 'number' || !(Math.abs(iat) < MAX_SECONDS)) return null
  return new Date((iat - tolerance) * 1000)
}

/** Bun's `fetch` rejects with an `Error` that carries a `code`; other runtimes with a `TypeError`. */
function isFetchError(error: unknown): boolean {
  return error instanceof Error && (error instanceof TypeError || 'code' in error)
}
