/** `/ready` reports a store that is not writable, and the check leaves nothing in the store. */
import { afterAll, afterEach, describe, expect, spyOn, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ListObjectsV2Command } from '@aws-sdk/client-s3'
import { loadConfig } from '../../src/app/config.ts'
import { createContainer } from '../../src/app/container.ts'
import { healthRoutes } from '../../src/platform/observability/health.ts'
import { createFolderStore } from '../../src/platform/storage/folder.ts'
import { createS3Store } from '../../src/platform/storage/s3.ts'
import type { ObjectStore } from '../../src/platform/storage/storage.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startS3 } from '../support/s3/server.ts'

const scratch = mkdtempSync(join(tmpdir(), 'earshot-ready-'))
const mounted: string[] = []
afterAll(() => {
  for (const folder of mounted) Bun.spawnSync(['umount', '-l', folder])
  rmSync(scratch, { recursive: true, force: true })
})

const signal = new AbortController().signal
const folderStore = (folder: string) => createFolderStore({ folder, keyFile: join(scratch, 'key') })

/** A file system in memory, which only root may mount. */
function mount(options: string): string | null {
  if (process.platform !== 'linux' || process.geteuid?.() !== 0) return null
  const folder = mkdtempSync(join(scratch, 'disk-'))
  if (!Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', options, 'earshot', folder]).success) return null
  mounted.push(folder)
  return folder
}

describe('the store in a folder', () => {
  test('is writable even before its folder exists; the check does not create it', async () => {
    const folder = join(scratch, 'not', 'there', 'yet')
    await folderStore(folder).assertWritable(signal)
    expect(readdirSync(scratch)).not.toContain('not')
  })

  test('is not writable if a file has its name', async () => {
    const file = join(scratch, 'file')
    writeFileSync(file, '')
    await expect(folderStore(file).assertWritable(signal)).rejects.toThrow('is not a folder')
    await expect(folderStore(join(file, 'below')).assertWritable(signal)).rejects.toThrow('ENOTDIR')
  })

  const readOnly = mount('ro')
  test.skipIf(readOnly === null)('is not writable on a read-only disk', async () => {
    await expect(folderStore(join(readOnly!, 'media')).assertWritable(signal)).rejects.toThrow('EROFS')
  })

  const small = mount('size=20m')
  test.skipIf(small === null)('is not writable on a full disk', async () => {
    const store = folderStore(join(small!, 'media'))
    await store.assertWritable(signal)
    writeFileSync(join(small!, 'ballast'), Buffer.alloc(8 * 1024 * 1024))
    await expect(store.assertWritable(signal)).rejects.toThrow('no room left')
  })
})

describe('the store on an S3 server', () => {
  test('is ready if the bucket exists; the check changes nothing', async () => {
    const server = await startS3()
    const stores: ObjectStore[] = []
    const withConfig = (change: Partial<typeof server.config>) => {
      const store = createS3Store({ ...server.config, ...change })
      stores.push(store)
      return store.assertWritable(AbortSignal.timeout(10_000))
    }
    try {
      await withConfig({})
      const { Contents = [] } = await server.client.send(
        new ListObjectsV2Command({ Bucket: server.config.bucket }),
      )
      expect(Contents).toEqual([])
      await expect(withConfig({ bucket: 'no-such-bucket' })).rejects.toThrow()
      await server.stop()
      await expect(withConfig({})).rejects.toThrow()
    } finally {
      for (const store of stores) store.close()
      await server.stop()
    }
  }, 300_000)
})

interface Body {
  readonly checks: Readonly<Record<string, unknown>>
  readonly degraded: readonly { readonly since: string }[]
}

describe('GET /ready', () => {
  let close: () => Promise<void> = async () => {}
  afterEach(() => close())

  async function serve(assertWritable: ObjectStore['assertWritable']) {
    const database = await createTestDatabase()
    const config = loadConfig({ LOG_LEVEL: 'silent', DATA_DIR: scratch })
    const container = createContainer(config, { database: { url: database.url }, redis: null }, 'test')
    const routes = healthRoutes({ ...container, storage: { name: 'folder', assertWritable } })
    close = async () => {
      await container.close()
      await database.drop()
    }
    const ready = async () => {
      const answer = await routes.handle(new Request('http://localhost/ready'))
      return { status: answer.status, body: (await answer.json()) as Body }
    }
    /** Resolves after one more response of the database. */
    return Object.assign(ready, { database: () => container.sql`select 1` })
  }

  test('is 200 with a check of the store, which is shared by many requests', async () => {
    let asked = 0
    const ready = await serve(async () => {
      asked += 1
    })
    const answers = await Promise.all([ready(), ready(), ready()])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect((await ready()).body.checks.storage).toEqual({ status: 'ok', kind: 'folder' })
    expect(asked).toBe(1)
  })

  test('is 200 and degraded while the store is not writable, without revealing the cause', async () => {
    const ready = await serve(async () => {
      throw new Error('EROFS: /secret/place')
    })
    const { status, body } = await ready()
    expect(status).toBe(200)
    expect(body).toMatchObject({
      status: 'degraded',
      degraded: [{ part: 'storage', effect: expect.stringContaining('Media cannot be stored') }],
      checks: { database: { status: 'ok' }, storage: { status: 'failed', kind: 'folder' } },
    })
    expect(JSON.stringify(body)).not.toContain('secret')
  })

  test('is degraded while the store hangs, without asking it again, and says since when', async () => {
    let asked = 0
    const ready = await serve(() => {
      asked += 1
      return new Promise(() => {})
    })
    const [first, second] = [await ready(), await ready()]
    expect([first.status, second.status]).toEqual([200, 200])
    expect(second.body.degraded[0]?.since).toBe(first.body.degraded[0]?.since as string)
    expect(asked).toBe(1)
  }, 300_000)

  test('does not wait for a store that hangs later, and notices it', async () => {
    let hangs = false
    const ready = await serve(async () => {
      if (hangs) await new Promise(() => {})
    })
    // Every check of the store counts as too old for the next one.
    const clock = spyOn(performance, 'now')
    try {
      expect((await ready()).body.degraded).toEqual([])
      hangs = true
      const later = performance.now() + 60_000
      clock.mockImplementation(() => later)
      const started = Date.now()
      expect((await ready()).body.degraded).toEqual([])
      expect(Date.now() - started).toBeLessThan(2_000)
    } finally {
      clock.mockRestore()
    }
    await eventually(async () => (await ready()).body.degraded.length === 1)
  }, 300_000)
})
