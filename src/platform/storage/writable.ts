/**
 * Checks whether objects can be stored at the moment.
 *
 * It writes nothing, so the check can run as often as needed.
 */
import { constants } from 'node:fs'
import { access, stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { S3Client } from '@aws-sdk/client-s3'
import { isErrno } from './folder-files.ts'
import { isNamed } from './s3-errors.ts'

/** With less free space the next upload would be refused. */
const MIN_FREE_BYTES = 16 * 1024 * 1024

/** The folder may not exist yet. @throws if it cannot be written to, or its disk is full */
export async function assertFolderWritable(folder: string): Promise<void> {
  const place = await nearest(folder)
  await access(place, constants.W_OK | constants.X_OK)
  const { bavail, bsize, files, ffree } = await statfs(place)
  // Some file systems do not count their files.
  if (bavail * bsize < MIN_FREE_BYTES || (files > 0 && ffree === 0))
    throw new Error(`no room left in ${place}`)
}

/** The folder, or the nearest existing folder above it. */
async function nearest(folder: string): Promise<string> {
  try {
    if ((await stat(folder)).isDirectory()) return folder
  } catch (error) {
    if (!isErrno(error, ['ENOENT']) || dirname(folder) === folder) throw error
    return nearest(dirname(folder))
  }
  throw new Error(`${folder} is not a folder`)
}

/** No object has such a name. */
const NO_OBJECT = '.ready'

/**
 * Checks that the server answers and has the bucket, by asking for a missing object. It does not show whether writing is
 * permitted: servers answer `AccessDenied` also to callers who may write but not list.
 * @throws if the check fails
 */
export async function assertBucketAnswers(
  client: S3Client,
  bucket: string,
  signal: AbortSignal,
): Promise<void> {
  const { GetObjectCommand } = await import('@aws-sdk/client-s3')
  try {
    const found = await client.send(new GetObjectCommand({ Bucket: bucket, Key: NO_OBJECT }), {
      abortSignal: signal,
    })
    await found.Body?.transformToByteArray()
  } catch (error) {
    if (!isNamed(error, 'NoSuchKey') && !isNamed(error, 'AccessDenied')) throw error
  }
}
