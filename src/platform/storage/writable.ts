/**
 * Checks whether objects can be stored at the moment. No check leaves an object, so each can run as often as needed, also on buckets that keep
 * old versions.
 */
import { constants } from 'node:fs'
import { access, stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { AbortMultipartUploadCommand, S3Client } from '@aws-sdk/client-s3'
import { NeedsOperator } from '../errors.ts'
import { isErrno } from './folder-files.ts'
import { digestOf } from './s3-checksum.ts'
import type { S3Config } from './s3-config.ts'
import { isNamed, statusOf } from './s3-errors.ts'
import { SPOOL_FULL, withRemedy } from './s3-remedy.ts'
import { until } from './s3-until.ts'

/** With less free space the next upload would be refused. */
const MIN_FREE_BYTES = 16 * 1024 * 1024

/** The folder may not exist yet. @throws if it cannot be written to, or its disk is full */
export async function assertFolderWritable(folder: string): Promise<void> {
  const place = await nearest(folder)
  await access(place, constants.W_OK | constants.X_OK)
  const { bavail, bsize, files, ffree } = await statfs(place)
  // Some file systems do not count their files.
  if (bavail * bsize < MIN_FREE_BYTES || (files > 0 && ffree === 0)) throw new NoRoom(place)
}

class NoRoom extends Error {
  override readonly name = 'NoRoom'
  constructor(place: string) {
    super(`no room left in ${place}. Free space on its disk`)
  }
}

/** The same for the folder of bytes that are on their way to S3. @throws NeedsOperator if its disk is full */
export async function assertSpoolWritable(folder: string): Promise<void> {
  try {
    await assertFolderWritable(folder)
  } catch (error) {
    throw error instanceof NoRoom ? new NeedsOperator(SPOOL_FULL) : error
  }
}

/** The folder, or the nearest existing folder above it. */
async function nearest(folder: string): Promise<string> {
  try {
    if ((await stat(folder)).isDirectory()) return folder
  } catch (error) {
    if (!isErrno(error, ['ENOENT']) || dirname(folder) === folder) throw error
    return nearest(dirname(folder))
  }
  throw new Error(`${folder} is not a folder. Move it away, or change DATA_DIR`)
}

const ABORT_MS = 5_000

/** No object has such a name. */
const NO_OBJECT = '.ready'

/**
 * Checks that the server answers and has the bucket, by asking for a missing object. Servers answer `AccessDenied` also to callers who may
 * write but not list.
 * @throws if the check fails
 */
export async function assertBucketAnswers(
  client: S3Client,
  bucket: string,
  signal: AbortSignal,
): Promise<void> {
  const { GetObjectCommand } = await import('@aws-sdk/client-s3')
  try {
    const command = new GetObjectCommand({ Bucket: bucket, Key: NO_OBJECT })
    const found = await client.send(command, until(signal))
    await found.Body?.transformToByteArray()
  } catch (error) {
    if (!isNamed(error, 'NoSuchKey') && !isNamed(error, 'AccessDenied')) throw withRemedy(error, 'GetObject')
  }
}

/**
 * Checks that the server stores bytes, by an upload in parts that is never completed: no object, version or retention comes of it.
 * @throws NeedsOperator with the remedy, or the error of the server
 */
export async function assertBucketStores(
  client: S3Client,
  { bucket: Bucket, checksum }: Pick<S3Config, 'bucket' | 'checksum'>,
  signal: AbortSignal,
): Promise<void> {
  const sdk = await import('@aws-sdk/client-s3')
  const place = { Bucket, Key: NO_OBJECT }
  try {
    const { UploadId } = await client.send(new sdk.CreateMultipartUploadCommand(place), until(signal))
    const upload = { ...place, UploadId }
    try {
      const Body = Uint8Array.of(0)
      const bytes = { Body, ...digestOf(checksum, Body) }
      const part = new sdk.UploadPartCommand({ ...upload, PartNumber: 1, ...bytes })
      await client.send(part, until(signal))
    } finally {
      await abort(client, new sdk.AbortMultipartUploadCommand(upload))
    }
  } catch (error) {
    throw error instanceof NeedsOperator ? error : withRemedy(error, 'PutObject')
  }
}

/** Also after the signal. What a server that is slow leaves is removed by the bucket's rule for incomplete uploads; what it refuses is said. */
async function abort(client: S3Client, command: AbortMultipartUploadCommand): Promise<void> {
  try {
    await client.send(command, until(AbortSignal.timeout(ABORT_MS)))
  } catch (error) {
    const status = statusOf(error)
    if (status === 401 || status === 403) throw withRemedy(error, 'AbortMultipartUpload')
  }
}
