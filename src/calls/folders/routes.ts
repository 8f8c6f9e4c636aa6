/** Operations on folders and upload batches. */

import { Type } from '@sinclair/typebox'
import { recorded } from '../../access/audit/change.ts'
import { created, noContent, type Operation, ok, operation } from '../../http/operation.ts'
import { keyset, pageOf, toPage } from '../../http/paging.ts'
import { uuidOf } from '../../http/parameters.ts'
import { CreateFolder, Folder, FolderQuery, RenameFolder, UploadBatch } from './model.ts'
import type { FolderRow, Folders } from './service.ts'

const FOLDERS = '/v3/rest/folders'
const BATCHES = '/v3/rest/upload-batches'
const TAG = 'Folders'

const order = keyset('folders', ['integer', 'uuid'])

/** Everything under `/v3/rest/folders` and `/v3/rest/upload-batches`. */
export function folderOperations(folders: Folders): readonly Operation[] {
  return [
    listFolders(folders),
    createFolder(folders),
    getFolder(folders),
    renameFolder(folders),
    deleteFolder(folders),
    createUploadBatch(folders),
    getUploadBatch(folders),
  ]
}

const listFolders = (folders: Folders) =>
  operation({
    id: 'listFolders',
    method: 'GET',
    path: FOLDERS,
    tag: TAG,
    summary: 'List folders',
    description:
      "Newest first. A user sees the shared folders and the user's own; the organization key sees the shared ones.",
    access: 'organizationOrUser',
    role: 'viewer',
    query: FolderQuery,
    success: { status: 200, description: 'A page of folders', schema: pageOf(Folder) },
    async handler({ principal, query }) {
      const { limit, cursor } = query()
      const rows = await folders.list(principal, { after: order.decode(cursor), limit })
      const next = (row: FolderRow) => order.encode([row.createdMicroseconds, row.id])
      return ok(toPage(rows, limit, next, folder))
    },
  })

const createFolder = (folders: Folders) =>
  operation({
    id: 'createFolder',
    method: 'POST',
    path: FOLDERS,
    tag: TAG,
    summary: 'Create a folder',
    description:
      'A folder is shared with the organization unless `shared` is false. Only a user may create a private folder; an API key gets 403.',
    access: 'organizationOrUser',
    role: 'analyst',
    body: CreateFolder,
    example: { name: 'Customer interviews', shared: true },
    success: { status: 201, description: 'The folder', schema: Folder },
    errors: ['user_required'],
    async handler(call) {
      const also = recorded(call, 'folder.created', ({ id }: FolderRow) => id)
      const row = await folders.create(call.principal, await call.body(), also)
      return created(`${FOLDERS}/${row.id}`, folder(row))
    },
  })

const getFolder = (folders: Folders) =>
  operation({
    id: 'getFolder',
    method: 'GET',
    path: `${FOLDERS}/{folderId}`,
    params: { folderId: uuidOf('folder') },
    tag: TAG,
    summary: 'Read a folder',
    description: 'Answers 404 if the caller cannot see the folder.',
    access: 'organizationOrUser',
    role: 'viewer',
    query: Type.Object({}),
    success: { status: 200, description: 'The folder', schema: Folder },
    errors: ['folder_not_found'],
    async handler({ principal, id, query }) {
      const row = await folders.get(principal, id('folderId', 'folder_not_found'))
      query()
      return ok(folder(row))
    },
  })

const renameFolder = (folders: Folders) =>
  operation({
    id: 'renameFolder',
    method: 'PATCH',
    path: `${FOLDERS}/{folderId}`,
    params: { folderId: uuidOf('folder') },
    tag: TAG,
    summary: 'Rename a folder',
    description:
      'A user may rename shared folders and the user’s own; an organization key may rename shared ones.',
    access: 'organizationOrUser',
    role: 'analyst',
    body: RenameFolder,
    example: { name: 'Customer interviews 2026' },
    success: { status: 200, description: 'The renamed folder', schema: Folder },
    errors: ['folder_not_found'],
    async handler(call) {
      const id = call.id('folderId', 'folder_not_found')
      const also = recorded(call, 'folder.updated', () => id)
      return ok(folder(await folders.rename(call.principal, id, call.body, also)))
    },
  })

const deleteFolder = (folders: Folders) =>
  operation({
    id: 'deleteFolder',
    method: 'DELETE',
    path: `${FOLDERS}/{folderId}`,
    params: { folderId: uuidOf('folder') },
    tag: TAG,
    summary: 'Delete a folder',
    description:
      'Deletes an empty folder. A folder with recordings, even hidden ones, answers 409 `not_empty`, because a recording without ' +
      'a folder is visible to the whole organization.',
    access: 'organizationOrUser',
    role: 'analyst',
    success: { status: 204, description: 'The folder is deleted' },
    errors: ['folder_not_found', 'not_empty'],
    async handler(call) {
      const id = call.id('folderId', 'folder_not_found')
      const also = recorded(call, 'folder.deleted', () => id)
      await folders.remove(call.principal, id, also)
      return noContent()
    },
  })

const createUploadBatch = (folders: Folders) =>
  operation({
    id: 'createUploadBatch',
    method: 'POST',
    path: BATCHES,
    tag: TAG,
    summary: 'Create an upload batch',
    description:
      'Creates a group for uploads of the user. The request has no body. An organization key has no batches.',
    access: 'user',
    role: 'analyst',
    success: { status: 201, description: 'The batch', schema: UploadBatch },
    async handler({ principal }) {
      const batch = await folders.createBatch(principal)
      return created(`${BATCHES}/${batch.id}`, batch)
    },
  })

const getUploadBatch = (folders: Folders) =>
  operation({
    id: 'getUploadBatch',
    method: 'GET',
    path: `${BATCHES}/{batchId}`,
    params: { batchId: uuidOf('upload batch') },
    tag: TAG,
    summary: 'Read an upload batch',
    description: 'Answers 404 if the user has no such batch.',
    access: 'user',
    role: 'viewer',
    query: Type.Object({}),
    success: { status: 200, description: 'The batch', schema: UploadBatch },
    errors: ['batch_not_found'],
    async handler({ principal, id, query }) {
      const batch = await folders.getBatch(principal, id('batchId', 'batch_not_found'))
      query()
      return ok(batch)
    },
  })

function folder({ createdMicroseconds: _, ...shown }: FolderRow) {
  return shown
}
