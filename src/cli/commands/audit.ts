/** The audit log: who read or changed what. */
import { ACTIONS, type Action } from '../../kernel/audit-actions.ts'
import { type Command, type Input, UsageError, wholeNumber } from '../command.ts'
import { inOrganization, ORG_FLAG } from '../in-organization.ts'
import { table } from '../output.ts'

const MAX_LISTED = 1_000

export const auditCommands: readonly Command[] = [
  {
    name: 'audit list',
    args: [],
    summary: 'List who read or changed what in an organization, newest first',
    flags: {
      ...ORG_FLAG,
      principal: { value: 'id', summary: 'only by this user or API key' },
      action: { value: 'action', summary: 'only this action, such as member.updated' },
      object: { value: 'id', summary: 'only about this object' },
      since: { value: 'time', summary: 'only from this moment on, in RFC 3339' },
      until: { value: 'time', summary: 'only before this moment, in RFC 3339' },
      limit: { value: 'number', summary: `entries (default: 100, at most ${MAX_LISTED})` },
    },
    async run(input) {
      const limit = wholeNumber('--limit', input.flag('limit') ?? '100', 1, MAX_LISTED)
      const action = actionOf(input)
      return inOrganization(input, async ({ container }, { id: organizationId }) => {
        const { auditEntries } = await import('../../access/audit/service.ts')
        const filter = {
          principalId: input.flag('principal'),
          action,
          objectId: input.flag('object'),
          since: input.flag('since'),
          until: input.flag('until'),
        }
        const rows = await auditEntries(container.reads, organizationId, filter, limit)
        return {
          json: { organizationId, entries: rows },
          lines: table(
            rows,
            {
              time: (row) => row.occurredAt,
              by: (row) => `${row.principal.kind} ${row.principal.id ?? ''}`.trim(),
              action: (row) => row.action,
              object: (row) => row.object.id,
              times: (row) => row.times,
            },
            'no entries',
          ),
        }
      })
    },
  },
]

/** @throws UsageError */
function actionOf(input: Input): Action | undefined {
  const text = input.flag('action')
  const action = ACTIONS.find((one) => one === text)
  if (text !== undefined && action === undefined)
    throw new UsageError(`--action is ${JSON.stringify(text)}, but must be one of: ${ACTIONS.join(', ')}`)
  return action
}
