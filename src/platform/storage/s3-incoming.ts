/**
 * Objects of S3 whose bytes arrive over many requests: a multipart upload, and beside it an object with the end that is too
 * short for a part yet.
 *
 * The rule: what exists on the server is recorded before it is made, so that `publish` and `discard` can remove all of it. The
 * one exception is an upload whose id came with the answer that a crash lost: it is found by its key, where listing is
 * permitted, and else left to the bucket's rule for incomplete uploads.
 */
import type { S3Client } from '@aws-sdk/client-s3'
import type { Json } from '../db/pool.ts'
import type { AppendOptions, IncomingProgress, IncomingRecord, IncomingStore } from './incoming.ts'
import { assertKey } from './keys.ts'
import { isNamed, statusOf } from './s3-errors.ts'
import { besides, leftoversOf, memoryOf, type S3Memory } from './s3-memory.ts'
import { Spool } from './s3-spool.ts'
import { orReason, until } from './s3-until.ts'
import { S3Writer } from './s3-writer.ts'
import { Slots } from './slots.ts'

/** Parts and tails on their way, of all writers: the client has 50 connections, and others need some of them. */
const SENT_AT_ONCE = 32

export interface S3IncomingOptions {
  readonly open: () => Promise<S3Client>
  readonly bucket: string
  /** For bytes on their way; needs room for some parts of each writer. Made when it is first needed. */
  readonly spoolFolder: string
}

/** Where an incoming object is, and what is needed to reach it. */
interface Reach {
  readonly client: S3Client
  readonly bucket: string
  readonly key: string
}

export function createS3Incoming({ open, bucket, spoolFolder }: S3IncomingOptions): IncomingStore {
  const slots = new Slots(SENT_AT_ONCE)
  const reach = async (key: string): Promise<Reach> => {
    assertKey(key)
    return { client: await open(), bucket, key }
  }
  return {
    append: async (key, progress, options) =>
      append({ ...(await reach(key)), spoolFolder, slots }, progress, options),
    publish: async (key, whole, contentType) => publish(await reach(key), whole, contentType),
    async discard(key, memory, signal) {
      const place = await reach(key)
      await orReason(signal, () => discard(place, memory, signal))
    },
  }
}

/** What all writers of the store share, besides. */
interface Writing extends Reach {
  readonly spoolFolder: string
  readonly slots: Slots
}

async function append(reach: Writing, { offset, memory: json }: IncomingProgress, options: AppendOptions) {
  const memory = memoryOf(json)
  const { signal, contentType, alone } = options
  const recorded = memory?.tail ?? null
  const tail = recorded && (await orReason(signal, () => readTail(reach, recorded, signal)))
  const begin = (signal: AbortSignal) =>
    orReason(signal, () =>
      memory === null ? create(reach, contentType, signal) : succeed(reach, memory, alone, signal),
    )
  return new S3Writer({ ...options, ...reach, offset, memory, begin }, tail)
}

async function create(
  { client, bucket: Bucket, key: Key }: Reach,
  ContentType: string,
  signal: AbortSignal,
): Promise<S3Memory> {
  const { CreateMultipartUploadCommand } = await import('@aws-sdk/client-s3')
  const command = new CreateMultipartUploadCommand({ Bucket, Key, ContentType })
  const { UploadId } = await client.send(command, until(signal))
  if (UploadId === undefined) throw new Error('the object store began an upload without an id')
  return { uploadId: UploadId, next: 1, tail: null, litter: [], strays: [] }
}

/**
 * What a successor goes on with. Tails in the past are removed where nobody makes them any more; the present one becomes litter
 * with the part that it will be in.
 */
async function succeed(
  reach: Reach,
  memory: S3Memory,
  alone: boolean,
  signal: AbortSignal,
): Promise<S3Memory> {
  const current = memory.tail === null ? [] : [memory.tail.name]
  const past = memory.litter.filter((name) => !current.includes(name))
  if (!alone) return { ...memory, litter: current, strays: [...memory.strays, ...past] }
  await remove(reach, past, signal)
  return { ...memory, litter: current }
}

async function readTail(
  { client, bucket: Bucket, key, spoolFolder }: Writing,
  { name, bytes }: NonNullable<S3Memory['tail']>,
  signal: AbortSignal | undefined,
): Promise<Spool> {
  const { GetObjectCommand } = await import('@aws-sdk/client-s3')
  const command = new GetObjectCommand({ Bucket, Key: besides(key, name) })
  const { Body } = await client.send(command, until(signal))
  const spool = await Spool.open(spoolFolder)
  try {
    for await (const chunk of Body?.transformToWebStream() ?? []) await spool.write(chunk)
    if (spool.bytes !== bytes) throw new Error('the end of an incoming object is not what was recorded')
    return spool
  } catch (error) {
    await spool.close()
    throw error
  }
}

async function publish(
  reach: Reach,
  { offset, memory: json, parts }: IncomingRecord,
  contentType: string,
): Promise<void> {
  const memory = memoryOf(json)
  const stored = parts.reduce((sum, { size }) => sum + size, 0)
  if (stored !== offset)
    throw new Error('the parts of an incoming object are not as many bytes as were recorded')
  if (memory === null || parts.length === 0) await putEmpty(reach, contentType)
  else await complete(reach, memory.uploadId, parts)
  await assertSize(reach, offset)
  await remove(reach, leftoversOf(memory))
  await abortOthers(reach)
}

async function putEmpty({ client, bucket: Bucket, key: Key }: Reach, ContentType: string): Promise<void> {
  const { PutObjectCommand } = await import('@aws-sdk/client-s3')
  await client.send(new PutObjectCommand({ Bucket, Key, ContentType, Body: new Uint8Array() }))
}

/** Does nothing where the upload is not there any more: whether the object is, tells its size. */
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
  const { HeadObjectCommand } = await import('@aws-sdk/client-s3')
  try {
    const { ContentLength } = await client.send(new HeadObjectCommand({ Bucket, Key }))
    if (ContentLength !== size) throw new Error('the published object is not as many bytes as were recorded')
  } catch (error) {
    if (statusOf(error) === 404)
      throw new Error('the object store has lost an incoming object', { cause: error })
    throw error
  }
}

async function discard(reach: Reach, json: Json, signal: AbortSignal | undefined): Promise<void> {
  const memory = memoryOf(json)
  if (memory !== null) await abort(reach, memory.uploadId, signal)
  await remove(reach, leftoversOf(memory), signal)
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

/** Uploads that began, and whose id was never recorded. */
async function abortOthers(reach: Reach, signal?: AbortSignal): Promise<void> {
  const { ListMultipartUploadsCommand } = await import('@aws-sdk/client-s3')
  const list = new ListMultipartUploadsCommand({ Bucket: reach.bucket, Prefix: reach.key })
  // Best effort: listing may not be permitted, and not every server can.
  const { Uploads = [] } = await reach.client.send(list, until(signal)).catch(() => ({}) as { Uploads?: [] })
  signal?.throwIfAborted()
  for (const { Key, UploadId } of Uploads) {
    if (Key === reach.key && UploadId !== undefined) await abort(reach, UploadId, signal)
  }
}

async function remove(
  { client, bucket: Bucket, key }: Reach,
  names: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  const { DeleteObjectCommand } = await import('@aws-sdk/client-s3')
  await Promise.all(
    names.map((name) =>
      client.send(new DeleteObjectCommand({ Bucket, Key: besides(key, name) }), until(signal)),
    ),
  )
}
