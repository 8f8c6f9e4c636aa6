/** The balance of `agent_response_processed` units of an organization. */
import { type Command, wholeNumber } from '../command.ts'
import { inOrganization, ORG_FLAG } from '../in-organization.ts'
import { table } from '../output.ts'

const UNLIMITED = 'unlimited'
/** The REST API lists more than this, page by page. */
const MAX_LISTED = 1_000

const audit = () => import('../../access/audit/change.ts')

const NOTE_FLAG = { note: { value: 'text', summary: 'reason, stored with the ledger entry' } } as const

function balance(organizationId: string, responseCredits: number | null) {
  return {
    json: { organizationId, responseCredits },
    lines: [responseCredits === null ? UNLIMITED : String(responseCredits)],
  }
}

export const creditCommands: readonly Command[] = [
  {
    name: 'credits add',
    args: ['units'],
    summary: 'Add credits; processing of waiting responses continues',
    flags: { ...ORG_FLAG, ...NOTE_FLAG },
    async run(input) {
      const units = wholeNumber('units', input.arg('units'), 1)
      return inOrganization(input, async (open, { id }) => {
        const { byOperator, recorded } = await audit()
        const also = recorded(
          byOperator(id),
          'credits.added',
          () => null,
          () => ({ units }),
        )
        return balance(id, await open.identity.addCredits(id, units, input.flag('note'), also))
      })
    },
  },
  {
    name: 'credits set',
    args: ['units'],
    summary: `Set the balance to a number, or to the word ${UNLIMITED}`,
    flags: { ...ORG_FLAG, ...NOTE_FLAG },
    async run(input) {
      const text = input.arg('units')
      const units = text === UNLIMITED ? null : wholeNumber('units', text, 0)
      return inOrganization(input, async (open, { id }) => {
        const { byOperator, recorded } = await audit()
        const also = recorded(
          byOperator(id),
          'credits.set',
          () => null,
          () => ({ balance: units }),
        )
        await open.identity.setCredits(id, units, input.flag('note'), also)
        return balance(id, units)
      })
    },
  },
  {
    name: 'credits list',
    args: [],
    summary: 'List additions and other changes of the balance, newest first',
    flags: ORG_FLAG,
    async run(input) {
      return inOrganization(input, async (open, { id: organizationId }) => {
        const found = await open.identity.listCreditEntries(organizationId, {
          after: null,
          limit: MAX_LISTED,
        })
        const rows = found
          .slice(0, MAX_LISTED)
          .map(({ id, amount, note, createdAt }) => ({ id, amount, note, createdAt }))
        return {
          json: { organizationId, entries: rows },
          lines: table(
            rows,
            { time: (row) => row.createdAt, amount: (row) => row.amount, note: (row) => row.note },
            'no changes',
          ),
        }
      })
    },
  },
  {
    name: 'credits show',
    args: [],
    summary: 'Show the balance',
    flags: ORG_FLAG,
    async run(input) {
      return inOrganization(input, async (_open, { id, responseCredits }) => balance(id, responseCredits))
    },
  },
]
