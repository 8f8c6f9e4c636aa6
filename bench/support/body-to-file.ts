/**
 * The limit of `bench/upload`: a bare `Bun.serve` that only writes bodies to files, without offsets, records
 * or recovery. `PUT /files/<name>`; with `?sync` the file is on the disk before the response.
 */
import { open } from 'node:fs/promises'
import { basename, join } from 'node:path'

const { UPLOAD_DIR = '' } = process.env
/** Bytes per write: the chunks of a body are far smaller. */
const BUFFER_BYTES = 1024 * 1024

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/ready') return new Response('ready')
    const path = join(UPLOAD_DIR, basename(pathname))
    const file = Bun.file(path).writer({ highWaterMark: BUFFER_BYTES })
    for await (const chunk of request.body ?? []) await file.write(chunk)
    await file.end()
    if (searchParams.has('sync')) await sync(path)
    return new Response(null, { status: 204 })
  },
})

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r+')
  await file.sync()
  await file.close()
}

console.log(`http://127.0.0.1:${server.port}`)
process.on('SIGTERM', () => process.exit(0))
