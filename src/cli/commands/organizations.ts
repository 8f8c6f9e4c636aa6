/** Organizations and their API keys. */
import type { ApiKey } from '../../access/identity/service.ts'
import { BYTES_PER_GB, NO_LIMIT } from '../../access/quotas/quota.rules.ts'
import { isUuid } from '../../platform/ids.ts'
import { type Command, type Input, UsageError } from '../command.ts'
import { inOrganization, ORG_FLAG } from '../in-organization.ts'
import { pairs, table } from '../output.ts'

const ONCE = 'It is shown only once. Store it now.'

const services = () => import('../services.ts')
const audit = () => import('../../access/audit/change.ts')

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
        const erased = await identity.listErasedOrganizations()
        return {
          json: { organizations: rows, erasing: erased },
          lines: [
            ...table(
              rows,
              {
                id: (row) => row.id,
                name: (row) => row.name,
                credits: (row) => row.responseCredits ?? 'unlimited',
              },
              'no organizations',
            ),
            ...(erased.length === 0
              ? []
              : [
                  '',
                  ...table(
                    erased,
                    {
                      'being erased': (row) => row.id,
                      name: (row) => row.name,
                      since: (row) => row.beganAt,
                      'rows deleted': (row) => row.deletedRows,
                    },
                    '',
                  ),
                ]),
          ],
        }
      })
    },
  },
  {
    name: 'org delete',
    args: ['id'],
    summary: 'Delete an organization with everything in it; cannot be undone',
    flags: { name: { value: 'text', summary: 'the name of the organization, exactly' } },
    async run(input) {
      const name = input.flag('name')
      if (name === undefined) throw new UsageError('--name is missing: repeat the name of the organization')
      const { withServices } = await services()
      const { createOrganizationDeletion } = await import('../../app/organization-erasure.ts')
      return withServices(input, async ({ container, identity }) => {
        const id = input.arg('id').toLowerCase()
        if (!isUuid(id)) throw new UsageError('the organization is named by its id: see earshot org list')
        const { byOperator, recorded } = await audit()
        const also = recorded<string>(byOperator(id), 'organization.deleted', (deleted) => deleted)
        await createOrganizationDeletion({ ...container, forget: identity.forgetUser }).begin(id, name, also)
        return {
          json: { organizationId: id, name, status: 'erasing' },
          lines: [
            'Everything of the organization is refused from now on. The service erases its data: earshot org list shows how far.',
          ],
        }
      })
    },
  },
  {
    name: 'org set',
    args: [],
    summary:
      'Switch agent conversations or recording on or off, or set the time zone or quotas; without flags, show them',
    flags: {
      ...ORG_FLAG,
      'agent-chats': { value: 'on|off', summary: 'whether agents may send conversations' },
      recording: { value: 'on|off', summary: 'whether meetings may be recorded' },
      'time-zone': { value: 'name', summary: 'by whose days everything is counted, such as Europe/Berlin' },
      'quota-media-gb': { value: 'n|none|default', summary: 'GB of media that it may store' },
      'quota-events': { value: 'n|none|default', summary: 'events of conversations that it may store' },
    },
    async run(input) {
      const change = {
        agentChatsEnabled: onOrOff(input, 'agent-chats'),
        recordingAllowed: onOrOff(input, 'recording'),
        timeZone: input.flag('time-zone'),
      }
      const quotas = {
        media: quota(input, 'quota-media-gb', BYTES_PER_GB),
        events: quota(input, 'quota-events', 1),
      }
      return inOrganization(input, async ({ identity, container: { sql, config } }, { id }) => {
        const { byOperator, recorded } = await audit()
        const { setQuotas, quotasOf } = await import('../../access/quotas/service.ts')
        await setQuotas(
          sql,
          id,
          quotas,
          recorded(byOperator(id), 'organization.updated', () => id),
        )
        const changes = Object.values(change).some((value) => value !== undefined)
        const also = recorded(byOperator(id), 'organization.updated', () => id)
        const organization = await identity.updateOrganization(id, change, changes ? also : undefined)
        const uses = await quotasOf(sql, config, id)
        return {
          json: { ...organization, quotas: uses },
          lines: pairs({
            'agent chats': organization.agentChatsEnabled ? 'on' : 'off',
            recording: organization.recordingAllowed ? 'on' : 'off',
            'time zone': organization.timeZone,
            'bytes of media': ofLimit(uses.mediaBytes),
            events: ofLimit(uses.events),
          }),
        }
      })
    },
  },
]

const ofLimit = ({ used, limit }: { readonly used: number; readonly limit: number | null }) =>
  limit === null ? `${used}, no quota` : `${used} of ${limit}`

/** @returns `NO_LIMIT` for none, null for that of the settings; undefined if the flag was not given. @throws UsageError */
function quota(input: Input, name: string, unit: number): number | null | undefined {
  const text = input.flag(name)
  if (text === undefined) return undefined
  if (text === 'none') return NO_LIMIT
  if (text === 'default') return null
  if (/^\d{1,9}(?:\.\d{1,3})?$/.test(text) || (unit === 1 && /^\d{1,15}$/.test(text)))
    return Math.round(Number(text) * unit)
  throw new UsageError(`--${name} is ${JSON.stringify(text)}, but must be a number, none or default`)
}

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
