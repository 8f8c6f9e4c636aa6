/** Uploads as clients create them, and requests that send their bytes. */
import type { TestServer, TestTenant } from './server.ts'

export interface TestUpload {
  readonly uploadId: string
  readonly recordingId: string
  readonly uploadUrl: string
}

export interface TestUploadOptions {
  readonly fileSize: number
  readonly fileName?: string
  /** Origin of the page that creates it. Null: a program with a key. */
  readonly origin?: string | null
}

/** Creates a recording, and an upload that waits for its bytes. `baseUrl` is any process on the same database. */
export async function createUpload(
  baseUrl: string,
  apiKey: string,
  { fileSize, fileName = 'call.wav', origin = null }: TestUploadOptions,
): Promise<TestUpload> {
  const headers = {
    'x-service-api-key': apiKey,
    'content-type': 'application/json',
    ...(origin === null ? {} : { origin }),
  }
  const post = async (path: string, body: unknown) => {
    const response = await fetch(`${baseUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await response.text()
    if (response.status !== 201) throw new Error(`${path}: ${response.status} ${text}`)
    return JSON.parse(text)
  }
  const { id: recordingId } = await post('/v3/rest/recordings', {})
  const { uploadId, uploadUrl } = await post(`/v3/rest/recordings/${recordingId}/uploads`, {
    fileName,
    fileSize,
  })
  return { uploadId, recordingId, uploadUrl }
}

/** The same, in the process of the test. */
export const createTestUpload = (server: TestServer, tenant: TestTenant, options: TestUploadOptions) =>
  createUpload(server.baseUrl, tenant.apiKey, options)

/** Bytes without short repetitions, so that no two parts of a file look alike. */
export function noise(size: number, seed = 1): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size)
  let state = seed
  for (let index = 0; index < size; index++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    bytes[index] = state >>> 24
  }
  return bytes
}

export const TUS = { 'tus-resumable': '1.0.0' } as const

/** The headers of a `PATCH` at an offset. */
export const at = (offset: number): Record<string, string> => ({
  ...TUS,
  'content-type': 'application/offset+octet-stream',
  'upload-offset': String(offset),
})

/** A `PATCH` with the bytes. */
export const patch = (url: string, offset: number, body: Uint8Array<ArrayBuffer>, headers = {}) =>
  fetch(url, { method: 'PATCH', headers: { ...at(offset), ...headers }, body })

/** The offset of the upload, by `HEAD`. Null if the answer has none. */
export async function offsetOf(url: string): Promise<number | null> {
  const response = await fetch(url, { method: 'HEAD', headers: TUS })
  const offset = response.headers.get('upload-offset')
  return offset === null ? null : Number(offset)
}
