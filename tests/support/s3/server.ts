/**
 * A real S3 interface for one test file: OpenStack Swift of Debian's `python3-swift`, or whatever server these name:
 * `S3_TEST_ENDPOINT`, `S3_TEST_ACCESS_KEY_ID`, `S3_TEST_SECRET_ACCESS_KEY`, and where they differ from `media` and `us-east-1`
 * `S3_TEST_BUCKET` and `S3_TEST_REGION`.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import type { S3Config } from '../../../src/platform/storage/s3-config.ts'
import { eventually } from '../eventually.ts'

/** Not the one on the PATH: the packages belong to the system's own. */
const PYTHON = '/usr/bin/python3'

export interface S3Server {
  readonly config: S3Config
  /** The variables that have the service use it. */
  readonly env: Readonly<Record<string, string>>
  /** A client as any other program would have it. */
  readonly client: S3Client
  stop(): Promise<void>
}

/** Starts it and makes the bucket. @throws Error where it is neither named nor installed */
export async function startS3(): Promise<S3Server> {
  const { S3_TEST_ENDPOINT: endpoint } = process.env
  if (endpoint !== undefined) return opened(endpoint, namedCredentials(), async () => {})
  const folder = mkdtempSync(join(tmpdir(), 'earshot-s3-'))
  const credentials = { accessKeyId: 'test', secretAccessKey: crypto.randomUUID() }
  const child = Bun.spawn(
    [
      PYTHON,
      join(import.meta.dir, 'swift_s3.py'),
      folder,
      credentials.accessKeyId,
      credentials.secretAccessKey,
    ],
    { stdin: 'pipe', stdout: 'pipe', stderr: Bun.file(join(folder, 'errors.log')) },
  )
  const stop = async () => {
    child.kill('SIGKILL')
    await child.exited
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const port = await firstLine(child.stdout)
    return await opened(`http://127.0.0.1:${port}`, credentials, stop)
  } catch (error) {
    const output = await Bun.file(join(folder, 'errors.log')).text()
    await stop()
    throw new Error(`no S3 server (Debian: apt-get install python3-swift): ${error}\n${output}`)
  }
}

function namedCredentials(): NonNullable<S3Config['credentials']> {
  return {
    accessKeyId: process.env.S3_TEST_ACCESS_KEY_ID ?? '',
    secretAccessKey: process.env.S3_TEST_SECRET_ACCESS_KEY ?? '',
  }
}

async function opened(
  endpoint: string,
  credentials: NonNullable<S3Config['credentials']>,
  stop: () => Promise<void>,
): Promise<S3Server> {
  const bucket = process.env.S3_TEST_BUCKET ?? 'media'
  const region = process.env.S3_TEST_REGION ?? 'us-east-1'
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true })
  await eventually(() => createBucket(client, bucket))
  return {
    config: { bucket, endpoint, region, credentials, forcePathStyle: true, checksum: 'md5' },
    env: {
      S3_BUCKET: bucket,
      S3_ENDPOINT: endpoint,
      S3_REGION: region,
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    },
    client,
    async stop() {
      client.destroy()
      await stop()
    },
  }
}

async function createBucket(client: S3Client, bucket: string): Promise<void> {
  try {
    await client.send(new CreateBucketCommand({ Bucket: bucket }))
  } catch (error) {
    if (!(error instanceof Error && /^BucketAlready/.test(error.name))) throw error
  }
}

/** @throws Error where the output ends before */
async function firstLine(output: ReadableStream<Uint8Array>): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of output) {
    text += decoder.decode(chunk, { stream: true })
    const end = text.indexOf('\n')
    if (end >= 0) return text.slice(0, end)
  }
  throw new Error('it ended at once')
}
