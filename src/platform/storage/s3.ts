/**
 * The object store on an S3-compatible server.
 *
 * It uses only features that every such server has: no checksum but `Content-MD5` (Swift and older MinIO refuse others; a bucket with
 * retention demands one), parts of one size (R2), single deletes (servers disagree about the signature of `DeleteObjects`), and no
 * conditional puts. The SDK loads with the first use, because it would delay a start by 100 ms.
 */
import { tmpdir } from 'node:os'
import type { S3Client } from '@aws-sdk/client-s3'
import { cachedFor } from '../concurrency/cached.ts'
import type { Log } from '../observability/log.ts'
import { contentDisposition } from './disposition.ts'
import { assertKey } from './keys.ts'
import type { S3Config } from './s3-config.ts'
import { copyToFile } from './s3-copy.ts'
import { createDeleteObject } from './s3-delete.ts'
import { isNamed, statusOf } from './s3-errors.ts'
import { headObject } from './s3-head.ts'
import { createS3Incoming } from './s3-incoming.ts'
import { createKeptVersions } from './s3-kept-versions.ts'
import { putFile } from './s3-put.ts'
import { MAX_OBJECT_BYTES } from './s3-resume-state.ts'
import { signSpooled } from './s3-spool.ts'
import { orReason } from './s3-until.ts'
import { ObjectMissing, type ObjectStore, type PlaybackOptions } from './storage.ts'
import { assertBucketAnswers, assertBucketStores, assertSpoolWritable } from './writable.ts'

/** Concurrent requests when many objects are deleted. */
const DELETES_AT_ONCE = 8
const MAX_ATTEMPTS = 5
const CONNECT_TIMEOUT_MS = 10_000
/** Time-out without a byte in either direction. */
const IDLE_TIMEOUT_MS = 60_000
/** A bucket may cost money for each byte that is written into it. */
const STORES_EVERY_MS = 60_000
const STORES_BUDGET_MS = 10_000

const NO_LOG: Pick<Log, 'warn'> = { warn() {} }

/** `spoolFolder` holds bytes on their way to the server. It is on a disk, because many uploads need more than memory. */
export function createS3Store(
  config: S3Config,
  spoolFolder = tmpdir(),
  log: Pick<Log, 'warn'> = NO_LOG,
): ObjectStore {
  let opened: Promise<S3Client> | null = null
  const open = () => {
    opened ??= openClient(config)
    return opened
  }
  const kept = createKeptVersions(log, config.bucket)
  const deleteObject = createDeleteObject(kept)
  const place = (key: string) => {
    assertKey(key)
    return { Bucket: config.bucket, Key: key }
  }
  const assertStores = cachedFor(STORES_EVERY_MS, async () =>
    assertBucketStores(await open(), config, AbortSignal.timeout(STORES_BUDGET_MS)),
  )
  return {
    name: 's3',
    maxBytes: MAX_OBJECT_BYTES,
    async putFile(key, path, options) {
      await putFile(await open(), { ...place(key), checksum: config.checksum }, path, options)
    },
    async head(key) {
      try {
        return await headObject(await open(), place(key))
      } catch (error) {
        if (statusOf(error) === 404) return null
        throw error
      }
    },
    async read(key, range) {
      const { GetObjectCommand } = await import('@aws-sdk/client-s3')
      const bytes = range === undefined ? {} : { Range: `bytes=${range.start}-${range.end - 1}` }
      try {
        const { Body } = await (await open()).send(new GetObjectCommand({ ...place(key), ...bytes }))
        if (Body === undefined) throw new Error('the object store answered without a body')
        return Body.transformToWebStream()
      } catch (error) {
        if (statusOf(error) === 416) return new Blob([]).stream()
        if (isNamed(error, 'NoSuchKey')) throw new ObjectMissing(key)
        throw error
      }
    },
    async localFile(key, folder, signal) {
      try {
        return await copyToFile(await open(), place(key), folder, signal)
      } catch (error) {
        if (isNamed(error, 'NoSuchKey')) throw new ObjectMissing(key)
        throw error
      }
    },
    incoming: createS3Incoming({
      open,
      bucket: config.bucket,
      checksum: config.checksum,
      spoolFolder,
      deleteObject,
    }),
    // The bucket's rule for incomplete uploads removes leftovers of puts. `discard` removes those of incoming objects.
    sweep: async () => 0,
    async delete(keys, signal) {
      const client = await open()
      const places = keys.map(place)
      await orReason(signal, async () => {
        for (let from = 0; from < places.length; from += DELETES_AT_ONCE) {
          const some = places.slice(from, from + DELETES_AT_ONCE)
          await Promise.all(some.map((where) => deleteObject(client, where, signal)))
        }
      })
    },
    playbackUrl: async (key, options) => presign(await open(), place(key), options),
    playback: null,
    async assertWritable(signal) {
      await assertSpoolWritable(spoolFolder)
      await assertBucketAnswers(await open(), config.bucket, signal)
      await assertStores()
    },
    close() {
      kept.close()
      opened?.then(
        (client) => client.destroy(),
        () => {},
      )
    },
  }
}

async function openClient({ region, endpoint, forcePathStyle, credentials }: S3Config): Promise<S3Client> {
  const { S3Client } = await import('@aws-sdk/client-s3')
  const client = new S3Client({
    region,
    forcePathStyle,
    ...(endpoint === null ? {} : { endpoint }),
    // A copy, because the SDK writes into it and settings are frozen.
    ...(credentials === null ? {} : { credentials: { ...credentials } }),
    maxAttempts: MAX_ATTEMPTS,
    // The SDK would print some warnings on the console. Errors carry the same information.
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: CONNECT_TIMEOUT_MS, socketTimeout: IDLE_TIMEOUT_MS },
  })
  signSpooled(client)
  return client
}

async function presign(
  client: S3Client,
  place: { readonly Bucket: string; readonly Key: string },
  { contentType, fileName, now, expiresAt }: PlaybackOptions,
): Promise<string> {
  const { GetObjectCommand } = await import('@aws-sdk/client-s3')
  const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner')
  const command = new GetObjectCommand({
    ...place,
    ResponseContentType: contentType,
    ResponseContentDisposition: contentDisposition(contentType, fileName),
  })
  const expiresIn = Math.max(1, Math.floor((expiresAt.getTime() - now.getTime()) / 1_000))
  return getSignedUrl(client, command, { signingDate: now, expiresIn })
}
