/**
 * Stores a file as an S3 object: a small file in one request, a larger one in parts.
 *
 * Memory does not grow with the file. Each concurrent request has one buffer, which it reuses. A failed request is repeated
 * from its buffer. An incomplete upload is aborted; it was never visible.
 */
import { type FileHandle, open } from 'node:fs/promises'
import type { CompletedPart, S3Client } from '@aws-sdk/client-s3'
import { digestOf } from './s3-checksum.ts'
import type { S3Config } from './s3-config.ts'
import type { PutOptions } from './storage.ts'

const MIB = 1024 * 1024
/** The smallest part that S3 accepts, because larger parts need more memory. Enough for 48 GiB. */
const PART_BYTES = 5 * MIB
const MAX_PARTS = 10_000
const PARTS_AT_ONCE = 3

interface Place {
  readonly Bucket: string
  readonly Key: string
}

/** A place, and how the bytes that go there are checked. */
interface Target extends Place {
  readonly checksum: S3Config['checksum']
}

interface Sending<To extends Place = Place> {
  readonly client: S3Client
  readonly place: To
  readonly checksum: S3Config['checksum']
}

interface Part {
  /** From 1. */
  readonly number: number
  readonly start: number
  readonly length: number
}

/** Resolves when the server has the whole file. @throws the reason of the signal, or the server's error */
export async function putFile(
  client: S3Client,
  { checksum, ...place }: Target,
  path: string,
  options: PutOptions,
) {
  options.signal.throwIfAborted()
  const sending = { client, place, checksum }
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    if (size <= PART_BYTES) await putWhole(sending, file, size, options)
    else await putParts(sending, file, size, options)
  } catch (error) {
    options.signal.throwIfAborted()
    throw error
  } finally {
    await file.close()
  }
}

async function putWhole(
  { client, place, checksum }: Sending,
  file: FileHandle,
  size: number,
  { contentType, signal }: PutOptions,
): Promise<void> {
  const { PutObjectCommand } = await import('@aws-sdk/client-s3')
  const Body = await readInto(Buffer.allocUnsafeSlow(size), file, { number: 1, start: 0, length: size })
  await client.send(
    new PutObjectCommand({ ...place, Body, ...digestOf(checksum, Body), ContentType: contentType }),
    {
      abortSignal: signal,
    },
  )
}

async function putParts(
  { client, place, checksum }: Sending,
  file: FileHandle,
  size: number,
  { contentType, signal }: PutOptions,
): Promise<void> {
  const sdk = await import('@aws-sdk/client-s3')
  const begin = new sdk.CreateMultipartUploadCommand({ ...place, ContentType: contentType })
  const { UploadId } = await client.send(begin, { abortSignal: signal })
  const upload = { ...place, UploadId }
  try {
    const Parts = await sendParts({ client, place: upload, checksum }, file, size, signal)
    signal.throwIfAborted()
    await client.send(new sdk.CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }), {
      abortSignal: signal,
    })
  } catch (error) {
    // Best effort: leftovers are invisible, and the bucket's rule for incomplete uploads removes them.
    await client.send(new sdk.AbortMultipartUploadCommand(upload)).catch(() => {})
    throw error
  }
}

/** Sends several parts at a time. The first failure ends the others. @returns what completes the upload, in order */
async function sendParts(
  { client, place, checksum }: Sending<Place & { readonly UploadId: string | undefined }>,
  file: FileHandle,
  size: number,
  signal: AbortSignal,
): Promise<CompletedPart[]> {
  const { UploadPartCommand } = await import('@aws-sdk/client-s3')
  const failed = new AbortController()
  const abortSignal = AbortSignal.any([signal, failed.signal])
  const waiting = partsOf(size)
  const completed: CompletedPart[] = []
  const lane = async () => {
    const buffer = Buffer.allocUnsafeSlow(partBytesOf(size))
    for (const part of waiting) {
      abortSignal.throwIfAborted()
      const Body = await readInto(buffer, file, part)
      const command = new UploadPartCommand({
        ...place,
        PartNumber: part.number,
        Body,
        ...digestOf(checksum, Body),
      })
      const { ETag } = await client.send(command, { abortSignal })
      completed[part.number - 1] = { PartNumber: part.number, ETag }
    }
  }
  const lanes = await Promise.allSettled(
    Array.from({ length: PARTS_AT_ONCE }, () =>
      lane().catch((error) => {
        failed.abort(error)
        throw error
      }),
    ),
  )
  if (lanes.some(({ status }) => status === 'rejected')) throw failed.signal.reason
  return completed
}

/** One size for all parts but the last: the usual one, or the smallest whole number of MiB that gives few enough parts. */
function partBytesOf(size: number): number {
  return Math.max(PART_BYTES, Math.ceil(size / MAX_PARTS / MIB) * MIB)
}

/** The next part number, shared by the concurrent requests. */
function* partsOf(size: number): Generator<Part> {
  const bytes = partBytesOf(size)
  for (let number = 1, start = 0; start < size; number++, start += bytes)
    yield { number, start, length: Math.min(bytes, size - start) }
}

/** Reads the part into the front of the buffer. @throws Error if the file has become shorter */
async function readInto(buffer: Buffer, file: FileHandle, { start, length }: Part): Promise<Buffer> {
  for (let filled = 0; filled < length; ) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, start + filled)
    if (bytesRead === 0) throw new Error('the file became shorter while it was being stored')
    filled += bytesRead
  }
  return buffer.subarray(0, length)
}
