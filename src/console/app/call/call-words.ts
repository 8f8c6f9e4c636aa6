/** Why a call cannot be played or read yet, or not at all, in sentences. Pure. */

/** The causes of docs/uploads.md, docs/meetings.md and docs/ingest.md. A test compares them with those of the service. */
export const MEDIA_FAILURES = {
  url_unreachable: 'The address of the media could not be reached.',
  url_forbidden: 'The server of the media refused access.',
  url_not_found: 'There was no media at its address.',
  url_not_allowed:
    'Media is fetched from public addresses only. The operator can allow others with OUTBOUND_ALLOW.',
  too_many_redirects: 'The address of the media redirects too often.',
  media_too_large: 'The media is larger than this service accepts.',
  media_empty: 'The media is empty.',
  unsupported_media_type: 'The file is neither audio nor video.',
  transfer_timeout: 'The media took too long to arrive.',
  upload_failed: 'The upload failed. Send the file again.',
  upload_expired: 'The upload was not completed in time. Send the file again.',
  processing_failed:
    'The file is broken, or could not be processed. If the cause was the service, the operator repeats it with “earshot recording retry”.',
  join_timeout: 'The recorder could not join the meeting in time.',
  waiting_room_timeout: 'No one let the recorder into the meeting.',
  meeting_not_found: 'The recorder did not find the meeting.',
  recorder_failed: 'The recorder failed.',
  quota_exceeded:
    'The organization may store no more media. Delete some, or ask the operator for a higher quota; the operator repeats it with “earshot recording retry”.',
} as const

const MEDIA_STATES: Readonly<Record<string, string>> = {
  waiting: 'The media has not arrived yet.',
  queued: 'The media waits to be fetched.',
  uploading: 'The media is arriving.',
  processing: 'The media is being made playable.',
  completed: 'The media cannot be played at the moment.',
  failed: 'The media failed.',
  cancelled: 'The media was cancelled.',
}

interface Call {
  readonly asset: { readonly status: string; readonly errorCode: string | null } | null
  readonly transcript: { readonly status: string; readonly waitingFor?: string }
}

/** Why there is nothing to play. */
export function mediaWords({ asset }: Pick<Call, 'asset'>): string {
  if (asset === null) return 'This call has no media.'
  const state = MEDIA_STATES[asset.status] ?? `The media is ${asset.status}.`
  const { errorCode } = asset
  if (errorCode === null) return state
  // A code of a recorder may be new to the console.
  const cause = (MEDIA_FAILURES as Readonly<Record<string, string>>)[errorCode] ?? `Its code is ${errorCode}.`
  return `${state} ${cause}`
}

/** Why there is no transcript. `needsRecogniser`: an operator has to set one up. */
export function transcriptWords({ asset, transcript }: Call): {
  readonly text: string
  readonly needsRecogniser: boolean
} {
  const { status, waitingFor } = transcript
  if (status === 'waiting' && waitingFor === 'transcriber')
    return {
      text: 'There is no transcript: the service has no speech recogniser.',
      needsRecogniser: true,
    }
  return { text: textOf(status, asset?.status ?? null), needsRecogniser: false }
}

function textOf(status: string, asset: string | null): string {
  if (status === 'queued') return 'The transcription waits for its turn.'
  if (status === 'processing') return 'The call is being transcribed.'
  if (status === 'failed')
    return 'The transcription failed. The operator repeats it with “earshot recording transcribe”.'
  const hasNoMedia = asset === null || asset === 'failed' || asset === 'cancelled'
  return hasNoMedia ? 'Without media there is no transcript.' : 'The transcript waits for the media.'
}

/** A row of the list knows less: whether there is media to play. */
export function waitWords(call: {
  readonly transcript_status: string
  readonly asset_url: string | null
}): string {
  if (call.transcript_status !== 'waiting') return call.transcript_status
  return call.asset_url === null ? 'no_media' : 'no_recogniser'
}
