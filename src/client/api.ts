/**
 * The REST requests that an upload needs.
 *
 * Each may be repeated if its answer was lost. A recording is created under an external id and found again by it. An
 * identical request for an upload returns the same upload.
 */
import { ClientError, failureOf } from './failures.ts'
import { type RetryOptions, retryWithBackoff } from './retry.ts'

const ANSWER_MS = 60_000
/** An address that has never answered may be wrong. A server that has answered is likely to return. */
const GIVE_UP_AFTER_MS = { neverReached: 10_000, reached: 600_000 }
const RECORDINGS = '/v3/rest/recordings'

export type Credential = { readonly apiKey: string } | { readonly userToken: string }

export interface NewRecording {
  readonly displayName: string
  readonly folderIds: readonly string[]
  readonly externalId: string
}

export interface Media {
  readonly fileName: string
  /** Bytes. */
  readonly fileSize: number
}

export type Phase = 'waiting' | 'processing' | 'encoding' | 'ready' | 'failed' | 'cancelled'

export interface UploadStatus {
  readonly uploadId: string
  readonly phase: Phase
  /** 0 to 100; null unless the phase is `encoding` and the progress is known. */
  readonly encodeProgress: number | null
  readonly errorCode: string | null
}

export interface CreatedUpload extends UploadStatus {
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
  let hasAnswered = false
  const giveUpAfterMs = () => (hasAnswered ? GIVE_UP_AFTER_MS.reached : GIVE_UP_AFTER_MS.neverReached)
  const headers = { accept: 'application/json', ...headersOf(url, credential) }
  const send = <T>(method: string, path: string, body?: unknown): Promise<T> =>
    retryWithBackoff(
      async (): Promise<T> => {
        const response = await fetch(`${url}${path}`, {
          method,
          headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          // A redirect could send the credential to another host.
          redirect: 'manual',
          signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
        })
        hasAnswered = true
        if (!response.ok) throw await failureOf(response, new Date())
        return (await response.json()) as T
      },
      { signal, onRetry, giveUpAfterMs },
    )
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

/**
 * A user's upload belongs to an origin (specification, "Create upload"). The client states the origin of the service.
 */
function headersOf(url: string, credential: Credential): Record<string, string> {
  if ('apiKey' in credential) return { 'x-service-api-key': credential.apiKey }
  return { authorization: `Bearer ${credential.userToken}`, origin: new URL(url).origin }
}
