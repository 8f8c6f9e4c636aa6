/** Lets operators process or transcribe media again, after they fixed the cause of a failure. */
import type { Retried } from '../../calls/media/retry.ts'
import { AppError, type ErrorCode } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Command } from '../command.ts'
import { inOrganization, ORG_FLAG } from '../in-organization.ts'

const load = () => import('../../calls/transcripts/requests.ts')
const loadMedia = () => import('../../calls/media/retry.ts')

/** Error codes and messages for media that cannot be processed again. */
const REFUSALS: Readonly<Record<Exclude<Retried, 'queued' | 'under_way'>, readonly [ErrorCode, string]>> = {
  unknown: ['recording_not_found', 'There is no such recording.'],
  completed: ['media_ingestion_active', 'The media of the recording is already processed.'],
  awaited: ['media_ingestion_active', 'The recording still waits for its media. Nothing has failed.'],
  gone: [
    'upload_closed',
    'There is no media to process: none was sent, the upload was cancelled or refused, or its URL cannot be fetched. Upload it again.',
  ],
}

const media: readonly Command[] = [
  {
    name: 'recording retry',
    args: ['recording'],
    summary: 'Process the media of a recording again after a failure that the file did not cause',
    flags: ORG_FLAG,
    async run(input) {
      return inOrganization(input, async ({ container }, { id: organizationId }) => {
        const recordingId = input.arg('recording')
        const { retryMedia } = await loadMedia()
        const retried = isUuid(recordingId)
          ? await retryMedia(container, { organizationId, recordingId })
          : 'unknown'
        if (retried !== 'queued' && retried !== 'under_way') throw new AppError(...REFUSALS[retried])
        const line = retried === 'queued' ? 'queued' : 'already in progress'
        return { json: { organizationId, recordingId, queued: retried === 'queued' }, lines: [line] }
      })
    },
  },
  {
    name: 'recording retry-all',
    args: [],
    summary: 'Process all media again after failures that the files did not cause',
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
    summary: 'Transcribe a recording whose transcription is waiting or has failed',
    flags: ORG_FLAG,
    async run(input) {
      return inOrganization(input, async ({ container }, { id: organizationId }) => {
        const recordingId = input.arg('recording')
        const { requestAgain } = await load()
        if (!isUuid(recordingId) || !(await requestAgain(container, { organizationId, recordingId })))
          throw new AppError(
            'recording_not_found',
            'There is no such recording with media and a waiting or failed transcription.',
          )
        return { json: { organizationId, recordingId, queued: true }, lines: ['queued'] }
      })
    },
  },
  {
    name: 'recording transcribe-all',
    args: [],
    summary: 'Transcribe every recording whose transcription is waiting',
    flags: { ...ORG_FLAG, failed: { summary: 'also recordings whose transcription has failed' } },
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
  'This command sees no speech recogniser: workers need TRANSCRIBE_URL or TRANSCRIBE_COMMAND.'

export const recordingCommands: readonly Command[] = [...media, ...transcription]
