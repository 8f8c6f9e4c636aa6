/** Wire shapes of uploads (specification, "Create upload", "Upload attempt"). */
import { type Static, Type } from '@sinclair/typebox'
import { MAX_NAME } from '../../platform/validation/names.ts'
import { moment, named, oneOf, orNull, trimmedText, uuid } from '../../platform/validation/schema.ts'
import { PHASES, UPLOAD_ERROR_CODES } from './rules.ts'

export const CreateUpload = Type.Object({
  fileName: trimmedText(
    'Name of the file. An unnamed recording takes it, without path and extension, once the upload is complete.',
    MAX_NAME,
  ),
  fileSize: Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Size of the file in bytes. The upload is complete when exactly this many have arrived.',
  }),
  folderId: Type.Optional(uuid('Id of a folder that the caller can see. The recording is added to it.')),
  batchId: Type.Optional(uuid('Id of an upload batch of the user; an API key has none.')),
  source: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9_.-]{1,64}$',
      words: 'at most 64 lower-case letters, digits, underscores, dots and hyphens',
      description:
        'The client that sends the file: at most 64 characters. Default: `api` for keys, `web` for users.',
    }),
  ),
  inMobileApp: Type.Optional(
    Type.Boolean({ default: false, description: 'Reserved for mobile clients of the service.' }),
  ),
})
export type CreateUpload = Readonly<Static<typeof CreateUpload>>

const members = {
  uploadId: uuid('Id of the upload.'),
  recordingId: uuid('Id of the recording that the media is for.'),
  phase: oneOf(
    PHASES,
    '`waiting`: bytes are missing or arriving; `processing`: the file is examined; `encoding`: playback formats are created. ' +
      'The final phases are `ready`, `failed` and `cancelled`.',
  ),
  expiresAt: moment('The deadline for the next bytes while `waiting`, in UTC. Arriving bytes extend it.'),
  fileName: Type.String({ description: `Name of the file: 1 to ${MAX_NAME} characters.` }),
  fileSize: Type.Integer({ minimum: 1, description: 'Size of the file in bytes.' }),
  encodeProgress: orNull(
    Type.Integer({ minimum: 0, maximum: 100 }),
    'Encoding progress in percent; null unless `encoding`.',
  ),
  errorCode: orNull(
    oneOf(UPLOAD_ERROR_CODES),
    'Why the upload failed; null if it did not. `upload_failed`: its bytes could not be stored; `upload_expired`: they did not ' +
      'arrive in time; `processing_failed`: the file could not be turned into playable media.',
  ),
}
export const Upload = named('Upload', Type.Object(members))

export const CreatedUpload = named(
  'CreatedUpload',
  Type.Object({
    ...members,
    uploadUrl: Type.String({
      format: 'uri',
      description: 'The URL to send the file to. It is a secret for this one file: neither log nor store it.',
    }),
    timeoutSeconds: Type.Integer({
      minimum: 1,
      description: 'Seconds from now until `expiresAt`. Arriving bytes restart this period.',
    }),
  }),
)
