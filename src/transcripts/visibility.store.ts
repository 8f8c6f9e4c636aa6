/** Whether a caller sees a recording: one that has no folder, or at least one that the caller sees. */
import type { Viewer } from '../folders/service.ts'
import type { Query } from '../platform/db/pool.ts'
import { AppError } from '../platform/errors.ts'

/** @throws AppError 404 `recording_not_found` */
export async function assertVisible(query: Query, viewer: Viewer, recordingId: string): Promise<void> {
  const userId = viewer.kind === 'user' ? viewer.userId : null
  const [row] = await query<{ visible: boolean }[]>`
    select true as visible
    from recording r
    where r.organization_id = ${viewer.organizationId}
      and r.id = ${recordingId}
      and (
        not exists (select 1 from recording_folder rf where rf.recording_id = r.id)
        or exists (
          select 1
          from recording_folder rf
          join folder f on f.id = rf.folder_id
          where rf.recording_id = r.id
            and f.organization_id = r.organization_id
            and (f.owner_user_id is null or f.owner_user_id = ${userId}::uuid)
        )
      )`
  if (row === undefined) throw new AppError('recording_not_found', 'There is no such recording.')
}
