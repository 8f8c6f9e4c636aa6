/**
 * Use cases of folders and upload batches.
 *
 * A folder that the caller may not see answers 404, never 403.
 */

import type { Deps } from '../../kernel/deps.ts'
import type { Owner, Viewer } from '../../kernel/principal.ts'
import { type Alongside, together } from '../../platform/db/alongside.ts'
import type { TimeSlice } from '../../platform/db/keyset.ts'
import type { Query } from '../../platform/db/pool.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { AppError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import { nameOf } from '../../platform/validation/names.ts'
import type { CreateFolder, UploadBatch } from './model.ts'
import * as store from './store.ts'

export type { FolderRow } from './store.ts'
export type Folders = ReturnType<typeof createFolders>

export type FoldersDeps = Pick<Deps, 'sql' | 'reads' | 'newId'>

export function createFolders({ sql, reads, newId }: FoldersDeps) {
  return {
    /** @throws AppError 400; 403 `user_required` if an API key asks for a private folder */
    async create(
      viewer: Viewer,
      { name, shared = true }: CreateFolder,
      also?: Alongside<store.FolderRow>,
    ): Promise<store.FolderRow> {
      const ownerUserId = shared ? null : ownerOf(viewer)
      const { organizationId } = viewer
      const row = { id: newId(), organizationId, ownerUserId, name: nameOf('name', name) }
      return together(sql, also, (query) => store.insertFolder(query, row))
    },

    /** @throws AppError 404 */
    async get(viewer: Viewer, id: string): Promise<store.FolderRow> {
      return (await store.findFolder(reads, viewer, id)) ?? noFolder(id)
    },

    /** `readName` is called after the folder was found. @throws AppError 404; errors of `readName`; 400 */
    async rename(
      viewer: Viewer,
      id: string,
      readName: () => Promise<{ readonly name: string }>,
      also?: Alongside<store.FolderRow>,
    ): Promise<store.FolderRow> {
      if ((await store.findFolder(sql, viewer, id)) === undefined) noFolder(id)
      const name = nameOf('name', (await readName()).name)
      return together(
        sql,
        also,
        async (query) => (await store.renameFolder(query, viewer, id, name)) ?? noFolder(id),
      )
    },

    /** Deletes an empty folder, so that no recording becomes visible. @throws AppError 404; 409 `not_empty` */
    remove: (viewer: Viewer, id: string, also?: Alongside): Promise<void> =>
      transaction(sql, async (tx) => {
        if (!(await store.lockFolder(tx, viewer, id))) noFolder(id)
        if (!(await store.deleteEmptyFolder(tx, viewer.organizationId, id))) {
          const message = 'The folder holds recordings: move them to another folder or delete them first.'
          throw new AppError('not_empty', message)
        }
        await also?.(tx, id)
      }),

    /** Newest first, with one row more than the limit. */
    list: (viewer: Viewer, slice: TimeSlice) => store.listFolders(reads, viewer, slice),

    /**
     * The folders that a request names, without duplicates, in their order. Their rows stay until the transaction ends.
     * @throws AppError 404 `folder_not_found` if the viewer cannot see one of them
     */
    async resolve(tx: Query, viewer: Viewer, folderIds: readonly string[]): Promise<readonly string[]> {
      const ids = [...new Set(folderIds.map((id) => id.toLowerCase()))]
      if (ids.length === 0) return ids
      const visible = await store.lockFolders(tx, viewer, ids.filter(isUuid))
      const missing = ids.find((id) => !visible.has(id))
      return missing === undefined ? ids : noFolder(missing)
    },

    /** SQL condition: the viewer sees the folder with the alias `f`. For statements of other features. */
    visibleFolder: store.visibleFolder,

    /** SQL condition: the viewer sees the recording with the alias `r`. For statements of other features. */
    visibleRecording: store.visibleRecording,
    hiddenRecordings: store.hiddenRecordings,

    /** @throws AppError 404 `recording_not_found` */
    async assertVisible(query: Query, viewer: Viewer, recordingId: string): Promise<void> {
      if (await store.seesRecording(query, viewer, recordingId)) return
      throw new AppError('recording_not_found', 'There is no such recording.')
    },

    /** Content that only one user sees, for the removal of a member. */
    privateContent: { count: store.countPrivate, handOver: store.handOver },

    createBatch: ({ organizationId, userId }: Owner): Promise<UploadBatch> =>
      store.insertBatch(sql, { id: newId(), organizationId, userId }),

    /** The user's own batches, newest first. */
    listBatches: (user: Owner, limit: number): Promise<readonly UploadBatch[]> =>
      store.listBatches(reads, user, limit),

    /** One of the user's own batches. @throws AppError 404 `batch_not_found` */
    async getBatch(user: Owner, id: string): Promise<UploadBatch> {
      const batch = await store.findBatch(sql, user, id)
      if (batch === undefined) throw new AppError('batch_not_found', 'There is no such upload batch.')
      return batch
    },
  }
}

function ownerOf(viewer: Viewer): string {
  if (viewer.kind === 'user') return viewer.userId
  throw new AppError('user_required', 'A private folder belongs to a user: an API key alone is not enough.')
}

function noFolder(id: string): never {
  throw new AppError('folder_not_found', `There is no such folder: ${id}.`)
}
