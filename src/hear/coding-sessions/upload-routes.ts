/** Operations on uploads of session files. */
import { Type } from '@sinclair/typebox'
import { UPLOAD_PATH } from '../../calls/uploads/file-uploads.ts'
import { baseUrlOf } from '../../http/base-url.ts'
import { created, type Operation, ok, operation } from '../../http/operation.ts'
import { uuidOf } from '../../http/parameters.ts'
import type { Config } from '../../kernel/config.ts'
import { CodingSessionUpload, CreatedSessionUpload, CreateSessionUpload } from './model.ts'
import type { SessionUpload, SessionUploads } from './uploads.ts'

const UPLOADS = '/v3/rest/coding-sessions/uploads'
const UPLOAD = `${UPLOADS}/{codingUploadId}`
const TAG = 'Coding-agent sessions'
const params = { codingUploadId: uuidOf('upload') }

/** Everything under `/v3/rest/coding-sessions/uploads`. */
export function sessionUploadOperations(
  uploads: SessionUploads,
  config: Pick<Config, 'publicBaseUrl'>,
): readonly Operation[] {
  return [createSessionUpload(uploads, config), getSessionUpload(uploads), cancelSessionUpload(uploads)]
}

const createSessionUpload = (uploads: SessionUploads, config: Pick<Config, 'publicBaseUrl'>) =>
  operation({
    id: 'createCodingSessionUpload',
    method: 'POST',
    path: UPLOADS,
    tag: TAG,
    summary: 'Create an upload of a session file',
    description: [
      'For files of any size. Send the bytes to `uploadUrl` with a resumable client (tus 1.0, or `PUT` with `Content-Range`) or',
      'one plain `PUT`, then poll the upload until its phase is `ready`. The upload expires if no bytes arrive for `timeoutSeconds`.',
    ].join('\n'),
    access: 'organizationOrUser',
    role: 'analyst',
    body: CreateSessionUpload,
    example: { fileName: 'session.jsonl', fileSize: 2_000_000_000, format: 'claude-code' },
    success: {
      status: 201,
      description: 'The new upload, or the one with the same `uploadKey`',
      schema: CreatedSessionUpload,
    },
    errors: ['upload_too_large', 'too_many_uploads', 'quota_exceeded'],
    async handler({ request, principal, body }) {
      const origin = request.headers.get('origin')
      const { state, token } = await uploads.create(principal, await body(), origin)
      const { upload } = state
      return created(`${UPLOADS}/${upload.id}`, {
        ...shown(state),
        uploadUrl: `${baseUrlOf(request, config)}${UPLOAD_PATH}${token}`,
        timeoutSeconds: upload.timeoutSeconds,
      })
    },
  })

const getSessionUpload = (uploads: SessionUploads) =>
  operation({
    id: 'getCodingSessionUpload',
    method: 'GET',
    path: UPLOAD,
    params,
    tag: TAG,
    summary: 'Read an upload of a session file',
    description: 'Poll until the phase is `ready`, `failed` or `cancelled`.',
    access: 'organizationOrUser',
    role: 'viewer',
    query: Type.Object({}),
    success: {
      status: 200,
      description: 'The upload, and its session once it is ready',
      schema: CodingSessionUpload,
    },
    errors: ['coding_session_upload_not_found'],
    async handler({ principal, id, query }) {
      const state = await uploads.get(principal, id('codingUploadId', 'coding_session_upload_not_found'))
      query()
      return ok(shown(state))
    },
  })

const cancelSessionUpload = (uploads: SessionUploads) =>
  operation({
    id: 'cancelCodingSessionUpload',
    method: 'DELETE',
    path: UPLOAD,
    params,
    tag: TAG,
    summary: 'Cancel an upload of a session file',
    description:
      'Works while the upload waits for bytes. Received bytes are deleted. Repeating the request returns the same answer.',
    access: 'organizationOrUser',
    role: 'analyst',
    success: { status: 200, description: 'The cancelled upload', schema: CodingSessionUpload },
    errors: ['coding_session_upload_not_found', 'upload_not_cancellable'],
    async handler({ principal, id }) {
      return ok(
        shown(await uploads.cancel(principal, id('codingUploadId', 'coding_session_upload_not_found'))),
      )
    },
  })

function shown({ upload, processedBytes, fileError, session }: SessionUpload) {
  return {
    uploadId: upload.id,
    phase: upload.phase,
    expiresAt: upload.expiresAt,
    fileName: upload.fileName,
    fileSize: upload.fileSize,
    processedBytes,
    errorCode: fileError ?? upload.errorCode,
    session,
  }
}
