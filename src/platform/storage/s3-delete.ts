/**
 * Deletes S3 objects, with all versions that the bucket keeps of them.
 *
 * In a bucket with versions, deleting an object only hides it: what it contained stays. Its versions are deleted where the server permits
 * it. A version under retention stays, and so does every version if the credentials may not list or delete them. Delete markers stay, too:
 * they hold nothing but the key, and without its marker a version under retention would appear again.
 */
import type { S3Client } from '@aws-sdk/client-s3'
import { statusOf } from './s3-errors.ts'
import { until } from './s3-until.ts'

/**
 * The server does not permit it, or has no versions. A version under retention is refused with 403 by AWS and with 400 by MinIO. What may
 * succeed later is none of it.
 */
const isRefusal = (status: number): boolean =>
  (status >= 400 && status < 500 && status !== 408 && status !== 429) || status === 501

interface Place {
  readonly Bucket: string
  readonly Key: string
}

/** Ignores a missing object. @throws the server's error */
export type DeleteObject = (client: S3Client, place: Place, signal: AbortSignal | undefined) => Promise<void>

export function createDeleteObject(): DeleteObject {
  // A repeated delete is answered by some servers as if there were no versions.
  let hasVersions = false
  return async (client, place, signal) => {
    const { DeleteObjectCommand } = await import('@aws-sdk/client-s3')
    const { VersionId, DeleteMarker } = await client.send(new DeleteObjectCommand(place), until(signal))
    if (VersionId !== undefined || DeleteMarker === true) hasVersions = true
    if (hasVersions) await deleteVersions(client, place, signal)
  }
}

async function deleteVersions(
  client: S3Client,
  place: Place,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { DeleteObjectCommand } = await import('@aws-sdk/client-s3')
  for (const VersionId of await versionsOf(client, place, signal))
    await orRefused(client.send(new DeleteObjectCommand({ ...place, VersionId }), until(signal)))
}

async function versionsOf(client: S3Client, { Bucket, Key }: Place, signal: AbortSignal | undefined) {
  const { ListObjectVersionsCommand } = await import('@aws-sdk/client-s3')
  const found: string[] = []
  let from: { KeyMarker?: string; VersionIdMarker?: string } = {}
  for (;;) {
    const list = new ListObjectVersionsCommand({ Bucket, Prefix: Key, ...from })
    const page = await orRefused(client.send(list, until(signal)))
    if (page === null) return []
    for (const version of page.Versions ?? [])
      if (version.Key === Key && version.VersionId !== undefined) found.push(version.VersionId)
    // The key itself precedes all others that begin with it.
    const { IsTruncated, NextKeyMarker, NextVersionIdMarker } = page
    if (IsTruncated !== true || NextKeyMarker !== Key) return found
    from = {
      KeyMarker: NextKeyMarker,
      ...(NextVersionIdMarker === undefined ? {} : { VersionIdMarker: NextVersionIdMarker }),
    }
  }
}

/** @returns null if the server refuses the request for good */
async function orRefused<T>(sent: Promise<T>): Promise<T | null> {
  try {
    return await sent
  } catch (error) {
    if (isRefusal(statusOf(error) ?? 0)) return null
    throw error
  }
}
