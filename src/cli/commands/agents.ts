/** Agent applications and their ingestion secrets. */

import { AppError } from '../../platform/errors.ts'
import type { Command, Input } from '../command.ts'
import { inOrganization, ORG_FLAG } from '../in-organization.ts'
import { pairs, table } from '../output.ts'
import type { Services } from '../services.ts'

/** The REST API lists more than this, page by page. */
const MAX_LISTED = 1_000

/** Runs `work` on the application in the argument `agent-key`. */
async function onApplication<T>(
  input: Input,
  work: (open: Services, organizationId: string, applicationId: string) => Promise<T>,
): Promise<T> {
  return inOrganization(input, async (open, { id: organizationId }) => {
    const agentKey = input.arg('agent-key')
    const [application] = await open.applications.list(organizationId, agentKey, { after: null, limit: 1 })
    if (application === undefined)
      throw new AppError('agent_application_not_found', `The organization has no application ${agentKey}.`)
    return work(open, organizationId, application.id)
  })
}

const applications: readonly Command[] = [
  {
    name: 'agent create',
    args: ['agent-key'],
    summary: 'Create an agent application; ingest requests name its key',
    flags: { ...ORG_FLAG, name: { value: 'text', summary: 'display name (default: the key)' } },
    async run(input) {
      return inOrganization(input, async (open, { id: organizationId }) => {
        const agentKey = input.arg('agent-key')
        const name = input.flag('name') ?? agentKey
        const created = await open.applications.create(organizationId, { agentKey, name })
        return {
          json: { organizationId, id: created.id, agentKey, name: created.name },
          lines: pairs({ id: created.id, 'agent key': agentKey, name: created.name }),
        }
      })
    },
  },
  {
    name: 'agent list',
    args: [],
    summary: 'List the agent applications of an organization',
    flags: ORG_FLAG,
    async run(input) {
      return inOrganization(input, async (open, { id: organizationId }) => {
        const slice = { after: null, limit: MAX_LISTED }
        const found = await open.applications.list(organizationId, undefined, slice)
        const rows = found.map(({ id, agentKey, name }) => ({ id, agentKey, name }))
        return {
          json: { organizationId, agents: rows },
          lines: table(
            rows,
            {
              id: (row) => row.id,
              'agent key': (row) => row.agentKey,
              name: (row) => row.name,
            },
            'no agent applications',
          ),
        }
      })
    },
  },
]

const secrets: readonly Command[] = [
  {
    name: 'agent secret-create',
    args: ['agent-key'],
    summary: 'Create an ingestion secret of an agent application',
    flags: ORG_FLAG,
    run: (input) =>
      onApplication(input, async (open, organizationId, applicationId) => {
        const created = await open.applications.createSecret(organizationId, applicationId)
        return {
          json: { organizationId, applicationId, agentKey: input.arg('agent-key'), ...created },
          lines: [
            ...pairs({ id: created.id, 'agent secret': created.agentSecret }),
            'It is shown only once. Store it now.',
          ],
        }
      }),
  },
  {
    name: 'agent secret-list',
    args: ['agent-key'],
    summary: 'List the ingestion secrets of an agent application',
    flags: ORG_FLAG,
    run: (input) =>
      onApplication(input, async (open, organizationId, applicationId) => {
        const rows = await open.applications.listSecrets(organizationId, applicationId)
        return {
          json: { organizationId, applicationId, secrets: rows },
          lines: table(
            rows,
            {
              id: (row) => row.id,
              secret: (row) => `${row.prefix}…`,
              'last used': (row) => row.lastUsedAt,
              revoked: (row) => row.revokedAt,
            },
            'no secrets',
          ),
        }
      }),
  },
  {
    name: 'agent secret-revoke',
    args: ['agent-key', 'secret-id'],
    summary: 'Revoke an ingestion secret at once',
    flags: ORG_FLAG,
    run: (input) =>
      onApplication(input, async (open, organizationId, applicationId) => {
        const id = input.arg('secret-id')
        await open.applications.revokeSecret(organizationId, applicationId, id)
        return { json: { organizationId, applicationId, id, revoked: true }, lines: ['revoked'] }
      }),
  },
]

export const agentCommands: readonly Command[] = [...applications, ...secrets]
