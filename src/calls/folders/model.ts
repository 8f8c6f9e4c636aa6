/** Shapes of folders and upload batches in the API. */
import { Type } from '@sinclair/typebox'
import { pageQuery } from '../../http/paging.ts'
import { MAX_NAME } from '../../platform/validation/names.ts'
import { createdAt, named, trimmedText, uuid } from '../../platform/validation/schema.ts'

export const CreateFolder = Type.Object({
  name: trimmedText('Name of the folder.', MAX_NAME),
  shared: Type.Optional(
    Type.Boolean({
      default: true,
      description:
        '`true`: visible to the whole organization. `false`: visible to the user only, and to no API key.',
    }),
  ),
})
export interface CreateFolder {
  readonly name: string
  readonly shared?: boolean
}

export const RenameFolder = Type.Object(
  { name: trimmedText('Name of the folder.', MAX_NAME) },
  { additionalProperties: false },
)

export const Folder = named(
  'Folder',
  Type.Object({
    id: uuid('Id of the folder.'),
    name: Type.String({ description: `Name of the folder, 1 to ${MAX_NAME} characters.` }),
    shared: Type.Boolean({
      description: '`true`: visible to the whole organization. `false`: visible to its owner only.',
    }),
    createdAt,
  }),
)
export interface Folder {
  readonly id: string
  readonly name: string
  readonly shared: boolean
  readonly createdAt: Date
}

export const FolderQuery = Type.Object(pageQuery(100, 20))

export const UploadBatch = named(
  'UploadBatch',
  Type.Object({ id: uuid('Id of the upload batch.'), createdAt }),
)
export interface UploadBatch {
  readonly id: string
  readonly createdAt: Date
}
