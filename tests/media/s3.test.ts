/** Processing with media on S3: the source is read from S3, and every derived file is stored there. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createRuntime, type Runtime } from '../../src/actors/runtime.ts'
import { recordingActor } from '../../src/calls/processing/actor.ts'
import { QUICK } from '../support/actors.ts'
import { type S3Server, startS3 } from '../support/s3/server.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { film } from './support/ffmpeg.ts'
import { subjectOf } from './support/subject.ts'

let s3: S3Server
let server: TestServer
let runtime: Runtime

beforeAll(async () => {
  s3 = await startS3()
  server = await startTestServer({ env: { ...s3.env } })
  runtime = createRuntime(server.deps, [recordingActor(server.deps)], QUICK)
  await runtime.start()
}, 300_000)
afterAll(async () => {
  await runtime?.stop(5_000)
  await server?.stop()
  await s3?.stop()
})

test('an upload becomes playable, with waveform and poster, and leaves no file on this machine', async () => {
  const subject = subjectOf(server, await server.createTenant())
  const { asset, status } = await subject.ended(await subject.send(film('mov')))
  expect([status.phase, asset.status, asset.contentType]).toEqual(['ready', 'completed', 'video/mp4'])
  const opened = await Promise.all(
    [asset.url, asset.waveformUrl, asset.posterUrl].map(async (url) => {
      const answer = await subject.open(url ?? '')
      return [answer.status, answer.headers.get('content-type'), (await answer.arrayBuffer()).byteLength > 0]
    }),
  )
  expect(opened).toEqual([
    [200, 'video/mp4', true],
    [200, 'application/json', true],
    [200, 'image/jpeg', true],
  ])
  expect(readdirSync(join(server.deps.config.dataDir, 'tmp'))).toEqual([])
}, 300_000)

test('a deleted recording is no longer playable when its DELETE is answered', async () => {
  const tenant = await server.createTenant()
  const subject = subjectOf(server, tenant)
  const upload = await subject.send(film('mov'))
  const { asset } = await subject.ended(upload)
  const urls = [asset.url, asset.waveformUrl, asset.posterUrl]
  const statuses = () => Promise.all(urls.map(async (url) => (await subject.open(url)).status))
  expect(await statuses()).toEqual([200, 200, 200])
  const { status } = await server
    .as({ apiKey: tenant.apiKey })
    .delete(`/v3/rest/recordings/${upload.recordingId}`)
  expect([status, await statuses()]).toEqual([204, [404, 404, 404]])
}, 300_000)
