/**
 * The disk on which media is processed fills up: running work is retried and does not fail, nothing is left in the folders of
 * the turns, and the work finishes once there is room.
 *
 * The disk is a small file system in memory, which only root may mount. Otherwise the test is skipped with a message.
 */
import { afterAll, expect, test } from 'bun:test'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createRuntime } from '../../src/actors/runtime.ts'
import { recordingActor } from '../../src/calls/processing/actor.ts'
import { media, picture, tone } from '../media/support/ffmpeg.ts'
import { subjectOf } from '../media/support/subject.ts'
import { QUICK } from '../support/actors.ts'
import { eventually } from '../support/eventually.ts'
import { startTestServer } from '../support/server.ts'
import { fill, mountSmallDisk, unmount } from './support/small-disk.ts'

const disk = mountSmallDisk('64m')
afterAll(() => unmount(disk))

if (disk === null) console.log('SKIPPED: only root, where it may mount a file system, can test a full disk')
test.skipIf(disk === null)(
  'media without disk space is retried, leaves nothing behind, and finishes once there is room',
  async () => {
    const dataDir = join(disk!, 'data')
    const server = await startTestServer({ env: { DATA_DIR: dataDir } })
    const options = { ...QUICK, retryBaseMs: 300, retryCapMs: 1_000 }
    const runtime = createRuntime(server.deps, [recordingActor(server.deps)], options)
    try {
      const subject = subjectOf(server, await server.createTenant())
      const film = media('mov', ...picture('320x240', 20), ...tone(20), '-c:v', 'mpeg4', '-c:a', 'pcm_s16be')
      const upload = await subject.send(film)
      fill(join(disk!, 'ballast'))
      await runtime.start()
      const failed = async () => {
        const [row] = await server.database.sql<{ attempts: number }[]>`
          select attempts from actor_message where key = ${`recording:${upload.recordingId}`}`
        return (row?.attempts ?? 0) >= 3
      }
      await eventually(failed)
      await eventually(() => readdirSync(join(dataDir, 'tmp')).length === 0)
      expect((await subject.status(upload)).errorCode).toBeNull()
      rmSync(join(disk!, 'ballast'))
      const { asset } = await subject.ended(upload)
      expect(asset).toMatchObject({ status: 'completed', contentType: 'video/mp4' })
      expect(readdirSync(join(dataDir, 'tmp'))).toEqual([])
    } finally {
      await runtime.stop(5_000)
      await server.stop()
    }
  },
  60_000,
)
