/** Organizations, their users, and the credentials of both. */
import { type Command, type Input, UsageError, wholeNumber } from '../command.ts'
import { inOrganization, ORG_FLAG } from '../in-organization.ts'
import { pairs, table } from '../output.ts'

const SECONDS_A_DAY = 86_400
const DEFAULT_TOKEN_DAYS = 30
const ONCE = 'It is shown this once: keep it now.'

const services = () => import('../services.ts')

const organizations: readonly Command[] = [
  {
    name: 'org create',
    args: ['name'],
    summary: 'Create an organization',
    flags: {},
    async run(input) {
      const { withServices } = await services()
      return withServices(input, async ({ identity }) => {
        const organization = await identity.createOrganization(input.arg('name'))
        return {
          json: { ...organization },
          lines: pairs({ id: organization.id, name: organization.name }),
        }
      })
    },
  },
  {
    name: 'org list',
    args: [],
    summary: 'List the organizations',
    flags: {},
    async run(input) {
      const { withServices } = await services()
      return withServices(input, async ({ identity }) => {
        const rows = await identity.listOrganizations()
        return {
          json: { organizations: rows },
          lines: table(
            rows,
            {
              id: (row) => row.id,
              name: (row) => row.name,
              credits: (row) => row.responseCredits ?? 'unlimited',
            },
            'no organizations',
          ),
        }
      })
    },
  },
  {
    name: 'org set',
    args: [],
    summary: 'Switch agent conversations or recording on or off; without flags, show what is on',
    flags: {
      ...ORG_FLAG,
      'agent-chats': { value: 'on|off', summary: 'whether agents may send conversations' },
      recording: { value: 'on|off', summary: 'whether meetings may be recorded' },
    },
    async run(input) {
      const change = {
        agentChatsEnabled: onOrOff(input, 'agent-chats'),
        recordingAllowed: onOrOff(input, 'recording'),
      }
      return inOrganization(input, async ({ identity }, { id }) => {
        const organization = await identity.updateOrganization(id, change)
        return {
          json: { ...organization },
          lines: pairs({
            'agent chats': organization.agentChatsEnabled ? 'on' : 'off',
            recording: organization.recordingAllowed ? 'on' : 'off',
          }),
        }
      })
    },
  },
]

/** undefined: not given. @throws UsageError */
function onOrOff(input: Input, name: string): boolean | undefined {
  const text = input.flag(name)
  if (text === undefined) return undefined
  if (text === 'on' || text === 'off') return text === 'on'
  throw new UsageError(`--${name} is ${JSON.stringify(text)}, but must be on or off`)
}

const apiKeys: readonly Command[] = [
  {
    name: 'api-key create',
    args: [],
    summary: 'Create an API key of an organization',
    flags: { ...ORG_FLAG, name: { value: 'text', summary: 'what the key is for (default: api)' } },
    async run(input) {
      return inOrganization(input, async (open, { id: organizationId }) => {
        const created = await open.identity.createApiKey(organizationId, input.flag('name') ?? 'api')
        return {
          json: { organizationId, ...created },
          lines: [...pairs({ id: created.id, 'API key': created.apiKey }), ONCE],
        }
      })
    },
  },
  {
    name: 'api-key list',
    args: [],
    summary: 'List the API keys of an organization',
    flags: ORG_FLAG,
    async run(input) {
      return inOrganization(input, async (open, { id: organizationId }) => {
        const rows = await open.identity.listApiKeys(organizationId)
        return {
          json: { organizationId, apiKeys: rows },
          lines: table(
            rows,
            {
              id: (row) => row.id,
              key: (row) => `${row.prefix}…`,
              name: (row) => row.name,
              'last used': (row) => row.lastUsedAt,
              revoked: (row) => row.revokedAt,
            },
            'no API keys',
          ),
        }
      })
    },
  },
  {
    name: 'api-key revoke',
    args: ['id'],
    summary: 'Revoke an API key: it is refused from now on',
    flags: ORG_FLAG,
    async run(input) {
      return inOrganization(input, async (open, { id: organizationId }) => {
        await open.identity.revokeApiKey(organizationId, input.arg('id'))
        return { json: { organizationId, id: input.arg('id'), revoked: true }, lines: ['revoked'] }
      })
    },
  },
]

const users: readonly Command[] = [
  {
    name: 'user create',
    args: [],
    summary: 'Create a user in an organization; one with this address joins it',
    flags: {
      ...ORG_FLAG,
      email: { value: 'address', summary: 'e-mail address', required: true },
      name: { value: 'text', summary: 'display name (default: the address)' },
    },
    async run(input) {
      return inOrganization(input, async (open, { id: organizationId }) => {
        const email = input.flag('email') ?? ''
        const user = await open.identity.createUser(organizationId, {
          email,
          name: input.flag('name') ?? email,
        })
        return {
          json: { organizationId, ...user },
          lines: pairs({ id: user.id, email: user.email, name: user.name }),
        }
      })
    },
  },
  {
    name: 'user list',
    args: [],
    summary: 'List the users of an organization',
    flags: ORG_FLAG,
    async run(input) {
      return inOrganization(input, async (open, { id: organizationId }) => {
        const rows = await open.identity.listUsers(organizationId)
        return {
          json: { organizationId, users: rows },
          lines: table(
            rows,
            {
              id: (row) => row.id,
              email: (row) => row.email,
              name: (row) => row.name,
            },
            'no users',
          ),
        }
      })
    },
  },
  {
    name: 'token create',
    args: [],
    summary: 'Create an access token of a user',
    flags: {
      ...ORG_FLAG,
      user: { value: 'id or address', summary: 'the user', required: true },
      days: { value: 'number', summary: `how long it is good (default: ${DEFAULT_TOKEN_DAYS})` },
    },
    async run(input) {
      const days = wholeNumber('--days', input.flag('days') ?? String(DEFAULT_TOKEN_DAYS), 1, 3650)
      return inOrganization(input, async (open, { id: organizationId }) => {
        const user = await open.identity.findUser(organizationId, input.flag('user') ?? '')
        const userToken = await open.identity.createUserToken(user.id, days * SECONDS_A_DAY)
        return {
          json: { organizationId, userId: user.id, userToken, expiresInSeconds: days * SECONDS_A_DAY },
          lines: [userToken],
        }
      })
    },
  },
]

export const organizationCommands: readonly Command[] = [...organizations, ...apiKeys, ...users]
