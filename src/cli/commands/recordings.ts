/** What operators do with recordings: have media processed, or transcribed, when what was missing is there. */
import type { Retried } from '../../media/retry.ts'
import { AppError, type ErrorCode } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Command } from '../command.ts'
import { inOrganization, ORG_FLAG } from '../in-organization.ts'

const load = () => import('../../transcribe/requests.ts')
const loadMedia = () => import('../../media/retry.ts')

/** Why media is not tried again. */
const REFUSALS: Readonly<Record<Exclude<Retried, 'queued' | 'under_way'>, readonly [ErrorCode, string]>> = {
  unknown: ['recording_not_found', 'There is no such recording.'],
  completed: ['media_ingestion_active', 'The recording has its media already.'],
  awaited: ['media_ingestion_active', 'The recording still waits for its media: nothing has failed.'],
  gone: [
    'upload_closed',
    'Nothing is there of which media could be made: none was sent, it was not to be used, or its URL cannot be fetched. Upload it anew.',
  ],
}

const media: readonly Command[] = [
  {
    name: 'recording retry',
    args: ['recording'],
    summary: 'Process the media of a recording again that failed although the file was not why',
    flags: ORG_FLAG,
    async run(input) {
      return inOrganization(input, async ({ container }, { id: organizationId }) => {
        const recordingId = input.arg('recording')
        const { retryMedia } = await loadMedia()
        const retried = isUuid(recordingId)
          ? await retryMedia(container, { organizationId, recordingId })
          : 'unknown'
        if (retried !== 'queued' && retried !== 'under_way') throw new AppError(...REFUSALS[retried])
        const line = retried === 'queued' ? 'queued' : 'under way already'
        return { json: { organizationId, recordingId, queued: retried === 'queued' }, lines: [line] }
      })
    },
  },
  {
    name: 'recording retry-all',
    args: [],
    summary: 'Process the media of every recording again that failed although the file was not why',
    flags: ORG_FLAG,
    async run(input) {
      return inOrganization(input, async ({ container }, { id: organizationId }) => {
        const { retryFailedMedia } = await loadMedia()
        const queued = await retryFailedMedia(container, organizationId)
        return { json: { organizationId, queued }, lines: [`${queued} queued`] }
      })
    },
  },
]

const transcription: readonly Command[] = [
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
        const isOff = container.config.transcribe === null
        return {
          json: { organizationId, queued, transcribes: !isOff },
          lines: [`${queued} queued`, ...(isOff ? [NOTHING_TRANSCRIBES] : [])],
        }
      })
    },
  },
]

const NOTHING_TRANSCRIBES =
  'The settings of this command name nothing that transcribes: workers need TRANSCRIBE_URL or TRANSCRIBE_COMMAND.'

export const recordingCommands: readonly Command[] = [...media, ...transcription]
