/** Wire shapes of folders and upload batches. */
import { Type } from '@sinclair/typebox'
import { pageQuery } from '../http/paging.ts'
import { MAX_NAME } from '../platform/names.ts'

const Uuid = Type.String({ format: 'uuid' })
const Moment = Type.String({ format: 'date-time' })

export const CreateFolder = Type.Object({
  name: Type.String({ minLength: 1, description: `Stored trimmed: 1 to ${MAX_NAME} characters` }),
  shared: Type.Optional(
    Type.Boolean({
      default: true,
      description: 'true: everybody in the organization sees it; false: the user alone, and no API key',
    }),
  ),
})
export interface CreateFolder {
  readonly name: string
  readonly shared?: boolean
}

export const Folder = Type.Object({
  id: Uuid,
  name: Type.String(),
  shared: Type.Boolean(),
  createdAt: Moment,
})
export interface Folder {
  readonly id: string
  readonly name: string
  readonly shared: boolean
  readonly createdAt: Date
}

export const FolderQuery = Type.Object(pageQuery(100, 20))

export const UploadBatch = Type.Object({ id: Uuid, createdAt: Moment })
export interface UploadBatch {
  readonly id: string
  readonly createdAt: Date
}
