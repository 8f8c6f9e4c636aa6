/**
 * The requests of the REST API that an upload needs.
 *
 * The rule: each may be sent again after an answer was lost. A recording is created under an external id, by which it is
 * found again; the identical create of an upload gives the same upload.
 */
import { ClientError, failureOf } from './failures.ts'
import { type Persistence, persist } from './persist.ts'

const ANSWER_MS = 60_000
/** A server that was never heard of may be a mistake in its address; one that was comes back. */
const PATIENCE_MS = { stranger: 10_000, acquaintance: 600_000 }
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
  /** 0 to 100; null outside of encoding, and where it is not known. */
  readonly encodeProgress: number | null
  readonly errorCode: string | null
}

export interface CreatedUpload extends UploadStatus {
  /** Whoever has it can write: never said, never stored. */
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
  /** The id of the recording, also where the external id is known already. */
  createRecording(recording: NewRecording): Promise<string>
  /** null: no media was ever asked for. */
  getAsset(recordingId: string): Promise<RecordingAsset | null>
  createUpload(recordingId: string, media: Media): Promise<CreatedUpload>
  getUpload(recordingId: string, uploadId: string): Promise<UploadStatus>
  cancelUpload(recordingId: string, uploadId: string): Promise<void>
}

/** `url`: scheme, host and perhaps a prefix, without a trailing slash. @throws ClientError from every method */
export function createApi(
  url: string,
  credential: Credential,
  { signal, onTrouble }: Omit<Persistence, 'patienceMs'>,
): Api {
  let isKnown = false
  const patienceMs = () => (isKnown ? PATIENCE_MS.acquaintance : PATIENCE_MS.stranger)
  const headers = { accept: 'application/json', ...headersOf(url, credential) }
  const send = <T>(method: string, path: string, body?: unknown): Promise<T> =>
    persist(
      async (): Promise<T> => {
        const response = await fetch(`${url}${path}`, {
          method,
          headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          // A credential goes to where the user said, and nowhere else.
          redirect: 'manual',
          signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
        })
        isKnown = true
        if (!response.ok) throw await failureOf(response, new Date())
        return (await response.json()) as T
      },
      { signal, onTrouble, patienceMs },
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

/** A user's upload belongs to an origin (specification, "Create upload"): here it is that of the service. */
function headersOf(url: string, credential: Credential): Record<string, string> {
  if ('apiKey' in credential) return { 'x-service-api-key': credential.apiKey }
  return { authorization: `Bearer ${credential.userToken}`, origin: new URL(url).origin }
}
