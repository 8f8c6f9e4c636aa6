/** Hostile files fail with a code, touch nothing else, and do not kill the worker. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type Runtime } from '../../src/actors/runtime.ts'
import { recordingActor } from '../../src/calls/processing/actor.ts'
import { QUICK } from '../support/actors.ts'
import { wav } from '../support/media.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { claiming, film, media, patched, picture, referring, tone } from './support/ffmpeg.ts'
import { type Subject, subjectOf } from './support/subject.ts'

let server: TestServer
let subject: Subject
let runtime: Runtime
/** Contains a local film that was never uploaded. */
let elsewhere: string

beforeAll(async () => {
  elsewhere = mkdtempSync(join(tmpdir(), 'earshot-elsewhere-'))
  server = await startTestServer()
  subject = subjectOf(server, await server.createTenant())
  runtime = createRuntime(server.deps, [recordingActor(server.deps)], QUICK)
  await runtime.start()
})
afterAll(async () => {
  await runtime?.stop(5_000)
  await server?.stop()
  rmSync(elsewhere, { recursive: true, force: true })
})

const text = (value: string) => new Uint8Array(Buffer.from(value, 'latin1'))
const mjpeg = () => media('mov', ...picture('64x64', 1, 1), '-c:v', 'mjpeg')
const BOTH = ['-map', '0', '-map', '1']
/** Height and width as encoded in a JPEG frame, after the size marker. */
const CLAIMED = Buffer.from([0xff, 0xff, 0xff, 0xff])
const JPEG_SIZE = '\xff\xc0\x00\x11\x08'

const secret = (extension: string) => {
  const path = join(elsewhere, `film.${extension}`)
  const bytes = film(extension)
  writeFileSync(path, bytes)
  return { path, bytes }
}

test.each([
  ['a film without its end', () => film('mov').slice(0, -400), 'processing_failed'],
  ['a film without anything behind its index', () => cutBehindIndex(), 'processing_failed'],
  ['the beginning of Ogg, then noise', () => text(`OggS${'\x07'.repeat(5_000)}`), 'processing_failed'],
  [
    'a webm cut in its header',
    () => text('\x1aE\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm'),
    'processing_failed',
  ],
  [
    'a picture of 30,000 by 30,000 pixels',
    () =>
      patched(
        media('mov', ...picture('64x64', 1, 1), '-c:v', 'png'),
        'IHDR',
        0,
        Buffer.from([0, 0, 0x75, 0x30, 0, 0, 0x75, 0x30]),
      ),
    'unsupported_media_type',
  ],
  [
    'a film with a second stream for a decoder that is not allowed',
    () => media('mov', ...picture(), ...picture(), ...BOTH, '-c:v:0', 'libx264', '-c:v:1', 'qtrle'),
    'unsupported_media_type',
  ],
  ['a picture of 65,535 by 65,535', () => patched(mjpeg(), JPEG_SIZE, 0, CLAIMED), 'processing_failed'],
  ['a film in another file', () => inAnotherFile('mov'), 'processing_failed'],
  ['sound in another file', () => inAnotherFile('m4a'), 'processing_failed'],
  [
    'a playlist',
    () => text(`#EXTM3U\n#EXT-X-TARGETDURATION:3\n#EXTINF:3,\n${secret('mp4').path}\n#EXT-X-ENDLIST\n`),
    'unsupported_media_type',
  ],
  [
    'a list of files',
    () => text(`ffconcat version 1.0\nfile '${secret('mp4').path}'\n`),
    'unsupported_media_type',
  ],
  [
    'a session description',
    () => text('v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\nc=IN IP4 127.0.0.1\r\nm=audio 9 RTP/AVP 0\r\n'),
    'unsupported_media_type',
  ],
  ['a document called media', () => text('%PDF-1.7\n'), 'unsupported_media_type'],
])(
  '%s fails with a code',
  async (_, make, errorCode) => {
    const upload = await subject.send(make(), 'call.mp4')
    const { asset, status } = await subject.ended(upload)
    expect(status).toMatchObject({ phase: 'failed', errorCode: 'processing_failed', encodeProgress: null })
    expect(asset).toMatchObject({
      status: 'failed',
      errorCode,
      url: null,
      waveformUrl: null,
      posterUrl: null,
    })
    expect(readdirSync(join(server.deps.config.dataDir, 'tmp'))).toEqual([])
    const [row] = await server.database.sql`
    select attempts from actor_message where key = ${`recording:${upload.recordingId}`}`
    expect(row).toBeUndefined()
  },
  30_000,
)

test('a header that claims 30 years is not believed', async () => {
  const { asset } = await subject.ended(await subject.send(claiming(film('mov'), 1_000_000_000), 'call.mov'))
  expect(asset.status).toBe('completed')
  expect(asset.durationSeconds).toBeLessThanOrEqual(24 * 60 * 60)
})

test('a gap of ten years in a small file makes no endless sound', async () => {
  const years = 10 * 365 * 24 * 60 * 60
  const gap = media('webm', ...tone(2), '-af', `asetpts='PTS+gt(T,1)*${years}/TB'`, '-c:a', 'libopus')
  const { asset } = await subject.ended(await subject.send(gap, 'call.webm'))
  expect(asset).toMatchObject({ status: 'failed', errorCode: 'processing_failed' })
  const hours = media('webm', ...tone(2), '-af', "asetpts='PTS+gt(T,1)*20*3600/TB'", '-c:a', 'libopus')
  const long = (await subject.ended(await subject.send(hours, 'call.webm'))).asset
  expect(long).toMatchObject({ status: 'completed', durationSeconds: expect.closeTo(72_002, 0) })
  expect(long.fileSize).toBeLessThan(2 * hours.byteLength)
})

test('the worker still works after all of them', async () => {
  const { asset } = await subject.ended(await subject.send(wav(1)))
  expect(asset.status).toBe('completed')
})

/** The index says that the frames are in a local film, at exactly these positions. */
function inAnotherFile(extension: string): Uint8Array<ArrayBuffer> {
  if (extension === 'mov') {
    const { bytes, path } = secret('mov')
    return referring(bytes, path)
  }
  const path = join(elsewhere, 'sound.m4a')
  const bytes = media('m4a', ...tone())
  writeFileSync(path, bytes)
  return referring(bytes, path)
}

function cutBehindIndex(): Uint8Array<ArrayBuffer> {
  const bytes = film('mp4', '-movflags', '+faststart')
  return bytes.slice(0, Buffer.from(bytes).indexOf('mdat') + 4)
}
