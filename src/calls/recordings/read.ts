/** Reads recordings with their metadata: one, or a page of a list. */
import type { Deps } from '../../kernel/deps.ts'
import type { Viewer } from '../../kernel/principal.ts'
import type { People } from '../../people/service.ts'
import { assertReached, type Scanned, wholly } from '../../platform/db/bounded-scan.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import { AppError } from '../../platform/errors.ts'
import type { Folders } from '../folders/service.ts'
import type { Metadata, RecordingMetadata } from '../metadata/service.ts'
import { recordingsFound } from '../transcripts/service.ts'
import * as lists from './list.store.ts'
import * as store from './store.ts'

export type RecordingsDeps = Pick<
  Deps,
  'sql' | 'reads' | 'notifier' | 'newId' | 'log' | 'storage' | 'outbound'
> & {
  readonly folders: Folders
  readonly people: People
  readonly metadata: Metadata
}

/** A recording with its metadata. */
export type Found = store.RecordingRow & { readonly metadata: RecordingMetadata }
export type Listed = lists.ListRow & { readonly metadata: RecordingMetadata }

/** Filters of a list, including those that are not columns. */
export interface ListRequest extends Omit<lists.ListFilter, 'id'> {
  readonly externalId?: string | undefined
  readonly text?: string | undefined
}

const NO_METADATA: RecordingMetadata = { canonical: null, all: [] }

/** Undefined unless the condition `visible` holds. */
export async function find(
  { folders, metadata }: RecordingsDeps,
  query: Query,
  viewer: Viewer,
  id: string,
  visible: store.Condition,
): Promise<Found | undefined> {
  const row = await store.findRecording(query, id, visible, folders.visibleFolder(query, viewer))
  if (row === undefined) return undefined
  const records = await metadata.recordsOf(query, viewer.organizationId, [id])
  return { ...row, metadata: records.get(id) ?? NO_METADATA }
}

/** Reads what this transaction has written, even if the viewer can no longer see the recording. */
export async function readBack(deps: RecordingsDeps, tx: Tx, viewer: Viewer, id: string): Promise<Found> {
  return (
    (await find(deps, tx, viewer, id, store.ofOrganization(tx, viewer.organizationId))) ?? throwNoRecording()
  )
}

/** One page with the metadata of its recordings, in two statements. */
export async function list(
  { reads, folders, metadata }: RecordingsDeps,
  viewer: Viewer,
  { externalId, text, ...filter }: ListRequest,
  slice: lists.ListSlice,
): Promise<Scanned<Listed, string>> {
  const { organizationId } = viewer
  if (filter.folderId !== undefined) await folders.get(viewer, filter.folderId)
  const holder =
    externalId === undefined ? null : await metadata.recordingWith(reads, organizationId, externalId)
  if (externalId !== undefined && holder === null) return wholly([])
  const scope = {
    organizationId,
    visible: folders.visibleRecording(reads, viewer),
    found: text === undefined ? null : recordingsFound(reads, organizationId, text),
  }
  const { rows, end } = await lists.listRecordings(
    reads,
    scope,
    { ...filter, id: holder ?? undefined },
    slice,
  )
  if (end !== null && rows.length === 0) assertReached(slice)
  if (rows.length === 0) return { rows: [], end }
  const records = await metadata.recordsOf(
    reads,
    organizationId,
    rows.map(({ id }) => id),
  )
  return { rows: rows.map((row) => ({ ...row, metadata: records.get(row.id) ?? NO_METADATA })), end }
}

/** @throws AppError 404 */
export function throwNoRecording(): never {
  throw new AppError('recording_not_found', 'There is no such recording.')
}
