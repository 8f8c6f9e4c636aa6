/** Submissions of the website's forms. They belong to the operator, not to an organization. */
import type { Command } from '../command.ts'
import { pairs } from '../output.ts'

export const formCommands: readonly Command[] = [
  {
    name: 'form erase',
    args: ['email'],
    summary: 'Delete every form submission with this address, including its mail files',
    flags: {},
    async run(input) {
      const { withServices } = await import('../services.ts')
      return withServices(input, async ({ container }) => {
        const { eraseSubmissions } = await import('../../hear/website/erasure.ts')
        const erased = await eraseSubmissions(container, input.arg('email'))
        return { json: { ...erased }, lines: pairs({ ...erased }) }
      })
    },
  },
]
