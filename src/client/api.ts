/**
 * The REST requests that an upload needs.
 *
 * Each may be repeated if its answer was lost. A recording is created under an external id and found again by it. An
 * identical request for an upload returns the same upload.
 */
import { ClientError } from './failures.ts'
import { type Credential, createSender } from './requests.ts'
import type { RetryOptions } from './retry.ts'

const RECORDINGS = '/v3/rest/recordings'

interface NewRecording {
  readonly displayName: string
  readonly folderIds: readonly string[]
  readonly externalId: string
}

interface Media {
  readonly fileName: string
  /** Bytes. */
  readonly fileSize: number
}

type Phase = 'waiting' | 'processing' | 'encoding' | 'ready' | 'failed' | 'cancelled'

export interface UploadStatus {
  readonly uploadId: string
  readonly phase: Phase
  /** 0 to 100; null unless the phase is `encoding` and the progress is known. */
  readonly encodeProgress: number | null
  readonly errorCode: string | null
}

interface CreatedUpload extends UploadStatus {
  /** A secret: never printed, never stored. */
  readonly uploadUrl: string
  readonly timeoutSeconds: number
}

export interface RecordingAsset {
  readonly status: string
  readonly url: string | null
  readonly durationSeconds: number | null
  readonly errorCode: string | null
}

export interface Api {
  /** Returns the id of the recording, even if the external id already exists. */
  createRecording(recording: NewRecording): Promise<string>
  /** null: the recording never had media. */
  getAsset(recordingId: string): Promise<RecordingAsset | null>
  createUpload(recordingId: string, media: Media): Promise<CreatedUpload>
  getUpload(recordingId: string, uploadId: string): Promise<UploadStatus>
  cancelUpload(recordingId: string, uploadId: string): Promise<void>
}

/** `url`: scheme, host and optionally a prefix, without a trailing slash. @throws ClientError from every method */
export function createApi(
  url: string,
  credential: Credential,
  { signal, onRetry }: Omit<RetryOptions, 'giveUpAfterMs'>,
): Api {
  const send = createSender(url, credential, { signal, onRetry })
  const uploads = (recordingId: string) => `${RECORDINGS}/${recordingId}/uploads`
  return {
    async createRecording({ externalId, ...rest }) {
      try {
        return (await send<{ id: string }>('POST', RECORDINGS, { ...rest, record: { externalId } })).id
      } catch (error) {
        const known = error instanceof ClientError && error.code === 'recording_external_id_exists'
        if (known && typeof error.body.recordingId === 'string') return error.body.recordingId
        throw error
      }
    },
    getAsset: async (id) =>
      (await send<{ asset: RecordingAsset | null }>('GET', `${RECORDINGS}/${id}`)).asset,
    createUpload: (id, media) => send('POST', uploads(id), media),
    getUpload: (id, uploadId) => send('GET', `${uploads(id)}/${uploadId}`),
    cancelUpload: async (id, uploadId) => void (await send('DELETE', `${uploads(id)}/${uploadId}`)),
  }
}
