/**
 * S3 objects whose bytes arrive over many requests: a multipart upload, and beside it an object with the end that is
 * still too short for a part.
 *
 * Every name is recorded before its object is created, so that `publish` and `discard` can delete all of them. The one
 * exception is a multipart upload whose id was lost in a crash. It is found by its key if listing is permitted.
 * Otherwise the bucket's rule for incomplete uploads deletes it.
 */
import type { S3Client } from '@aws-sdk/client-s3'
import { Semaphore } from '../concurrency/semaphore.ts'
import type { Json } from '../db/pool.ts'
import type { AppendOptions, IncomingProgress, IncomingRecord, IncomingStore } from './incoming.ts'
import { assertKey } from './keys.ts'
import { digestOf } from './s3-checksum.ts'
import type { S3Config } from './s3-config.ts'
import type { DeleteObject } from './s3-delete.ts'
import { isNamed, statusOf } from './s3-errors.ts'
import { headObject } from './s3-head.ts'
import { parseResumeState, type S3ResumeState, siblingKey, siblingNames } from './s3-resume-state.ts'
import { Spool } from './s3-spool.ts'
import { orReason, until } from './s3-until.ts'
import { S3Writer } from './s3-writer.ts'

/** Concurrent transfers of all writers. The client has 50 connections, and other requests need some of them. */
const SENT_AT_ONCE = 32

export interface S3IncomingOptions {
  readonly open: () => Promise<S3Client>
  readonly bucket: string
  /** Buffers bytes before they are sent. Needs space for some parts of each writer. Created on first use. */
  readonly spoolFolder: string
  readonly checksum: S3Config['checksum']
  readonly deleteObject: DeleteObject
}

/** An incoming object and the client that reaches it. */
interface Reach {
  readonly client: S3Client
  readonly bucket: string
  readonly key: string
  readonly checksum: S3Config['checksum']
  readonly deleteObject: DeleteObject
}

/** Its writers share 32 transfers (`SENT_AT_ONCE`). */
export function createS3Incoming({
  open,
  bucket,
  spoolFolder,
  checksum,
  deleteObject,
}: S3IncomingOptions): IncomingStore {
  const transfers = new Semaphore(SENT_AT_ONCE)
  const reach = async (key: string): Promise<Reach> => {
    assertKey(key)
    return { client: await open(), bucket, key, checksum, deleteObject }
  }
  return {
    append: async (key, progress, options) =>
      append({ ...(await reach(key)), spoolFolder, transfers }, progress, options),
    publish: async (key, whole, contentType) => publish(await reach(key), whole, contentType),
    async discard(key, resumeState, signal) {
      const place = await reach(key)
      await orReason(signal, () => discard(place, resumeState, signal))
    },
  }
}

/** What all writers of the store share. */
interface Writing extends Reach {
  readonly spoolFolder: string
  readonly transfers: Semaphore
}

async function append(
  reach: Writing,
  { offset, resumeState: json }: IncomingProgress,
  options: AppendOptions,
) {
  const resumeState = parseResumeState(json)
  const { signal, contentType, alone } = options
  const recordedTail = resumeState?.tail ?? null
  const tail = recordedTail && (await orReason(signal, () => readTail(reach, recordedTail, signal)))
  const begin = (signal: AbortSignal) =>
    orReason(signal, () =>
      resumeState === null
        ? create(reach, contentType, signal)
        : continueFrom(reach, resumeState, alone, signal),
    )
  return new S3Writer({ ...options, ...reach, offset, resumeState, begin }, tail)
}

async function create(
  { client, bucket: Bucket, key: Key }: Reach,
  ContentType: string,
  signal: AbortSignal,
): Promise<S3ResumeState> {
  const { CreateMultipartUploadCommand } = await import('@aws-sdk/client-s3')
  const command = new CreateMultipartUploadCommand({ Bucket, Key, ContentType })
  const { UploadId } = await client.send(command, until(signal))
  if (UploadId === undefined) throw new Error('the object store began an upload without an id')
  return { uploadId: UploadId, next: 1, tail: null, orphanKeys: [], possibleOrphans: [] }
}

/**
 * The state that a new writer continues from. Former tails are deleted if no other writer can recreate them. The
 * current tail becomes an orphan once a part contains its bytes.
 */
async function continueFrom(
  reach: Reach,
  resumeState: S3ResumeState,
  alone: boolean,
  signal: AbortSignal,
): Promise<S3ResumeState> {
  const current = resumeState.tail === null ? [] : [resumeState.tail.name]
  const past = resumeState.orphanKeys.filter((name) => !current.includes(name))
  if (!alone)
    return { ...resumeState, orphanKeys: current, possibleOrphans: [...resumeState.possibleOrphans, ...past] }
  await remove(reach, past, signal)
  return { ...resumeState, orphanKeys: current }
}

async function readTail(
  { client, bucket: Bucket, key, spoolFolder, checksum }: Writing,
  { name, bytes }: NonNullable<S3ResumeState['tail']>,
  signal: AbortSignal | undefined,
): Promise<Spool> {
  const { GetObjectCommand } = await import('@aws-sdk/client-s3')
  const command = new GetObjectCommand({ Bucket, Key: siblingKey(key, name) })
  const { Body } = await client.send(command, until(signal))
  const spool = await Spool.open(spoolFolder, checksum)
  try {
    for await (const chunk of Body?.transformToWebStream() ?? []) await spool.write(chunk)
    if (spool.bytes !== bytes)
      throw new Error('the tail of an incoming object does not have the recorded size')
    return spool
  } catch (error) {
    await spool.close()
    throw error
  }
}

async function publish(
  reach: Reach,
  { offset, resumeState: json, parts }: IncomingRecord,
  contentType: string,
): Promise<void> {
  const resumeState = parseResumeState(json)
  const stored = parts.reduce((sum, { size }) => sum + size, 0)
  if (stored !== offset) throw new Error('the parts of an incoming object do not have the recorded size')
  if (resumeState === null || parts.length === 0) await putEmpty(reach, contentType)
  else await complete(reach, resumeState.uploadId, parts)
  await assertSize(reach, offset)
  await remove(reach, siblingNames(resumeState))
  await abortOthers(reach)
}

async function putEmpty(
  { client, bucket: Bucket, key: Key, checksum }: Reach,
  ContentType: string,
): Promise<void> {
  const { PutObjectCommand } = await import('@aws-sdk/client-s3')
  const Body = new Uint8Array()
  const put = { Bucket, Key, ContentType, Body, ...digestOf(checksum, Body) }
  await client.send(new PutObjectCommand(put))
}

/** Does nothing if the multipart upload is gone. The object's size then tells whether it was completed. */
async function complete(
  { client, bucket: Bucket, key: Key }: Reach,
  UploadId: string,
  parts: IncomingRecord['parts'],
): Promise<void> {
  const { CompleteMultipartUploadCommand } = await import('@aws-sdk/client-s3')
  const Parts = parts.map(({ number, etag }) => ({ PartNumber: number, ETag: etag }))
  try {
    await client.send(
      new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }),
    )
  } catch (error) {
    if (!isNamed(error, 'NoSuchUpload')) throw error
  }
}

async function assertSize({ client, bucket: Bucket, key: Key }: Reach, size: number): Promise<void> {
  try {
    const found = await headObject(client, { Bucket, Key })
    if (found.size !== size) throw new Error('the published object does not have the recorded size')
  } catch (error) {
    if (statusOf(error) === 404)
      throw new Error('the object store has lost an incoming object', { cause: error })
    throw error
  }
}

async function discard(reach: Reach, json: Json, signal: AbortSignal | undefined): Promise<void> {
  const resumeState = parseResumeState(json)
  if (resumeState !== null) await abort(reach, resumeState.uploadId, signal)
  await remove(reach, siblingNames(resumeState), signal)
  await abortOthers(reach, signal)
}

async function abort(
  { client, bucket: Bucket, key: Key }: Reach,
  UploadId: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { AbortMultipartUploadCommand } = await import('@aws-sdk/client-s3')
  try {
    await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }), until(signal))
  } catch (error) {
    if (statusOf(error) !== 404) throw error
  }
}

/** Aborts multipart uploads whose id was never recorded. */
async function abortOthers(reach: Reach, signal?: AbortSignal): Promise<void> {
  const { ListMultipartUploadsCommand } = await import('@aws-sdk/client-s3')
  const list = new ListMultipartUploadsCommand({ Bucket: reach.bucket, Prefix: reach.key })
  // Best effort: listing may not be permitted or supported.
  const { Uploads = [] } = await reach.client.send(list, until(signal)).catch(() => ({}) as { Uploads?: [] })
  signal?.throwIfAborted()
  for (const { Key, UploadId } of Uploads) {
    if (Key === reach.key && UploadId !== undefined) await abort(reach, UploadId, signal)
  }
}

async function remove(
  { client, bucket: Bucket, key, deleteObject }: Reach,
  names: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  await Promise.all(names.map((name) => deleteObject(client, { Bucket, Key: siblingKey(key, name) }, signal)))
}
