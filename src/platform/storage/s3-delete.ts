/**
 * Deletes S3 objects, with all versions that the bucket keeps of them.
 *
 * In a bucket with versions, deleting an object only hides it: what it contained stays. Its versions are deleted where the server permits
 * it. A version under retention stays, and so does every version if the credentials may not list or delete them: the log says so. Delete markers stay, too:
 * they hold nothing but the key, and without its marker a version under retention would appear again.
 */
import type { S3Client } from '@aws-sdk/client-s3'
import { statusOf } from './s3-errors.ts'
import type { KeptVersions } from './s3-kept-versions.ts'
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

/** @param kept is told of each object that was deleted and whose versions stay */
export function createDeleteObject(kept: Pick<KeptVersions, 'add'>): DeleteObject {
  // A repeated delete is answered by some servers as if there were no versions.
  let hasVersions = false
  return async (client, place, signal) => {
    const { DeleteObjectCommand } = await import('@aws-sdk/client-s3')
    const { VersionId, DeleteMarker } = await client.send(new DeleteObjectCommand(place), until(signal))
    if (VersionId !== undefined || DeleteMarker === true) hasVersions = true
    if (!hasVersions) return
    const refusal = await deleteVersions(client, place, signal)
    if (refusal !== null) kept.add(refusal)
  }
}

/** @returns the code of a refusal for which versions stay, or null */
async function deleteVersions(
  client: S3Client,
  place: Place,
  signal: AbortSignal | undefined,
): Promise<string | null> {
  const { DeleteObjectCommand } = await import('@aws-sdk/client-s3')
  const listed = await orRefused(versionsOf(client, place, signal))
  if ('refusal' in listed) return listed.refusal
  let last: string | null = null
  for (const VersionId of listed.value) {
    const sent = await orRefused(client.send(new DeleteObjectCommand({ ...place, VersionId }), until(signal)))
    if ('refusal' in sent) last = sent.refusal ?? last
  }
  return last
}

/** @throws the server's error */
async function versionsOf(client: S3Client, { Bucket, Key }: Place, signal: AbortSignal | undefined) {
  const { ListObjectVersionsCommand } = await import('@aws-sdk/client-s3')
  const found: string[] = []
  let from: { KeyMarker?: string; VersionIdMarker?: string } = {}
  for (;;) {
    const page = await client.send(
      new ListObjectVersionsCommand({ Bucket, Prefix: Key, ...from }),
      until(signal),
    )
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

/** What the server has answered, or its code if it refuses the request for good. The code is null for what is not there. */
async function orRefused<T>(
  sent: Promise<T>,
): Promise<{ readonly value: T } | { readonly refusal: string | null }> {
  try {
    return { value: await sent }
  } catch (error) {
    const status = statusOf(error) ?? 0
    if (!isRefusal(status)) throw error
    return { refusal: status === 404 ? null : (error as Error).name }
  }
}
