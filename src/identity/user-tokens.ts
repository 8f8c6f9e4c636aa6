/**
 * Use cases of user tokens: issue, list, take back.
 *
 * The rule: an organization decides about itself only. A token that it issues is good in no other organization, and a token
 * that it takes back is refused there and nowhere else. The operator, by command line, decides for every organization.
 */
import type { TimeSlice } from '../platform/db/keyset.ts'
import type { Sql } from '../platform/db/pool.ts'
import { transaction } from '../platform/db/transaction.ts'
import { AppError } from '../platform/errors.ts'
import { isUuid, type NewId } from '../platform/ids.ts'
import { nameOf } from '../platform/validation/names.ts'
import { lockMember } from './members.store.ts'
import type { CreateUserToken } from './model.ts'
import { DEFAULT_LIFETIME_SECONDS } from './model.ts'
import type { SignedToken, Tokens, UnsignedToken } from './tokens.ts'
import * as store from './user-tokens.store.ts'

export type { UserToken, UserTokenFilter, UserTokenRow } from './user-tokens.store.ts'

export interface UserTokens {
  /** Signs and stores nothing: whoever calls it inserts the row. @throws Error where an issuer is configured */
  signUserToken(token: UnsignedToken): Promise<SignedToken>
  /** A token for every organization of the user. @throws AppError 409 where an OpenID Connect issuer is configured */
  createUserToken(userId: string, lifetimeSeconds: number, name?: string): Promise<string>
  /** A token for this organization alone. @throws AppError 400; 404 `member_not_found`; 409 as above */
  createMemberToken(
    organizationId: string,
    input: CreateUserToken,
  ): Promise<store.UserToken & { readonly token: string }>
  /** Newest first, one row more than the limit. */
  listUserTokens(
    organizationId: string,
    filter: store.UserTokenFilter,
    slice: TimeSlice,
  ): Promise<readonly store.UserTokenRow[]>
  /** Refused in this organization from now on, in every process. @throws AppError 404 `user_token_not_found` */
  refuseUserToken(organizationId: string, id: string): Promise<void>
  /** Also those of an issuer, and those without a row. @returns how many rows were live. @throws AppError 404 `member_not_found` */
  refuseUserTokensOf(organizationId: string, userId: string): Promise<number>
  /** Refused in every organization from now on. @throws AppError 404 `user_token_not_found` */
  revokeUserToken(id: string): Promise<void>
  /** As `refuseUserTokensOf`, in every organization. */
  revokeUserTokensOf(userId: string): Promise<number>
}

interface UserTokensDeps {
  readonly sql: Sql
  readonly newId: NewId
}

/** `forget` makes this process forget a user at once. */
export function createUserTokens(
  deps: UserTokensDeps,
  tokens: Tokens,
  forget: (id: string) => void,
): UserTokens {
  const { sql, newId } = deps
  return {
    signUserToken: tokens.sign,
    async createUserToken(userId, lifetimeSeconds, name) {
      const signed = await sign(tokens, { id: newId(), userId, lifetimeSeconds })
      const { id, expiresAt } = signed
      const shown = name === undefined ? null : nameOf('name', name)
      await store.insertUserToken(sql, { id, userId, organizationId: null, name: shown, expiresAt })
      return signed.text
    },
    async createMemberToken(organizationId, input) {
      const { userId, lifetimeSeconds, name } = draftOf(input)
      const { id, expiresAt, text } = await sign(tokens, { id: newId(), userId, lifetimeSeconds })
      return transaction(sql, async (tx) => {
        if (!(await lockMember(tx, organizationId, userId))) throw noMember()
        await store.insertUserToken(tx, { id, userId, organizationId, name, expiresAt })
        const row = await store.findUserToken(tx, organizationId, id)
        if (row === null) throw new Error('a token was not stored')
        return { ...row, token: text }
      })
    },
    listUserTokens: (organizationId, filter, slice) =>
      store.selectUserTokens(sql, organizationId, filter, slice),
    async refuseUserToken(organizationId, id) {
      forgetOr(forget, isUuid(id) ? await store.refuseUserToken(sql, organizationId, id) : null)
    },
    async refuseUserTokensOf(organizationId, userId) {
      const count = await transaction(sql, async (tx) => {
        if (!isUuid(userId) || !(await lockMember(tx, organizationId, userId))) throw noMember()
        return store.refuseUserTokensOf(tx, organizationId, userId)
      })
      forget(userId)
      return count
    },
    async revokeUserToken(id) {
      forgetOr(forget, isUuid(id) ? await store.revokeUserToken(sql, id) : null)
    },
    async revokeUserTokensOf(userId) {
      const count = await store.revokeUserTokensOf(sql, userId)
      forget(userId)
      return count
    },
  }
}

function draftOf({ userId, name, expiresInSeconds = DEFAULT_LIFETIME_SECONDS }: CreateUserToken) {
  return {
    userId: userId.toLowerCase(),
    name: name === undefined || name === null ? null : nameOf('name', name),
    lifetimeSeconds: expiresInSeconds,
  }
}

async function sign(tokens: Tokens, token: UnsignedToken): Promise<SignedToken> {
  if (tokens.signs) return tokens.sign(token)
  throw new AppError(
    'external_token_issuer',
    'User tokens are made by the OpenID Connect issuer in OIDC_ISSUER; this service signs none.',
  )
}

function forgetOr(forget: (id: string) => void, userId: string | null): void {
  if (userId === null) throw new AppError('user_token_not_found', 'There is no such user token.')
  forget(userId)
}

export function noMember(): AppError {
  return new AppError('member_not_found', 'The organization has no such member.')
}
