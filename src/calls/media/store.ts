/**
 * The SQL of objects that no recording refers to.
 *
 * A key is in `media_garbage` from before its object is put until the transaction that publishes it.
 */

import type { Query, Tx } from '../../platform/db/pool.ts'
import { objectsOf, type PublishedMedia, publishMedia, type Subject } from '../assets/service.ts'
import { MAX_TURN_MS } from './rules.ts'

/** Stored objects, and the properties of the object that is played. */
export interface StoredMedia extends PublishedMedia {
  /** The keys that are in `media_garbage`. */
  readonly entered: readonly string[]
}

/**
 * `replace` publishes media in place of other media, whose objects are soon deleted.
 * @returns false as `moveAsset` does, or if an object may already be deleted
 */
export async function publishAsset(
  tx: Tx,
  subject: Subject,
  media: StoredMedia,
  event: 'publish' | 'replace' = 'publish',
): Promise<boolean> {
  const { organizationId } = subject
  const kept = await tx`
    delete from media_garbage
    where organization_id = ${organizationId}
      and object_key = any(${[...media.entered]}::text[])`
  if (kept.count !== media.entered.length) return false
  if (event === 'replace') await discardMedia(tx, subject)
  return publishMedia(tx, subject, media, event)
}

/** Enters the keys of objects that are about to be put. They become due once every current turn must have ended. */
export async function enterGarbage(
  tx: Tx,
  { organizationId, recordingId }: Subject,
  keys: readonly string[],
): Promise<void> {
  await tx`
    insert into media_garbage (object_key, organization_id, recording_id, delete_after)
    select
      unnest(${[...keys]}::text[]), ${organizationId}, ${recordingId},
      now() + make_interval(secs => ${MAX_TURN_MS / 1_000}, hours => 1)`
}

/** Keys of earlier attempts. They stay entered, because such an attempt may still be running. */
export async function garbageOf(
  tx: Tx,
  { organizationId, recordingId }: Subject,
): Promise<readonly string[]> {
  const rows = await tx<{ key: string }[]>`
    select object_key as key
    from media_garbage
    where organization_id = ${organizationId}
      and recording_id = ${recordingId}`
  return rows.map(({ key }) => key)
}

/** Has the objects of a recording deleted soon. The recording is being deleted, or gets other media. */
export async function discardMedia(tx: Tx, subject: Subject): Promise<void> {
  await tx`
    insert into media_garbage (object_key, organization_id, recording_id, delete_after)
    select distinct object_key, organization_id, recording_id, now()
    from (${objectsOf(tx, subject)}) as objects
    on conflict (object_key) do update set delete_after = now()`
}

/** Keys of one recording that are due. */
export async function dueGarbageOf(
  query: Query,
  { organizationId, recordingId }: Subject,
): Promise<readonly string[]> {
  const rows = await query<{ key: string }[]>`
    select object_key as key
    from media_garbage
    where organization_id = ${organizationId}
      and recording_id = ${recordingId}
      and delete_after <= now()`
  return rows.map(({ key }) => key)
}

/** Keys of one organization that are due. */
export async function dueGarbageIn(
  query: Query,
  organizationId: string,
  limit: number,
): Promise<readonly string[]> {
  const rows = await query<{ key: string }[]>`
    select object_key as key
    from media_garbage
    where organization_id = ${organizationId}
      and delete_after <= now()
    limit ${limit}`
  return rows.map(({ key }) => key)
}

/** Keys of every organization that are due, oldest first. */
export async function dueGarbage(query: Query, limit: number): Promise<readonly string[]> {
  const rows = await query<{ key: string }[]>`
    select object_key as key
    from media_garbage
    where delete_after <= now()
    order by delete_after
    limit ${limit}`
  return rows.map(({ key }) => key)
}

/**
 * An object must be unpublishable before it is deleted. Therefore the row is deleted first, in the transaction that
 * then deletes the object.
 * @returns false if the object was published or already deleted
 */
export async function takeGarbage(tx: Tx, key: string): Promise<boolean> {
  const { count } = await tx`
    delete from media_garbage
    where object_key = ${key}
      and delete_after <= now()`
  return count === 1
}

/** Postpones an object that cannot be deleted now, so that it does not block the others. */
export async function postponeGarbage(query: Query, key: string): Promise<void> {
  await query`
    update media_garbage
    set delete_after = now() + interval '15 minutes'
    where object_key = ${key}`
}
