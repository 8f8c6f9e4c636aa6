/** What operators do with recordings: have them transcribed, when something transcribes that did not before. */
import { AppError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Command } from '../command.ts'
import { inOrganization, ORG_FLAG } from '../in-organization.ts'

const load = () => import('../../transcribe/requests.ts')

export const recordingCommands: readonly Command[] = [
  {
    name: 'recording transcribe',
    args: ['recording'],
    summary: 'Transcribe the media of a recording whose transcript waits or has failed',
    flags: ORG_FLAG,
    async run(input) {
      return inOrganization(input, async ({ container }, { id: organizationId }) => {
        const recordingId = input.arg('recording')
        const { requestAgain } = await load()
        if (!isUuid(recordingId) || !(await requestAgain(container, { organizationId, recordingId })))
          throw new AppError(
            'recording_not_found',
            'There is no such recording that has media and whose transcript waits or has failed.',
          )
        return { json: { organizationId, recordingId, queued: true }, lines: ['queued'] }
      })
    },
  },
  {
    name: 'recording transcribe-all',
    args: [],
    summary: 'Transcribe the media of every recording whose transcript waits',
    flags: { ...ORG_FLAG, failed: { summary: 'of those whose transcript has failed, too' } },
    async run(input) {
      return inOrganization(input, async ({ container }, { id: organizationId }) => {
        const { requestAll } = await load()
        const statuses = input.has('failed') ? (['waiting', 'failed'] as const) : (['waiting'] as const)
        const queued = await requestAll(container, organizationId, statuses)
        return { json: { organizationId, queued }, lines: [`${queued} queued`] }
      })
    },
  },
]
