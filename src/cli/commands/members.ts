/** Users of an organization and their access tokens. */

import type { Member, Removal } from '../../access/identity/members.ts'
import { DEFAULT_ROLE, isRole, ROLES, type Role } from '../../kernel/roles.rules.ts'
import { AppError } from '../../platform/errors.ts'
import { type Command, type Input, UsageError, wholeNumber } from '../command.ts'
import { inOrganization, ORG_FLAG } from '../in-organization.ts'
import { pairs, table } from '../output.ts'
import type { Services } from '../services.ts'

const SECONDS_A_DAY = 86_400
const DEFAULT_TOKEN_DAYS = 30
const MAX_TOKEN_DAYS = 3_650
const USER_FLAG = { value: 'id or address', summary: 'the user' } as const

const audit = () => import('../../access/audit/change.ts')

/** @throws UsageError */
function roleOf(text: string): Role {
  if (isRole(text)) return text
  throw new UsageError(`the role is ${JSON.stringify(text)}, but must be ${ROLES.join(', ')}`)
}

const users: readonly Command[] = [
  {
    name: 'user create',
    args: [],
    summary: 'Create a user in an organization, or add an existing one with this address',
    flags: {
      ...ORG_FLAG,
      email: { value: 'address', summary: 'e-mail address', required: true },
      name: { value: 'text', summary: 'display name (default: the address)' },
      role: { value: ROLES.join('|'), summary: `what the user may do (default: ${DEFAULT_ROLE})` },
    },
    async run(input) {
      const role = roleOf(input.flag('role') ?? DEFAULT_ROLE)
      return inOrganization(input, async (open, { id: organizationId }) => {
        const { byOperator, recorded } = await audit()
        const email = input.flag('email') ?? ''
        const user = await open.identity.createUser(
          organizationId,
          {
            email,
            name: input.flag('name') ?? email,
            role,
          },
          recorded<{ readonly id: string }>(
            byOperator(organizationId),
            'member.created',
            ({ id }) => id,
            () => ({ role }),
          ),
        )
        return {
          json: { organizationId, ...user, role },
          lines: pairs({ id: user.id, email: user.email, name: user.name, role }),
        }
      })
    },
  },
  {
    name: 'user list',
    args: [],
    summary: 'List the users of an organization, with those whom it invited',
    flags: { ...ORG_FLAG, removed: { summary: 'list removed users instead' } },
    async run(input) {
      return inOrganization(input, async (open, { id: organizationId }) => {
        const removed = input.has('removed')
        const rows = await listMembers(open, organizationId, removed)
        return {
          json: { organizationId, users: rows },
          lines: table(
            rows,
            {
              id: (row) => row.id,
              email: (row) => row.email,
              name: (row) => row.name,
              role: (row) => row.role,
              status: (row) => row.status,
            },
            'no users',
          ),
        }
      })
    },
  },
  {
    name: 'user role',
    args: ['user', 'role'],
    summary: `Change what a user may do in an organization: ${ROLES.join(', ')}`,
    flags: ORG_FLAG,
    async run(input) {
      const role = roleOf(input.arg('role'))
      return inOrganization(input, async (open, { id: organizationId }) => {
        const { byOperator, recorded } = await audit()
        const members = await membersOf(open)
        const user = await open.identity.findUser(organizationId, input.arg('user'))
        const also = recorded<Member>(
          byOperator(organizationId),
          'member.updated',
          ({ id }) => id,
          () => ({ role }),
        )
        const member = await members.setRole(organizationId, user.id, role, also)
        return {
          json: { organizationId, id: member.id, email: member.email, role: member.role },
          lines: [`${member.email} is ${role === 'viewer' ? 'a' : 'an'} ${role}`],
        }
      })
    },
  },
  {
    name: 'user link',
    args: [],
    rest: 'user',
    isRestOptional: true,
    summary:
      'Print a link that signs a user (id or address) in with a browser, once and within 15 minutes; the user may be left out where there is only one',
    flags: {},
    async run(input) {
      const { withServices } = await import('../services.ts')
      const { linkUrl, START_PATH } = await import('../../access/sign-in/link.rules.ts')
      const { localUrl } = await import('../../http/base-url.ts')
      return withServices(input, async ({ container: { config }, identity }) => {
        const [who, ...more] = input.rest
        if (more.length > 0) throw new UsageError('user link takes one user')
        const user = await (who === undefined ? identity.findOnlyUser() : identity.findUserAnywhere(who))
        if (user === null)
          throw new AppError(
            'member_not_found',
            who === undefined
              ? 'Name the user by id or address: this service does not have exactly one.'
              : `There is no user ${JSON.stringify(who)}.`,
          )
        const url = linkUrl(localUrl(config, config.port), await identity.createLink(user.id), START_PATH)
        return { json: { userId: user.id, email: user.email, url }, lines: [url] }
      })
    },
  },
  {
    name: 'user remove',
    args: ['user'],
    summary: 'Remove a user (id or address) from an organization; every token of the user is refused at once',
    flags: {
      ...ORG_FLAG,
      'transfer-to': {
        value: 'id or address',
        summary: 'the user who takes over the private folders; repeat the command to add it later',
      },
    },
    async run(input) {
      return inOrganization(input, async (open, { id: organizationId }) => {
        const { byOperator, recorded } = await audit()
        const members = await membersOf(open)
        const user = await members.find(organizationId, input.arg('user'))
        const heir = input.flag('transfer-to')
        const transferTo =
          heir === undefined ? undefined : (await open.identity.findUser(organizationId, heir)).id
        const also = recorded<Removal>(byOperator(organizationId), 'member.deleted', ({ id }) => id)
        const removal = await members.remove(organizationId, user.id, transferTo, also)
        return {
          json: { organizationId, ...removal },
          lines: [
            `removed ${user.email}`,
            ...(removal.privateFolders === 0 ? [] : [foldersLine(removal, heir)]),
          ],
        }
      })
    },
  },
]

function foldersLine(
  { privateFolders, privateRecordings }: { privateFolders: number; privateRecordings: number },
  heir: string | undefined,
): string {
  const folders = `${privateFolders} private folders, with ${privateRecordings} recordings that no other user could see`
  return heir === undefined
    ? `${folders}: hidden until you repeat this with --transfer-to or add the user again`
    : `${folders}: now owned by ${heir}`
}

/** Composes the members' use cases, which need more than identity. */
async function membersOf({ container, identity }: Services) {
  const [{ createMembers }, { createFolders }] = await Promise.all([
    import('../../access/identity/members.ts'),
    import('../../calls/folders/service.ts'),
  ])
  return createMembers({ ...container, identity, privateContent: createFolders(container).privateContent })
}

const PAGE = 10_000

/** Oldest first. */
async function listMembers(open: Services, organizationId: string, removed: boolean) {
  const rows = await (await membersOf(open)).list(organizationId, removed, { after: null, limit: PAGE })
  return rows.toReversed().map(({ joinedMicroseconds: _, ...member }) => member)
}

const tokens: readonly Command[] = [
  {
    name: 'token create',
    args: [],
    summary: 'Create an access token of a user',
    flags: {
      ...ORG_FLAG,
      user: { ...USER_FLAG, required: true },
      days: { value: 'number', summary: `days until it expires (default: ${DEFAULT_TOKEN_DAYS})` },
      name: { value: 'text', summary: 'what the token is for' },
    },
    async run(input) {
      const days = wholeNumber('--days', input.flag('days') ?? String(DEFAULT_TOKEN_DAYS), 1, MAX_TOKEN_DAYS)
      return inOrganization(input, async (open, { id: organizationId }) => {
        const user = await open.identity.findUser(organizationId, input.flag('user') ?? '')
        const seconds = days * SECONDS_A_DAY
        const userToken = await open.identity.createUserToken(user.id, seconds, input.flag('name'))
        return {
          json: { organizationId, userId: user.id, userToken, expiresInSeconds: seconds },
          lines: [userToken],
        }
      })
    },
  },
  {
    name: 'token list',
    args: [],
    summary: 'List the access tokens of users of an organization',
    flags: { ...ORG_FLAG, user: USER_FLAG },
    async run(input) {
      return inOrganization(input, async (open, { id: organizationId }) => {
        const userId = await userIdOf(open, organizationId, input)
        const filter = userId === undefined ? {} : { userId }
        const found = await open.identity.listUserTokens(organizationId, filter, { after: null, limit: PAGE })
        const rows = found.map(({ createdMicroseconds: _, ...token }) => token)
        return {
          json: { organizationId, userTokens: rows },
          lines: table(
            rows,
            {
              id: (row) => row.id,
              user: (row) => row.userId,
              name: (row) => row.name,
              'valid in': (row) => (row.restricted ? 'this organization' : 'every organization'),
              created: (row) => row.createdAt,
              expires: (row) => row.expiresAt,
              'last used': (row) => row.lastUsedAt,
              revoked: (row) => row.revokedAt,
            },
            'no tokens',
          ),
        }
      })
    },
  },
  {
    name: 'token revoke',
    args: ['id'],
    summary: 'Revoke an access token in every organization at once',
    flags: {},
    async run(input) {
      const { withServices } = await import('../services.ts')
      return withServices(input, async ({ identity }) => {
        await identity.revokeUserToken(input.arg('id'))
        return { json: { id: input.arg('id'), revoked: true }, lines: ['revoked'] }
      })
    },
  },
  {
    name: 'token revoke-all',
    args: [],
    summary: 'Revoke every access token of a user in every organization, including unlisted ones',
    flags: { ...ORG_FLAG, user: { ...USER_FLAG, required: true } },
    async run(input) {
      return inOrganization(input, async (open, { id: organizationId }) => {
        const userId = (await userIdOf(open, organizationId, input)) ?? ''
        const revoked = await open.identity.revokeUserTokensOf(userId)
        return {
          json: { organizationId, userId, revoked },
          lines: [`revoked ${revoked} listed tokens, and every unlisted token that was issued before now`],
        }
      })
    },
  },
]

async function userIdOf(open: Services, organizationId: string, input: Input): Promise<string | undefined> {
  const named = input.flag('user')
  return named === undefined ? undefined : (await (await membersOf(open)).find(organizationId, named)).id
}

export const memberCommands: readonly Command[] = [...users, ...tokens]
