/** REST operations on uploads. Each parses the request, calls the service and builds the answer. */
import { Type } from '@sinclair/typebox'
import { baseUrlOf } from '../../http/base-url.ts'
import { created, type Operation, ok, operation } from '../../http/operation.ts'
import { uuidOf } from '../../http/parameters.ts'
import type { Config } from '../../kernel/config.ts'
import { CreatedUpload, type CreateUpload, CreateUpload as CreateUploadSchema, Upload } from './model.ts'
import type { Uploads } from './service.ts'
import type { UploadRow } from './store.ts'
import { UPLOAD_PATH } from './token.ts'

const RECORDING = '/v3/rest/recordings/{recordingId}'
const UPLOADS = `${RECORDING}/uploads`
const UPLOAD = `${UPLOADS}/{uploadId}`
const TAG = 'Uploads'

const EXAMPLE: CreateUpload = { fileName: 'call.mp4', fileSize: 25_000_000 }

/** `POST …/recordings/{recordingId}/uploads` and `GET`, `DELETE …/uploads/{uploadId}`. */
export function uploadOperations(
  uploads: Uploads,
  config: Pick<Config, 'publicBaseUrl'>,
): readonly Operation[] {
  return [createUpload(uploads, config), getUpload(uploads), cancelUpload(uploads)]
}

const createUpload = (uploads: Uploads, config: Pick<Config, 'publicBaseUrl'>) =>
  operation({
    id: 'createUpload',
    method: 'POST',
    path: UPLOADS,
    params: { recordingId: uuidOf('recording') },
    tag: TAG,
    summary: 'Create an upload',
    description: [
      'Returns an `uploadUrl`. Send the file there with a resumable client (tus 1.0, or `PUT` with `Content-Range`) or',
      'one plain `PUT`. The upload expires if no bytes arrive for `timeoutSeconds`.',
      '',
      'An identical request (`fileName`, `fileSize`, `source`, `folderId`, `batchId`) returns the upload that already waits,',
      'unchanged, so you may repeat it. Any other request is 409 while media of the recording is being ingested.',
      '',
      'For a recording that has media, the upload replaces it. The old media stays playable until the new media is ready, and stays if',
      'the upload fails. A transcript that was created from the old media is created again; a supplied one stays.',
      '',
      'A user must send `Origin`. Only pages of that origin may read the answers of `uploadUrl`. A server with an API key need not.',
    ].join('\n'),
    access: 'organizationOrUser',
    role: 'analyst',
    body: CreateUploadSchema,
    example: EXAMPLE,
    success: {
      status: 201,
      description: 'The new upload, or the identical upload that is already waiting',
      schema: CreatedUpload,
    },
    errors: [
      'recording_not_found',
      'folder_not_found',
      'batch_not_found',
      'origin_required',
      'batch_requires_user',
      'media_ingestion_active',
      'upload_too_large',
      'too_many_uploads',
      'quota_exceeded',
    ],
    async handler({ request, principal, id, body }) {
      const recordingId = id('recordingId', 'recording_not_found')
      const origin = request.headers.get('origin')
      const { upload, token } = await uploads.create(principal, recordingId, origin, body)
      return created(`/v3/rest/recordings/${recordingId}/uploads/${upload.id}`, {
        ...uploadOf(upload),
        uploadUrl: `${baseUrlOf(request, config)}${UPLOAD_PATH}${token}`,
        timeoutSeconds: upload.timeoutSeconds,
      })
    },
  })

const getUpload = (uploads: Uploads) =>
  operation({
    id: 'getUpload',
    method: 'GET',
    path: UPLOAD,
    params: { recordingId: uuidOf('recording'), uploadId: uuidOf('upload') },
    tag: TAG,
    summary: 'Read an upload',
    description: 'Poll until the phase is `ready`, `failed` or `cancelled`.',
    access: 'organizationOrUser',
    role: 'viewer',
    query: Type.Object({}),
    success: { status: 200, description: 'The upload', schema: Upload },
    errors: ['recording_not_found', 'upload_not_found'],
    async handler({ principal, id, query }) {
      const recordingId = id('recordingId', 'recording_not_found')
      const upload = await uploads.get(principal, recordingId, id('uploadId', 'upload_not_found'))
      query()
      return ok(uploadOf(upload))
    },
  })

const cancelUpload = (uploads: Uploads) =>
  operation({
    id: 'cancelUpload',
    method: 'DELETE',
    path: UPLOAD,
    params: { recordingId: uuidOf('recording'), uploadId: uuidOf('upload') },
    tag: TAG,
    summary: 'Cancel an upload',
    description:
      'Works while the upload waits for bytes. Received bytes are deleted, and the recording is free for another upload. Repeating the request returns the same answer.',
    access: 'organizationOrUser',
    role: 'analyst',
    success: { status: 200, description: 'The cancelled upload', schema: Upload },
    errors: ['recording_not_found', 'upload_not_found', 'upload_not_cancellable'],
    async handler({ principal, id }) {
      const recordingId = id('recordingId', 'recording_not_found')
      return ok(uploadOf(await uploads.cancel(principal, recordingId, id('uploadId', 'upload_not_found'))))
    },
  })

function uploadOf(row: UploadRow) {
  return {
    uploadId: row.id,
    recordingId: row.recordingId,
    phase: row.phase,
    expiresAt: row.expiresAt,
    fileName: row.fileName,
    fileSize: row.fileSize,
    encodeProgress: row.encodeProgress,
    errorCode: row.errorCode,
  }
}
