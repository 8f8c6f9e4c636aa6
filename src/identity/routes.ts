/** Operations on members and their tokens. All need the organization's key or an administrator. */
import { created, noContent, type Operation, ok, operation } from '../http/operation.ts'
import { keyset, toPage } from '../http/paging.ts'
import { uuidOf } from '../http/parameters.ts'
import type { MemberRow, Members } from './members.ts'
import {
  CreateUserToken,
  MemberPage,
  MemberQuery,
  NewUserToken,
  Removal,
  RemoveMemberQuery,
  UserTokenPage,
  UserTokenQuery,
} from './model.ts'
import type { UserToken, UserTokenRow, UserTokens } from './user-tokens.ts'

const MEMBERS = '/v3/rest/members'
const MEMBER = `${MEMBERS}/{memberId}`
const TOKENS = '/v3/rest/user-tokens'
const TAG = 'Members'

const NO_MEMBER = 'member_not_found'
const NO_TOKEN = 'user_token_not_found'

const memberOrder = keyset('members', ['integer', 'uuid'])
const tokenOrder = keyset('user-tokens', ['integer', 'uuid'])

/** Everything under `/v3/rest/members` and `/v3/rest/user-tokens`. */
export function memberOperations(members: Members, tokens: UserTokens): readonly Operation[] {
  return [
    listMembers(members),
    removeMember(members),
    revokeMemberTokens(tokens),
    listUserTokens(tokens),
    createUserToken(tokens),
    revokeUserToken(tokens),
  ]
}

const listMembers = (members: Members) =>
  operation({
    id: 'listMembers',
    method: 'GET',
    path: MEMBERS,
    tag: TAG,
    summary: 'List members',
    description: 'The users of the organization, newest first. `removed=true` lists former members instead.',
    access: 'organizationOrUser',
    role: 'administrator',
    query: MemberQuery,
    success: { status: 200, description: 'A page of members', schema: MemberPage },
    async handler({ principal, query }) {
      const { limit, cursor, removed } = query()
      const slice = { after: memberOrder.decode(cursor), limit }
      const rows = await members.list(principal.organizationId, removed, slice)
      const next = (row: MemberRow) => memberOrder.encode([row.joinedMicroseconds, row.id])
      return ok(toPage(rows, limit, next, memberResource))
    },
  })

const removeMember = (members: Members) =>
  operation({
    id: 'removeMember',
    method: 'DELETE',
    path: MEMBER,
    params: { memberId: uuidOf('member') },
    tag: TAG,
    summary: 'Remove a member',
    description:
      'The organization refuses every token of the user at once, including tokens of an OpenID Connect issuer. Other processes ' +
      'follow within 5 seconds. The user stays a member of other organizations. Nothing is deleted: recordings, shared folders ' +
      'and upload batches stay as they are. Private folders move to the member in `transferTo`. Without it they stay the former ' +
      'member’s and are hidden; repeat the request with `transferTo` to hand them over later. A user who is added ' +
      'again finds them as they were and needs a new token. Playback and upload URLs that the user has received work until they expire.',
    access: 'organizationOrUser',
    role: 'administrator',
    query: RemoveMemberQuery,
    success: { status: 200, description: 'What the removed member owned', schema: Removal },
    errors: [NO_MEMBER],
    async handler({ principal: { organizationId }, id, query }) {
      const { id: userId } = await members.find(organizationId, id('memberId', NO_MEMBER))
      return ok(await members.remove(organizationId, userId, query().transferTo?.toLowerCase()))
    },
  })

const revokeMemberTokens = (tokens: UserTokens) =>
  operation({
    id: 'revokeMemberTokens',
    method: 'DELETE',
    path: `${MEMBER}/user-tokens`,
    params: { memberId: uuidOf('member') },
    tag: TAG,
    summary: 'Revoke every token of a member',
    description:
      'The organization refuses every token that was issued to the user before now. This includes tokens of an OpenID Connect ' +
      'issuer and unlisted tokens of older versions. Other processes follow within 5 seconds.',
    access: 'organizationOrUser',
    role: 'administrator',
    success: { status: 204, description: 'The tokens are revoked' },
    errors: [NO_MEMBER],
    async handler({ principal, id }) {
      await tokens.refuseUserTokensOf(principal.organizationId, id('memberId', NO_MEMBER))
      return noContent()
    },
  })

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
      'Creates an access token of a member. It is valid in this organization only, and shown in this response only. ' +
      'The answer is 409 if an OpenID Connect issuer makes the tokens (`OIDC_ISSUER`).',
    access: 'organizationOrUser',
    role: 'administrator',
    body: CreateUserToken,
    example: {
      userId: '01a1fdc2-308c-730f-afc3-7288cab37998',
      name: 'Ada’s laptop',
      expiresInSeconds: 2_592_000,
    },
    success: { status: 201, description: 'The token', schema: NewUserToken },
    errors: [NO_MEMBER, 'external_token_issuer'],
    async handler({ principal, body }) {
      const { token, ...row } = await tokens.createMemberToken(principal.organizationId, await body())
      return created(`${TOKENS}/${row.id}`, { ...tokenResource(row), token })
    },
  })

const revokeUserToken = (tokens: UserTokens) =>
  operation({
    id: 'revokeUserToken',
    method: 'DELETE',
    path: `${TOKENS}/{tokenId}`,
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
    async handler({ principal, id }) {
      await tokens.refuseUserToken(principal.organizationId, id('tokenId', NO_TOKEN))
      return noContent()
    },
  })

function memberResource({ id, email, name, joinedAt, removedAt }: MemberRow) {
  return { id, email, name, joinedAt, removedAt }
}

function tokenResource(row: UserToken) {
  const { id, userId, name, restricted, createdAt, expiresAt, lastUsedAt, revokedAt } = row
  return { id, userId, name, restricted, createdAt, expiresAt, lastUsedAt, revokedAt }
}
