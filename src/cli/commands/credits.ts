/** The balance of `agent_response_processed` units of an organization. */
import { type Command, wholeNumber } from '../command.ts'
import { inOrganization, ORG_FLAG } from '../in-organization.ts'

const UNLIMITED = 'unlimited'
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
        return balance(id, await open.identity.addCredits(id, units, input.flag('note')))
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
        await open.identity.setCredits(id, units, input.flag('note'))
        return balance(id, units)
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
