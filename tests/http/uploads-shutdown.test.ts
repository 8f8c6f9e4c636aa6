/** A service that is stopped in the middle of an upload. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { connect } from 'node:net'
import { eventually } from '../support/eventually.ts'
import { useServices } from '../support/process.ts'
import { RECORDINGS } from '../support/recordings.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { createUpload, noise, patch } from '../support/uploads.ts'

setDefaultTimeout(300_000)

const SIZE = 3_000_000
const CONTENT = noise(SIZE)

describe('a service that stops', () => {
  const services = useServices()
  let server: TestServer
  let tenant: TestTenant
  beforeAll(async () => {
    server = await startTestServer()
    tenant = await server.createTenant()
  })
  afterAll(() => server?.stop())

  /** The head of a `PATCH` of everything, and half of the body; then the client waits. */
  const sendHalf = (url: URL) =>
    new Promise<{ readonly answer: Promise<string> }>((resolve, reject) => {
      const socket = connect(Number(url.port), url.hostname)
      const { promise: answer, resolve: ended } = Promise.withResolvers<string>()
      let text = ''
      socket.on('data', (data) => {
        text += data
      })
      socket.on('close', () => ended(text))
      socket.on('error', reject)
      socket.write(
        [
          `PATCH ${url.pathname} HTTP/1.1`,
          `Host: ${url.host}`,
          'Tus-Resumable: 1.0.0',
          'Content-Type: application/offset+octet-stream',
          'Upload-Offset: 0',
          `Content-Length: ${SIZE}`,
          '\r\n',
        ].join('\r\n'),
      )
      socket.write(CONTENT.subarray(0, SIZE / 2), () => resolve({ answer }))
    })

  test('has stored the received bytes, and another process continues from there', async () => {
    const { dataDir } = server.deps.config
    const env = { DATABASE_URL: server.database.url, DATA_DIR: dataDir, ROLE: 'api' }
    const service = await services.start({ env })
    const { uploadId, uploadUrl, recordingId } = await createUpload(service.baseUrl, tenant.apiKey, {
      fileSize: SIZE,
    })
    const { answer } = await sendHalf(new URL(uploadUrl))
    const client = server.as({ apiKey: tenant.apiKey })
    await eventually(
      async () => (await client.get(`${RECORDINGS}/${recordingId}`)).body.asset.status === 'uploading',
    )
    expect(await service.kill()).toBe(0)
    expect(service.output()).not.toContain('too long to stop')

    const [row] = await server.database.sql`
      select bytes_received as "offset", writer_process as writer from upload where id = ${uploadId}`
    expect(row?.offset).toBeGreaterThan(0)
    expect(row?.writer).toBeNull()
    // Whoever was told so was told the truth.
    expect(await answer).toMatch(new RegExp(`^$|upload-offset: ${row?.offset}\r\n`, 'i'))

    const here = `${server.baseUrl}${new URL(uploadUrl).pathname}`
    expect((await patch(here, row?.offset, CONTENT.subarray(row?.offset))).status).toBe(204)
    const { body } = await client.get(`${RECORDINGS}/${recordingId}/uploads/${uploadId}`)
    expect(body.phase).toBe('processing')
  })
})
