/**
 * The pages of a sign-in with OpenID Connect. What the answer of the provider must match is in a cookie, so the answer counts only in
 * the browser that asked (login CSRF), and only once.
 */
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { queryOf } from '../../http/address.ts'
import { readCookie, setCookie } from '../../http/session-cookie.ts'
import type { Config } from '../../kernel/config.ts'
import type { Alongside } from '../../platform/db/alongside.ts'
import { AppError } from '../../platform/errors.ts'
import { accountAddress, normalAddress } from '../../platform/validation/user-address.ts'
import { recorded } from '../audit/change.ts'
import type { Identity, User } from '../identity/service.ts'
import { redirect } from './html.ts'
import { OPENID_CALLBACK_PATH, returnPathOf } from './link.rules.ts'
import type { OpenId, Person } from './openid.ts'
import type { PageRequest } from './page-request.ts'
import { type StartSessionDeps, startSession } from './start-session.ts'

export type OpenIdPagesDeps = StartSessionDeps & {
  readonly config: Config
  readonly identity: Pick<Identity, 'admitUser' | 'findUserAnywhere'>
  /** Null: no provider is configured. */
  readonly openId: OpenId | null
}

const COOKIE = 'earshot-openid'
const ATTEMPT_SECONDS = 600

const StoredAttempt = Type.Object({
  state: Type.String(),
  nonce: Type.String(),
  verifier: Type.String(),
  to: Type.String(),
})

export async function startOpenId(
  { config, openId }: OpenIdPagesDeps,
  pageRequest: PageRequest,
): Promise<Response> {
  if (openId === null) throw new AppError('not_found', 'No sign-in provider is configured.')
  await pageRequest.countAttempt()
  const { url, attempt } = await openId.start(`${pageRequest.baseUrl}${OPENID_CALLBACK_PATH}`)
  const stored = { ...attempt, to: returnPathOf(queryOf(pageRequest.request).get('to')) }
  const value = Buffer.from(JSON.stringify(stored)).toString('base64url')
  return redirect(url, [setCookie(pageRequest.request, config, COOKIE, value, ATTEMPT_SECONDS)])
}

export async function finishOpenId(deps: OpenIdPagesDeps, pageRequest: PageRequest): Promise<Response> {
  const { config, openId } = deps
  const { request } = pageRequest
  if (openId === null) throw new AppError('not_found', 'No sign-in provider is configured.')
  const stored = storedAttempt(readCookie(request, config, COOKIE))
  if (stored === null)
    throw new AppError('unauthenticated', 'This sign-in was not started in this browser. Start it again.')
  const redirectUri = `${pageRequest.baseUrl}${OPENID_CALLBACK_PATH}`
  const callback = new URL(`${redirectUri}?${queryOf(request)}`)
  const person = await openId.finish(callback, stored, redirectUri)
  const userId = await userOf(deps, person)
  return startSession(deps, pageRequest, userId, returnPathOf(stored.to), [
    setCookie(request, config, COOKIE, '', 0),
  ])
}

function storedAttempt(cookie: string | null) {
  try {
    const value: unknown = JSON.parse(Buffer.from(cookie ?? '', 'base64url').toString())
    return Value.Check(StoredAttempt, value) ? value : null
  } catch {
    return null
  }
}

/** The audit entry: the new member is its author. */
const joined = (organizationId: string): Alongside<User> => {
  return (tx, user) => {
    const principal = { kind: 'user', organizationId, userId: user.id, role: 'viewer' } as const
    const details = { role: 'viewer', by: 'openid' }
    return recorded<User>(
      { principal },
      'member.created',
      ({ id }) => id,
      () => details,
    )(tx, user)
  }
}

/**
 * A known user, or a new one of an allowed domain. Who is known only because another organization added them joins, too.
 * @returns the id
 */
async function userOf({ config, identity, log }: OpenIdPagesDeps, { email, name }: Person): Promise<string> {
  const known = await identity.findUserAnywhere(email)
  const newUsers = config.openId?.newUsers ?? null
  const address = normalAddress(accountAddress(email) ?? '')
  const admitted = newUsers?.domains.includes(address?.slice(address.lastIndexOf('@') + 1) ?? '')
    ? await identity.admitUser(newUsers.organizationId, { email, name }, joined(newUsers.organizationId))
    : null
  if (known !== null) return known.id
  if (admitted === null)
    throw new AppError('unauthenticated', 'You do not have an account here. Ask an administrator to add you.')
  log.info({ userId: admitted.id }, 'user joined by OpenID Connect')
  return admitted.id
}
