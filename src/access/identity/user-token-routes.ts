/** `/v3/rest/user-tokens`: access tokens of members. */
import { Type } from '@sinclair/typebox'
import { created, noContent, type Operation, ok, operation } from '../../http/operation.ts'
import { keyset, toPage } from '../../http/paging.ts'
import { uuidOf } from '../../http/parameters.ts'
import { recorded } from '../audit/change.ts'
import {
  CreateUserToken,
  NewUserToken,
  UpdateUserToken,
  UserTokenPage,
  UserTokenQuery,
  UserToken as UserTokenSchema,
} from './model.ts'
import type { UserToken, UserTokenRow, UserTokens } from './user-tokens.ts'

const TOKENS = '/v3/rest/user-tokens'
const TOKEN = `${TOKENS}/{tokenId}`
const TAG = 'Members'

const NO_MEMBER = 'member_not_found'
const NO_TOKEN = 'user_token_not_found'

const tokenOrder = keyset('user-tokens', ['integer', 'uuid'])

export function userTokenOperations(tokens: UserTokens): readonly Operation[] {
  return [
    listUserTokens(tokens),
    createUserToken(tokens),
    getUserToken(tokens),
    renameUserToken(tokens),
    revokeUserToken(tokens),
  ]
}

const listUserTokens = (tokens: UserTokens) =>
  operation({
    id: 'listUserTokens',
    method: 'GET',
    path: TOKENS,
    tag: TAG,
    summary: 'List user tokens',
    description:
      'Lists tokens newest first, including revoked ones, without their text. A token disappears 30 days after it expired. ' +
      'Tokens of an OpenID Connect issuer are not listed.',
    access: 'organizationOrUser',
    role: 'administrator',
    query: UserTokenQuery,
    success: { status: 200, description: 'A page of tokens', schema: UserTokenPage },
    async handler({ principal, query }) {
      const { limit, cursor, userId } = query()
      const slice = { after: tokenOrder.decode(cursor), limit }
      const rows = await tokens.listUserTokens(principal.organizationId, { userId }, slice)
      const next = (row: UserTokenRow) => tokenOrder.encode([row.createdMicroseconds, row.id])
      return ok(toPage(rows, limit, next, tokenResource))
    },
  })

const createUserToken = (tokens: UserTokens) =>
  operation({
    id: 'createUserToken',
    method: 'POST',
    path: TOKENS,
    tag: TAG,
    summary: 'Create a user token',
    description:
      'Creates an access token of a member, with which the holder acts as this member. It is valid in this organization only, and shown in this response only. ' +
      'The answer is 409 if an OpenID Connect issuer makes the tokens (`OIDC_ISSUER`), or the person has not accepted the invitation. The token does not open operations on the ' +
      'person, such as their sessions and organizations.',
    access: 'organizationOrUser',
    role: 'administrator',
    body: CreateUserToken,
    example: {
      userId: '01a1fdc2-308c-730f-afc3-7288cab37998',
      name: 'Ada’s laptop',
      expiresInSeconds: 2_592_000,
    },
    success: { status: 201, description: 'The token', schema: NewUserToken },
    errors: [NO_MEMBER, 'external_token_issuer', 'invitation_open'],
    async handler(call) {
      const input = await call.body()
      const also = recorded<UserToken>(
        call,
        'user_token.created',
        (row) => row.id,
        (row) => ({ userId: row.userId }),
      )
      const { token, ...row } = await tokens.createMemberToken(call.principal.organizationId, input, also)
      return created(`${TOKENS}/${row.id}`, { ...tokenResource(row), token })
    },
  })

const getUserToken = (tokens: UserTokens) =>
  operation({
    id: 'getUserToken',
    method: 'GET',
    path: TOKEN,
    params: { tokenId: uuidOf('user token') },
    tag: TAG,
    summary: 'Read a user token',
    description: 'What is known about the token; never its text.',
    access: 'organizationOrUser',
    role: 'administrator',
    query: Type.Object({}),
    success: { status: 200, description: 'The token', schema: UserTokenSchema },
    errors: [NO_TOKEN],
    async handler({ principal, id, query }) {
      const row = await tokens.findUserToken(principal.organizationId, id('tokenId', NO_TOKEN))
      query()
      return ok(tokenResource(row))
    },
  })

const renameUserToken = (tokens: UserTokens) =>
  operation({
    id: 'renameUserToken',
    method: 'PATCH',
    path: TOKEN,
    params: { tokenId: uuidOf('user token') },
    tag: TAG,
    summary: 'Rename a user token',
    description:
      'Only tokens that are valid in this organization alone can be renamed. A token that is valid in every organization of its user ' +
      'answers 404.',
    access: 'organizationOrUser',
    role: 'administrator',
    body: UpdateUserToken,
    example: { name: 'Ada’s new laptop' },
    success: { status: 200, description: 'The token', schema: UserTokenSchema },
    errors: [NO_TOKEN],
    async handler(call) {
      const { organizationId } = call.principal
      const { id } = await tokens.findUserToken(organizationId, call.id('tokenId', NO_TOKEN))
      const { name } = await call.body()
      const also = recorded<UserToken>(call, 'user_token.updated', (row) => row.id)
      return ok(tokenResource(await tokens.renameUserToken(organizationId, id, name, also)))
    },
  })

const revokeUserToken = (tokens: UserTokens) =>
  operation({
    id: 'revokeUserToken',
    method: 'DELETE',
    path: TOKEN,
    params: { tokenId: uuidOf('user token') },
    tag: TAG,
    summary: 'Revoke a user token',
    description:
      'This organization refuses the token at once; other processes follow within 5 seconds. A token that is valid in every ' +
      'organization of its user stays valid in the others. Repeating the request changes nothing.',
    access: 'organizationOrUser',
    role: 'administrator',
    success: { status: 204, description: 'The token is revoked' },
    errors: [NO_TOKEN],
    async handler(call) {
      const id = call.id('tokenId', NO_TOKEN)
      const also = recorded<string>(
        call,
        'user_token.deleted',
        () => id,
        (userId) => ({ userId }),
      )
      await tokens.refuseUserToken(call.principal.organizationId, id, also)
      return noContent()
    },
  })

function tokenResource(row: UserToken) {
  const { id, userId, name, restricted, createdAt, expiresAt, lastUsedAt, revokedAt } = row
  return { id, userId, name, restricted, createdAt, expiresAt, lastUsedAt, revokedAt }
}
