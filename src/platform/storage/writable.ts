/**
 * Whether anything could be stored at the moment, as far as that can be told without storing anything.
 *
 * The rule: nothing is written, not even for a moment, so that a check may be made as often as somebody asks.
 */
import { constants } from 'node:fs'
import { access, stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { S3Client } from '@aws-sdk/client-s3'
import { isErrno } from './folder-files.ts'
import { isNamed } from './s3-errors.ts'

/** Less than that is no room for media, and the next upload would be refused. */
const MIN_FREE_BYTES = 16 * 1024 * 1024

/** Of a folder that need not be there yet. @throws where it cannot be written to, or its disk is full */
export async function assertFolderWritable(folder: string): Promise<void> {
  const place = await nearest(folder)
  await access(place, constants.W_OK | constants.X_OK)
  const { bavail, bsize, files, ffree } = await statfs(place)
  // Some file systems do not count their files.
  if (bavail * bsize < MIN_FREE_BYTES || (files > 0 && ffree === 0))
    throw new Error(`no room left in ${place}`)
}

/** The folder, or the one above it that it would be made in. */
async function nearest(folder: string): Promise<string> {
  try {
    if ((await stat(folder)).isDirectory()) return folder
  } catch (error) {
    if (!isErrno(error, ['ENOENT']) || dirname(folder) === folder) throw error
    return nearest(dirname(folder))
  }
  throw new Error(`${folder} is not a folder`)
}

/** No object of ours has a name like that. */
const NO_OBJECT = '.ready'

/**
 * The server answers and has the bucket: it is asked for an object that is not there. Whether we may write shows only where we do:
 * `AccessDenied` is what servers say here also to those who may write and not list.
 * @throws where it does not
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
