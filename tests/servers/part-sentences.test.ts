/** What a part says when it is away or full names the part and what mends it, not a word of a library. */
import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { runTool } from '../../src/calls/media/tool.ts'
import { ensurePostgres, postgresFolders, stopPostgres } from '../../src/platform/embedded/postgres.ts'
import { findRedis, startRedis } from '../../src/platform/embedded/redis.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { openRedis } from '../../src/platform/redis.ts'
import { assertRedisUsable } from '../../src/platform/redis-usable.ts'
import { createS3Store } from '../../src/platform/storage/s3.ts'

const log = createLog('silent', 'test')

test('Redis is away', async () => {
  const redis = openRedis('redis://127.0.0.1:1', log)
  // The second time the connection is known to be lost.
  for (const _ of [1, 2])
    await expect(assertRedisUsable(redis, 'earshot')).rejects.toThrow(
      'Redis cannot be reached. Start it, or correct the host and the port in REDIS_URL.',
    )
  redis.disconnect()
})

test('the object store takes connections and does not answer', async () => {
  const server = Bun.serve({ port: 0, idleTimeout: 60, fetch: () => new Promise<Response>(() => {}) })
  const credentials = { accessKeyId: 'id', secretAccessKey: 'secret' }
  const bucket = { bucket: 'media', region: 'us-east-1', forcePathStyle: true, checksum: 'md5' } as const
  const store = createS3Store({ ...bucket, endpoint: server.url.origin, credentials }, tmpdir())
  await expect(store.assertWritable(AbortSignal.timeout(300))).rejects.toThrow(
    'The object store does not answer in time. Start it, or correct S3_ENDPOINT.',
  )
  store.close()
  await server.stop(true)
})

test.each([
  ['No space left on device', 'found the disk of DATA_DIR/tmp full (ENOSPC). Free space on it.'],
  [
    'Disk quota exceeded',
    'has used up the quota of the disk of DATA_DIR/tmp (EDQUOT). Raise it, or free space.',
  ],
  ['Too many open files', 'may open no more files (EMFILE). Raise the limit of open files.'],
])('FFmpeg lacks something: %s', async (words, sentence) => {
  const folder = await mkdtemp(join(tmpdir(), 'earshot-tool-'))
  const ffmpeg = join(folder, 'ffmpeg')
  await writeFile(ffmpeg, `#!/bin/sh\necho "write: ${words}" >&2\necho "Conversion failed!" >&2\nexit 1\n`)
  await chmod(ffmpeg, 0o755)
  const options = { signal: AbortSignal.timeout(30_000), timeoutMs: 30_000, maxOutputBytes: 100 }
  await expect(runTool(ffmpeg, [], options)).rejects.toThrow(`${ffmpeg} ${sentence}`)
  await rm(folder, { recursive: true })
})

test('a data folder with a path too long for a socket leaves no folder in the temporary one', async () => {
  const root = await mkdtemp('/tmp/earshot-long-')
  await chmod(root, 0o755)
  const dataDir = join(root, 'x'.repeat(100))
  await mkdir(dataDir, { recursive: true, mode: 0o755 })
  const folders = postgresFolders(dataDir)
  expect(dirname(folders.socket)).toBe(tmpdir())
  const started = await ensurePostgres(folders, { atStart: true, maxConnections: 20, size: 'usual' }, log)
  const redis = await startRedis(dataDir, log)
  const sockets = [folders.socket, ...(redis === null ? [] : [dirname(new URL(redis.url).pathname)])]
  expect(sockets.map((folder) => existsSync(folder))).toEqual(sockets.map(() => true))
  await redis?.stop()
  await stopPostgres(folders, started.pid, log)
  expect(await findRedis(dataDir)).toBeNull()
  expect(sockets.filter((folder) => existsSync(folder))).toEqual([])
  await rm(root, { recursive: true })
}, 120_000)
