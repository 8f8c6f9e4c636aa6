/** Uploads through nginx, which refuses large bodies and closes the connection while they are being sent. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findSourceFile } from '../../src/client/source-file.ts'
import { sendFile } from '../../src/client/tus.ts'
import { type Proxied, startNginx } from '../support/nginx.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { createTestUpload, noise } from '../support/uploads.ts'

const GIVE_UP_MS = 20_000

/** Sizes leave each remainder of four, and are above the limit. */
const CASES: readonly (Proxied & { readonly size: number })[] = [true, false].flatMap((buffering) => [
  { limit: '1k', buffering, size: 40_001 },
  { limit: '10k', buffering, size: 100_003 },
  { limit: '100k', buffering, size: 1_000_002 },
  { limit: null, buffering, size: 5_760_019 },
  { limit: '10m', buffering, size: 23_040_078 },
  { limit: '10m', buffering, size: 11_000_000 },
])

let server: TestServer
let tenant: TestTenant
let nginx: Awaited<ReturnType<typeof startNginx>>
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'earshot-nginx-upload-'))
  server = await startTestServer()
  tenant = await server.createTenant()
  nginx = await startNginx(server.baseUrl, CASES)
})
afterAll(async () => {
  await nginx?.stop()
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

describe('a whole file arrives', () => {
  test.each(CASES.map((each, at) => [each.limit ?? 'default', each.size, each.buffering, at] as const))(
    'limit %s, %d bytes, buffering: %p',
    async (_, size, __, at) => {
      const path = join(folder, `${at}.bin`)
      writeFileSync(path, noise(size))
      const file = await findSourceFile(path)
      const { uploadId, uploadUrl } = await createTestUpload(server, tenant, { fileSize: size })
      const troubles: string[] = []
      const sent: number[] = []
      try {
        await sendFile(uploadUrl.replace(server.baseUrl, nginx.urls[at] ?? ''), file, {
          signal: AbortSignal.timeout(GIVE_UP_MS),
          giveUpAfterMs: () => GIVE_UP_MS,
          onRetry: (reason) => troubles.push(reason),
          onSent: (bytes) => sent.push(bytes),
        })
      } finally {
        await file.close()
      }
      expect([sent.at(-1), troubles]).toEqual([size, []])
      const [row] = await server.database.sql`
        select bytes_received
        from upload
        where organization_id = ${tenant.organizationId}
          and id = ${uploadId}`
      expect(Number(row?.bytes_received)).toBe(size)
    },
    GIVE_UP_MS + 10_000,
  )
})
