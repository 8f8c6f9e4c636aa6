/** Organizations and their API keys. */
import type { ApiKey } from '../../identity/service.ts'
import { type Command, type Input, UsageError } from '../command.ts'
import { inOrganization, ORG_FLAG } from '../in-organization.ts'
import { pairs, table } from '../output.ts'

const ONCE = 'It is shown only once. Store it now.'

const services = () => import('../services.ts')
const audit = () => import('../../audit/change.ts')

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
    summary: 'Switch agent conversations or recording on or off; without flags, show the switches',
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
        const { byOperator, recorded } = await audit()
        const changes = Object.values(change).some((value) => value !== undefined)
        const also = recorded(byOperator(id), 'organization.updated', () => id)
        const organization = await identity.updateOrganization(id, change, changes ? also : undefined)
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

/** Undefined if the flag was not given. @throws UsageError */
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
        const { byOperator, recorded } = await audit()
        const also = recorded<ApiKey>(byOperator(organizationId), 'api_key.created', ({ id }) => id)
        const created = await open.identity.createApiKey(organizationId, input.flag('name') ?? 'api', also)
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
    summary: 'Revoke an API key at once',
    flags: ORG_FLAG,
    async run(input) {
      return inOrganization(input, async (open, { id: organizationId }) => {
        const { byOperator, recorded } = await audit()
        const also = recorded(byOperator(organizationId), 'api_key.deleted', () => input.arg('id'))
        await open.identity.revokeApiKey(organizationId, input.arg('id'), also)
        return { json: { organizationId, id: input.arg('id'), revoked: true }, lines: ['revoked'] }
      })
    },
  },
]

export const organizationCommands: readonly Command[] = [...organizations, ...apiKeys]
