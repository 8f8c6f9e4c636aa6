/**
 * The disk of media fills up during an upload: the request is 507 `storage_full`, what was acknowledged stays, and the upload goes on once
 * there is room.
 *
 * The disk is a small file system in memory, which only root may mount. Otherwise the test is skipped with a message.
 */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fill, mountSmallDisk, unmount } from '../crash/support/small-disk.ts'
import { startTestServer } from '../support/server.ts'
import { createUpload, noise, patch } from '../support/uploads.ts'

setDefaultTimeout(300_000)

const SIZE = 8_000_000
const disk = mountSmallDisk('24m')
afterAll(() => unmount(disk))

if (disk === null) console.log('SKIPPED: only root, where it may mount a file system, can test a full disk')
test.skipIf(disk === null)(
  'bytes that do not fit on the disk are 507 storage_full, and fit later',
  async () => {
    const server = await startTestServer({ env: { DATA_DIR: join(disk!, 'data') } })
    try {
      const { apiKey } = await server.createTenant()
      const content = noise(SIZE)
      const { uploadUrl } = await createUpload(server.baseUrl, apiKey, { fileSize: SIZE })
      expect((await patch(uploadUrl, 0, content.subarray(0, 1_000_000))).status).toBe(204)
      fill(join(disk!, 'ballast'))
      const refused = await patch(uploadUrl, 1_000_000, content.subarray(1_000_000))
      expect(refused.status).toBe(507)
      expect(await refused.json()).toMatchObject({ code: 'storage_full' })
      expect(refused.headers.get('retry-after')).toBe('30')
      rmSync(join(disk!, 'ballast'))
      const head = await fetch(uploadUrl, { method: 'HEAD', headers: { 'tus-resumable': '1.0.0' } })
      const offset = Number(head.headers.get('upload-offset'))
      expect(offset).toBeGreaterThanOrEqual(1_000_000)
      const rest = await patch(uploadUrl, offset, content.subarray(offset))
      expect(rest.status).toBe(204)
      expect(rest.headers.get('upload-offset')).toBe(String(SIZE))
    } finally {
      await server.stop()
    }
  },
)
