/** Operations on members and their tokens. All need the organization's key or an administrator. */
import { Type } from '@sinclair/typebox'
import { baseUrlOf, mailBaseUrl } from '../../http/base-url.ts'
import { created, noContent, type Operation, ok, operation } from '../../http/operation.ts'
import { keyset, toPage } from '../../http/paging.ts'
import { uuidOf } from '../../http/parameters.ts'
import type { Config } from '../../kernel/config.ts'
import { DEFAULT_ROLE } from '../../kernel/roles.rules.ts'
import { recorded } from '../audit/change.ts'
import type { Member as FoundMember, MemberRow, Members, Removal as Removed } from './members.ts'
import {
  CreateMember,
  Member,
  MemberPage,
  MemberQuery,
  Removal,
  RemoveMemberQuery,
  UpdateMember,
} from './model.ts'
import type { Identity } from './service.ts'
import { userTokenOperations } from './user-token-routes.ts'
import type { UserTokens } from './user-tokens.ts'

const MEMBERS = '/v3/rest/members'
const MEMBER = `${MEMBERS}/{memberId}`
const TAG = 'Members'

const NO_MEMBER = 'member_not_found'

const memberOrder = keyset('members', ['integer', 'uuid'])

/** Everything under `/v3/rest/members` and `/v3/rest/user-tokens`. */
export function memberOperations(
  members: Members,
  identity: Identity,
  config: Pick<Config, 'publicBaseUrl'>,
): readonly Operation[] {
  return [
    listMembers(members),
    createMember(members, identity, config),
    getMember(members),
    updateMember(members),
    removeMember(members),
    revokeMemberTokens(identity),
    ...userTokenOperations(identity),
  ]
}

const listMembers = (members: Members) =>
  operation({
    id: 'listMembers',
    method: 'GET',
    path: MEMBERS,
    tag: TAG,
    summary: 'List members',
    description:
      'The users of the organization and those whom it invited, newest first. `removed=true` lists former members instead.',
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

const createMember = (members: Members, identity: Identity, config: Pick<Config, 'publicBaseUrl'>) =>
  operation({
    id: 'createMember',
    method: 'POST',
    path: MEMBERS,
    tag: TAG,
    summary: 'Add a member',
    description:
      'Creates a user with this e-mail address as a member. A person whom another organization knows is asked first (`status` is `invited`): by a mail with a link, and in the ' +
      'console. Until they accept, they have no access here, no token can be created for them, and their name is the one given here. Without `role` the member is an analyst. A former ' +
      'member finds private folders again and needs a new token.',
    access: 'organizationOrUser',
    role: 'administrator',
    body: CreateMember,
    example: { email: 'grace@example.com', name: 'Grace Hopper', role: 'analyst' },
    unique: ['email'],
    success: { status: 201, description: 'The member', schema: Member },
    errors: ['member_exists'],
    async handler(call) {
      const { email, name = email, role = DEFAULT_ROLE } = await call.body()
      const { organizationId } = call.principal
      const also = recorded<{ readonly id: string; readonly isInvited: boolean }>(
        call,
        'member.created',
        ({ id }) => id,
        ({ isInvited }) => ({ role, isInvited }),
      )
      const baseUrl = mailBaseUrl(config.publicBaseUrl, baseUrlOf(call.request, config))
      const { id } = await identity.addPerson(organizationId, { email, name, role, baseUrl }, also)
      return created(`${MEMBERS}/${id}`, memberResource(await members.find(organizationId, id)))
    },
  })

const getMember = (members: Members) =>
  operation({
    id: 'getMember',
    method: 'GET',
    path: MEMBER,
    params: { memberId: uuidOf('member') },
    tag: TAG,
    summary: 'Read a member',
    description: 'A present, invited or former member.',
    access: 'organizationOrUser',
    role: 'administrator',
    query: Type.Object({}),
    success: { status: 200, description: 'The member', schema: Member },
    errors: [NO_MEMBER],
    async handler({ principal, id, query }) {
      const member = await members.find(principal.organizationId, id('memberId', NO_MEMBER))
      query()
      return ok(memberResource(member))
    },
  })

const updateMember = (members: Members) =>
  operation({
    id: 'updateMember',
    method: 'PATCH',
    path: MEMBER,
    params: { memberId: uuidOf('member') },
    tag: TAG,
    summary: 'Change the role of a member',
    description:
      'Takes effect at once; other processes follow within 5 seconds. The last administrator keeps the role: 409 `last_administrator`. ' +
      'A former member is 404.',
    access: 'organizationOrUser',
    role: 'administrator',
    body: UpdateMember,
    example: { role: 'viewer' },
    success: { status: 200, description: 'The member', schema: Member },
    errors: [NO_MEMBER, 'last_administrator'],
    async handler(call) {
      const { organizationId } = call.principal
      const { id } = await members.find(organizationId, call.id('memberId', NO_MEMBER))
      const { role } = await call.body()
      const also = recorded<FoundMember>(
        call,
        'member.updated',
        (member) => member.id,
        () => ({ role }),
      )
      return ok(memberResource(await members.setRole(organizationId, id, role, also)))
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
      'again finds them as they were and needs a new token. The invitation of a person who has not accepted is withdrawn. The last administrator cannot be removed: 409 `last_administrator`. Playback and upload URLs that the user has received work until they expire.',
    access: 'organizationOrUser',
    role: 'administrator',
    query: RemoveMemberQuery,
    success: { status: 200, description: 'What the removed member owned', schema: Removal },
    errors: [NO_MEMBER, 'last_administrator'],
    async handler(call) {
      const { organizationId } = call.principal
      const { id: userId } = await members.find(organizationId, call.id('memberId', NO_MEMBER))
      const transferTo = call.query().transferTo?.toLowerCase()
      const also = recorded<Removed>(
        call,
        'member.deleted',
        ({ id }) => id,
        (removal) => ({ transferredTo: removal.transferredTo }),
      )
      return ok(await members.remove(organizationId, userId, transferTo, also))
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
    async handler(call) {
      const userId = call.id('memberId', NO_MEMBER)
      const also = recorded(call, 'member.tokens_revoked', () => userId)
      await tokens.refuseUserTokensOf(call.principal.organizationId, userId, also)
      return noContent()
    },
  })

function memberResource({ id, email, name, status, role, joinedAt, removedAt }: FoundMember) {
  return { id, email, name, status, role, joinedAt, removedAt }
}
