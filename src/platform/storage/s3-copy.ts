/** Copies an S3 object to a file, for programs that need one. Memory does not grow with the object. */
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { S3Client } from '@aws-sdk/client-s3'
import type { LocalFile } from './storage.ts'

/** @throws the reason of the signal, or the server's error. The file does not exist then. */
export async function copyToFile(
  client: S3Client,
  place: { readonly Bucket: string; readonly Key: string },
  folder: string,
  signal: AbortSignal,
): Promise<LocalFile> {
  signal.throwIfAborted()
  const { GetObjectCommand } = await import('@aws-sdk/client-s3')
  const path = join(folder, crypto.randomUUID())
  const release = () => rm(path, { force: true })
  try {
    const { Body, ContentLength } = await client.send(new GetObjectCommand(place), { abortSignal: signal })
    if (!(Body instanceof Readable)) throw new Error('the object store answered without a body')
    const file = createWriteStream(path, { flags: 'wx', mode: 0o600 })
    await pipeline(Body, file, { signal })
    if (ContentLength !== undefined && file.bytesWritten !== ContentLength)
      throw new Error('the object store ended its answer early')
    return { path, release }
  } catch (error) {
    await release()
    signal.throwIfAborted()
    throw error
  }
}
