/** Uploads whole files for recordings over HTTP and reads the results. */
import { eventually } from '../../support/eventually.ts'
import { RECORDINGS } from '../../support/recordings.ts'
import type { Client, TestServer, TestTenant } from '../../support/server.ts'
import { createTestUpload, type TestUpload } from '../../support/uploads.ts'

export interface Subject {
  /** Uploads the bytes. */
  send(bytes: Uint8Array<ArrayBuffer>, fileName?: string): Promise<TestUpload>
  asset(recordingId: string): Promise<Asset>
  status(upload: TestUpload): Promise<UploadStatus>
  /** Waits until the upload is ready or has failed. */
  ended(upload: TestUpload): Promise<{ readonly asset: Asset; readonly status: UploadStatus }>
  /** Fetches a URL of the service. */
  open(url: string): Promise<Response>
}

interface UploadStatus {
  readonly phase: string
  readonly encodeProgress: number | null
  readonly errorCode: string | null
}

interface Asset {
  readonly status: string
  readonly errorCode: string | null
  readonly url: string
  readonly waveformUrl: string
  readonly posterUrl: string
  readonly isAudio: boolean
  readonly durationSeconds: number
  readonly contentType: string
  readonly fileSize: number
}

export function subjectOf(server: TestServer, tenant: TestTenant): Subject {
  const client: Client = server.as({ apiKey: tenant.apiKey })
  const asset = async (recordingId: string) => (await client.get(`${RECORDINGS}/${recordingId}`)).body.asset
  const status = async ({ recordingId, uploadId }: TestUpload) =>
    (await client.get(`${RECORDINGS}/${recordingId}/uploads/${uploadId}`)).body
  return {
    async send(bytes, fileName = 'call.bin') {
      const upload = await createTestUpload(server, tenant, { fileSize: bytes.byteLength, fileName })
      const answer = await fetch(upload.uploadUrl, { method: 'PUT', body: bytes })
      if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
      return upload
    },
    asset,
    status,
    ended: (upload) =>
      eventually(async () => {
        const now = await status(upload)
        if (!['ready', 'failed'].includes(now.phase)) return false
        return { status: now, asset: await asset(upload.recordingId) }
      }),
    open: (url) => fetch(url),
  }
}
