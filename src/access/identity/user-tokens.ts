/**
 * Use cases of user tokens: issue, list, revoke.
 *
 * An organization decides for itself only: the tokens that it issues are valid in no other organization, and the tokens
 * that it revokes are refused nowhere else. The operator decides for every organization on the command line.
 */
import { type Alongside, together } from '../../platform/db/alongside.ts'
import type { TimeSlice } from '../../platform/db/keyset.ts'
import type { Sql } from '../../platform/db/pool.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { AppError } from '../../platform/errors.ts'
import { isUuid, type NewId } from '../../platform/ids.ts'
import { nameOf } from '../../platform/validation/names.ts'
import { findInvitation } from './invitations.store.ts'
import { findMember, lockMember, lockPerson } from './members.store.ts'
import type { CreateUserToken } from './model.ts'
import { DEFAULT_LIFETIME_SECONDS } from './model.ts'
import type { SignedToken, Tokens, UnsignedToken } from './tokens.ts'
import * as store from './user-tokens.store.ts'

export type { UserToken, UserTokenRow } from './user-tokens.store.ts'

export interface UserTokens {
  /** Signs a token. The caller stores its row. @throws Error if an issuer is configured */
  signUserToken(token: UnsignedToken): Promise<SignedToken>
  /** A token for every organization of the user. @throws AppError 409 if an OpenID Connect issuer is configured */
  createUserToken(userId: string, lifetimeSeconds: number, name?: string): Promise<string>
  /** A token for this organization alone. @throws AppError 400; 404 `member_not_found`; 409 `invitation_open`, or as above */
  createMemberToken(
    organizationId: string,
    input: CreateUserToken,
    also?: Alongside<store.UserToken>,
  ): Promise<store.UserToken & { readonly token: string }>
  /** @throws AppError 404 `user_token_not_found` */
  findUserToken(organizationId: string, id: string): Promise<store.UserToken>
  /** Only tokens of this organization alone can be renamed. @throws AppError 400; 404 `user_token_not_found` */
  renameUserToken(
    organizationId: string,
    id: string,
    name: string | null,
    also?: Alongside<store.UserToken>,
  ): Promise<store.UserToken>
  /** Newest first, with one row more than the limit. */
  listUserTokens(
    organizationId: string,
    filter: store.UserTokenFilter,
    slice: TimeSlice,
  ): Promise<readonly store.UserTokenRow[]>
  /** Every process refuses the token in this organization from now on. @throws AppError 404 `user_token_not_found` */
  refuseUserToken(organizationId: string, id: string, also?: Alongside<string>): Promise<void>
  /** Includes tokens of an issuer and tokens without a row. @returns the number of live rows. @throws AppError 404 `member_not_found` */
  refuseUserTokensOf(organizationId: string, userId: string, also?: Alongside<number>): Promise<number>
  /** Every process refuses the token in every organization from now on. @throws AppError 404 `user_token_not_found` */
  revokeUserToken(id: string): Promise<void>
  /** Like `refuseUserTokensOf`, in every organization. */
  revokeUserTokensOf(userId: string): Promise<number>
}

interface UserTokensDeps {
  readonly sql: Sql
  readonly newId: NewId
}

/** `forget` drops a user from the caches of this process. */
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
    async createMemberToken(organizationId, input, also) {
      const { userId, lifetimeSeconds, name } = draftOf(input)
      const { id, expiresAt, text } = await sign(tokens, { id: newId(), userId, lifetimeSeconds })
      return transaction(sql, async (tx) => {
        if (!(await lockMember(tx, organizationId, userId))) {
          if ((await findInvitation(tx, organizationId, userId)) === null) throw noMember()
          throw new AppError('invitation_open', 'The person has not accepted the invitation yet.')
        }
        await store.insertUserToken(tx, { id, userId, organizationId, name, expiresAt })
        const row = await store.findUserToken(tx, organizationId, id)
        if (row === null) throw new Error('a token was not stored')
        await also?.(tx, row)
        return { ...row, token: text }
      })
    },
    listUserTokens: (organizationId, filter, slice) =>
      store.selectUserTokens(sql, organizationId, filter, slice),
    async findUserToken(organizationId, id) {
      return (isUuid(id) ? await store.findUserToken(sql, organizationId, id) : null) ?? noToken()
    },
    async renameUserToken(organizationId, id, name, also) {
      const shown = name === null ? null : nameOf('name', name)
      return together(sql, also, async (query) => {
        if (!isUuid(id) || !(await store.renameUserToken(query, organizationId, id, shown))) noToken()
        return (await store.findUserToken(query, organizationId, id)) ?? noToken()
      })
    },
    async refuseUserToken(organizationId, id, also) {
      if (!isUuid(id)) noToken()
      forget(
        await together(
          sql,
          also,
          async (query) => (await store.refuseUserToken(query, organizationId, id)) ?? noToken(),
        ),
      )
    },
    async refuseUserTokensOf(organizationId, userId, also) {
      const count = await transaction(sql, async (tx) => {
        if (!isUuid(userId)) throw noMember()
        await lockPerson(tx, organizationId, userId)
        const member = await findMember(tx, organizationId, userId)
        if (member === null || member.status === 'former') throw noMember()
        const count = await store.refuseUserTokensOf(tx, organizationId, userId)
        await also?.(tx, count)
        return count
      })
      forget(userId)
      return count
    },
    async revokeUserToken(id) {
      forget((isUuid(id) ? await store.revokeUserToken(sql, id) : null) ?? noToken())
    },
    async revokeUserTokensOf(userId) {
      const count = await transaction(sql, (tx) => store.revokeUserTokensOf(tx, userId))
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
    'The OpenID Connect issuer in OIDC_ISSUER makes user tokens; this service signs none.',
  )
}

function noToken(): never {
  throw new AppError('user_token_not_found', 'There is no such user token.')
}

export function noMember(): AppError {
  return new AppError('member_not_found', 'The organization has no such member.')
}
