/** Wire shapes of uploads (specification, "Create upload", "Upload attempt"). */
import { type Static, Type } from '@sinclair/typebox'
import { uuidParameter } from '../http/parameters.ts'
import { MAX_NAME } from '../platform/names.ts'
import { oneOf } from '../platform/validation/schema.ts'
import { PHASES, UPLOAD_ERROR_CODES } from './rules.ts'

const Uuid = Type.String({ format: 'uuid' })
const Moment = (description: string) => Type.String({ format: 'date-time', description })

export const CreateUpload = Type.Object({
  fileName: Type.String({
    description: `Stored trimmed: 1 to ${MAX_NAME} characters. A recording without a \`displayName\` is called so, without path and extension, when every byte is there`,
  }),
  fileSize: Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Bytes; the upload is complete when exactly as many have arrived',
  }),
  folderId: Type.Optional(
    uuidParameter('Of a folder that the caller sees; the recording is put into it, too'),
  ),
  batchId: Type.Optional(
    uuidParameter("Of an upload batch of the user's own; a key of the organization has none"),
  ),
  source: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9_.-]{1,64}$',
      words: 'at most 64 lower-case letters, digits, underscores, dots and hyphens',
      description: 'What sends the file; `api` for keys and `web` for users where absent',
    }),
  ),
  inMobileApp: Type.Optional(
    Type.Boolean({ default: false, description: "Reserved for the service's mobile clients" }),
  ),
})
export type CreateUpload = Readonly<Static<typeof CreateUpload>>

export const Upload = Type.Object({
  uploadId: Uuid,
  recordingId: Uuid,
  phase: oneOf(
    PHASES,
    'It ends as `ready`, `failed` or `cancelled`; `waiting` is also the phase while bytes arrive',
  ),
  expiresAt: Moment('The deadline for the next bytes while `waiting`; it slides while they arrive'),
  fileName: Type.String(),
  fileSize: Type.Integer(),
  encodeProgress: Type.Union([Type.Integer({ minimum: 0, maximum: 100 }), Type.Null()], {
    description: 'Percent; null outside of `encoding`',
  }),
  errorCode: Type.Union([oneOf(UPLOAD_ERROR_CODES, 'Why it failed'), Type.Null()]),
})

export const CreatedUpload = Type.Object({
  ...Upload.properties,
  uploadUrl: Type.String({
    format: 'uri',
    description: 'Where the file is sent. It is a secret for this one file: neither log nor keep it',
  }),
  timeoutSeconds: Type.Integer({ description: 'Until `expiresAt`, where no more bytes arrive' }),
})
