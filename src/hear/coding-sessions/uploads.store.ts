/** The SQL of uploaded session files. */
import type { Query, Tx } from '../../platform/db/pool.ts'
import type { Format, Labels } from './event.rules.ts'
import type { Viewer } from './store.ts'

/** What the uploader states about the file. */
export interface Stated extends Labels {
  readonly format: Format | null
  readonly agent: string | null
  readonly externalSessionId: string | null
}

export interface FileRow extends Stated {
  readonly uploadId: string
  readonly organizationId: string
  readonly userId: string | null
  /** Bytes that were read. */
  readonly bytesDone: number
  /** Items whose effects are stored. */
  readonly itemsDone: number
  readonly eventCount: number
  /** Events that neither the session nor another one of the owner had. */
  readonly freshCount: number
  readonly sessionId: string | null
  readonly fileError: string | null
}

const columns = (query: Query) => query`
  f.upload_id as "uploadId", f.organization_id as "organizationId", f.user_id as "userId", f.format, f.agent,
  f.external_session_id as "externalSessionId", f.title, f.repo, f.branch, f.commit_sha as commit,
  f.bytes_done as "bytesDone", f.items_done as "itemsDone", f.event_count as "eventCount",
  f.fresh_count as "freshCount", f.session_id as "sessionId", f.error_code as "fileError"`

export async function insertFile(
  tx: Tx,
  ref: Pick<FileRow, 'uploadId' | 'organizationId' | 'userId'>,
  stated: Stated,
): Promise<void> {
  await tx`
    insert into coding_session_upload (
      upload_id, organization_id, user_id, format, agent, external_session_id, title, repo, branch, commit_sha
    )
    values (
      ${ref.uploadId}, ${ref.organizationId}, ${ref.userId}, ${stated.format}, ${stated.agent},
      ${stated.externalSessionId}, ${stated.title}, ${stated.repo}, ${stated.branch}, ${stated.commit}
    )`
}

/** For the actor of the upload, which knows its id alone. */
export async function readFile(
  tx: Tx,
  { organizationId, id }: { readonly organizationId: string; readonly id: string },
): Promise<FileRow | undefined> {
  const [row] = await tx<FileRow[]>`
    select ${columns(tx)}
    from coding_session_upload f
    where f.organization_id = ${organizationId}
      and f.upload_id = ${id}`
  return row
}

/** A user sees the user's own uploads, a key those of keys. */
export async function findFile(query: Query, viewer: Viewer, id: string): Promise<FileRow | undefined> {
  const userId = viewer.kind === 'user' ? viewer.userId : null
  const [row] = await query<FileRow[]>`
    select ${columns(query)}
    from coding_session_upload f
    where f.organization_id = ${viewer.organizationId}
      and f.user_id is not distinct from ${userId}::uuid
      and f.upload_id = ${id}`
  return row
}

export interface Progress {
  readonly sessionId: string
  readonly bytesDone: number
  readonly itemsDone: number
  /** Of the batch. */
  readonly events: number
  readonly fresh: number
}

/** Records a stored batch, in its transaction. */
export async function recordBatch(
  tx: Tx,
  { organizationId, uploadId }: Pick<FileRow, 'organizationId' | 'uploadId'>,
  { sessionId, bytesDone, itemsDone, events, fresh }: Progress,
): Promise<void> {
  await tx`
    update coding_session_upload
    set
      session_id = ${sessionId}, bytes_done = ${bytesDone}, items_done = ${itemsDone},
      event_count = event_count + ${events}, fresh_count = fresh_count + ${fresh}
    where organization_id = ${organizationId}
      and upload_id = ${uploadId}`
}

export async function recordFailure(
  tx: Tx,
  { organizationId, uploadId }: Pick<FileRow, 'organizationId' | 'uploadId'>,
  errorCode: string,
): Promise<void> {
  await tx`
    update coding_session_upload
    set error_code = ${errorCode}
    where organization_id = ${organizationId}
      and upload_id = ${uploadId}`
}
