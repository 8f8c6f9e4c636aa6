/** Status, cancellation, expiry and deletion of uploads (specification, "Upload phase"). */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { uploadMaintenance } from '../../src/calls/uploads/maintenance.ts'
import { moveUpload } from '../../src/calls/uploads/processing.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { newId } from '../../src/platform/ids.ts'
import { createRecording, RECORDINGS } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { createTestUpload, offsetOf, patch, type TestUpload } from '../support/uploads.ts'

let server: TestServer
let tenant: TestTenant
let key: Client

beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
  key = server.as({ apiKey: tenant.apiKey })
})
afterAll(() => server?.stop())

const CONTENT = Buffer.from('0123456789')

const newUpload = () => createTestUpload(server, tenant, { fileSize: CONTENT.length })
const pathOf = ({ recordingId, uploadId }: TestUpload) => `${RECORDINGS}/${recordingId}/uploads/${uploadId}`
const statusOf = async (upload: TestUpload) => (await key.get(pathOf(upload))).body
const assetOf = async ({ recordingId }: TestUpload) =>
  (await key.get(`${RECORDINGS}/${recordingId}`)).body.asset
const messagesOf = async ({ recordingId }: TestUpload) => {
  const rows = await server.database.sql`
    select type, payload from actor_message where key = ${`recording:${recordingId}`} order by seq`
  return rows.map(({ type, payload }) => ({ type, payload }))
}
const setPhase = async ({ uploadId, recordingId }: TestUpload, phase: string, asset: string) => {
  await server.database.sql`update upload set phase = ${phase} where id = ${uploadId}`
  await server.database.sql`update recording set asset_status = ${asset} where id = ${recordingId}`
}
const becomeOverdue = (upload: TestUpload) =>
  server.database.sql`update upload set expires_at = now() where id = ${upload.uploadId}`
const maintain = async (name: string) => {
  for (const task of server.features.maintenance)
    if (task.name === name) await task.run(new AbortController().signal)
}
/** Files of objects that are not whole. */
const incomingFiles = async () => {
  const glob = new Bun.Glob('media/.incoming/**')
  const folder = server.deps.config.dataDir
  return [...glob.scanSync({ cwd: folder, dot: true, throwErrorOnBrokenSymlink: false })]
}

describe('GET …/uploads/{uploadId}', () => {
  test('200 with the phase, encodeProgress and errorCode', async () => {
    const upload = await newUpload()
    const { status, body } = await key.get(pathOf(upload))
    expect(status).toBe(200)
    expect(Object.keys(body).toSorted()).toEqual(
      [
        'encodeProgress',
        'errorCode',
        'expiresAt',
        'fileName',
        'fileSize',
        'phase',
        'recordingId',
        'uploadId',
      ].toSorted(),
    )
    expect(body).toMatchObject({ phase: 'waiting', encodeProgress: null, errorCode: null })
  })

  test('encodeProgress is null outside of encoding', async () => {
    const upload = await newUpload()
    await server.database.sql`update upload set encode_progress = 42 where id = ${upload.uploadId}`
    for (const phase of ['waiting', 'processing', 'encoding', 'ready', 'failed', 'cancelled']) {
      await setPhase(upload, phase, 'processing')
      const { encodeProgress } = await statusOf(upload)
      expect([phase, encodeProgress]).toEqual([phase, phase === 'encoding' ? 42 : null])
    }
  })

  test('the uploadId must belong to the recording of the path, else 404', async () => {
    const [one, other] = [await newUpload(), await newUpload()]
    for (const method of ['GET', 'DELETE']) {
      const crossed = await key.send(method, pathOf({ ...one, recordingId: other.recordingId }))
      expect([crossed.status, crossed.body.code]).toEqual([404, 'upload_not_found'])
      const unknown = await key.send(method, pathOf({ ...one, uploadId: newId() }))
      expect([unknown.status, unknown.body.code]).toEqual([404, 'upload_not_found'])
    }
    expect((await statusOf(one)).phase).toBe('waiting')
  })

  test('the phase is waiting while bytes arrive, and processing after the last one', async () => {
    const upload = await newUpload()
    await patch(upload.uploadUrl, 0, CONTENT.subarray(0, 4))
    expect((await statusOf(upload)).phase).toBe('waiting')
    expect((await assetOf(upload)).status).toBe('uploading')
    expect(await messagesOf(upload)).toEqual([])
    await patch(upload.uploadUrl, 4, CONTENT.subarray(4))
    expect((await statusOf(upload)).phase).toBe('processing')
    expect((await assetOf(upload)).status).toBe('processing')
    expect(await messagesOf(upload)).toEqual([
      { type: 'process_upload', payload: { uploadId: upload.uploadId } },
    ])
  })
})

describe('a recording without a name', () => {
  const upload = async (recording: object, fileName = 'C:\\calls\\Call with Ada.mp4') => {
    const { id } = await createRecording(key, recording)
    const { body } = await key.post(`${RECORDINGS}/${id}/uploads`, { fileName, fileSize: CONTENT.length })
    return { id: id as string, ...body }
  }
  const nameOf = async (id: string) => (await key.get(`${RECORDINGS}/${id}`)).body.displayName

  test('takes the name of its file once the upload is complete, without path and extension', async () => {
    const { id, uploadUrl } = await upload({})
    await patch(uploadUrl, 0, CONTENT.subarray(0, 4))
    expect(await nameOf(id)).toBeNull()
    await patch(uploadUrl, 4, CONTENT.subarray(4))
    expect(await nameOf(id)).toBe('Call with Ada')
    expect((await key.get(`${RECORDINGS}?q=Ada`)).body.data.map((found: { id: string }) => found.id)).toEqual(
      [id],
    )
  })

  test('is the only one renamed: a given name stays, even if it was set meanwhile', async () => {
    const named = await upload({ displayName: 'Renewal' })
    await patch(named.uploadUrl, 0, CONTENT)
    expect(await nameOf(named.id)).toBe('Renewal')
    const later = await upload({})
    await key.patch(`${RECORDINGS}/${later.id}`, { displayName: 'Later' })
    await patch(later.uploadUrl, 0, CONTENT)
    expect(await nameOf(later.id)).toBe('Later')
  })

  test('stays unnamed if the file has no name or did not arrive', async () => {
    const nameless = await upload({}, '.mp4')
    await patch(nameless.uploadUrl, 0, CONTENT)
    const cancelled = await upload({})
    await key.delete(`${RECORDINGS}/${cancelled.id}/uploads/${cancelled.uploadId}`)
    expect([await nameOf(nameless.id), await nameOf(cancelled.id)]).toEqual([null, null])
  })
})

describe('DELETE …/uploads/{uploadId}', () => {
  test('while it waits for bytes: 200 with the cancelled state, and again the same', async () => {
    const upload = await newUpload()
    const first = await key.delete(pathOf(upload))
    expect([first.status, first.body.phase, first.body.errorCode]).toEqual([200, 'cancelled', null])
    const again = await key.delete(pathOf(upload))
    expect([again.status, again.body]).toEqual([200, first.body])
    expect(await statusOf(upload)).toEqual(first.body)
    expect((await assetOf(upload)).status).toBe('cancelled')
  })

  test('releases the media claim: a new upload may be created', async () => {
    const upload = await newUpload()
    await key.delete(pathOf(upload))
    const next = await key.post(`${RECORDINGS}/${upload.recordingId}/uploads`, { fileName: 'b', fileSize: 3 })
    expect(next.status).toBe(201)
    expect((await key.delete(pathOf(upload))).body.phase).toBe('cancelled')
    expect((await assetOf(upload)).status).toBe('waiting')
  })

  test('received bytes are deleted, and no more are accepted', async () => {
    const before = (await incomingFiles()).length
    const upload = await newUpload()
    await patch(upload.uploadUrl, 0, CONTENT.subarray(0, 4))
    expect(await incomingFiles()).toHaveLength(before + 1)
    await key.delete(pathOf(upload))
    expect(await incomingFiles()).toHaveLength(before)
    expect((await patch(upload.uploadUrl, 4, CONTENT.subarray(4))).status).toBe(410)
    expect(await incomingFiles()).toHaveLength(before)
  })

  test.each([
    ['processing', 'processing'],
    ['encoding', 'processing'],
    ['ready', 'completed'],
    ['failed', 'failed'],
  ])('when it is %s: 409 upload_not_cancellable, and nothing changes', async (phase, asset) => {
    const upload = await newUpload()
    await setPhase(upload, phase, asset)
    const before = await statusOf(upload)
    const answer = await key.delete(pathOf(upload))
    expect([answer.status, answer.body.code]).toEqual([409, 'upload_not_cancellable'])
    expect(await statusOf(upload)).toEqual(before)
    expect((await assetOf(upload)).status).toBe(asset)
  })

  test('against the last byte: either both say cancelled, or both say processing', async () => {
    for (let round = 0; round < 12; round++) {
      const upload = await newUpload()
      await patch(upload.uploadUrl, 0, CONTENT.subarray(0, 9))
      const [sent, cancelled] = await Promise.all([
        patch(upload.uploadUrl, 9, CONTENT.subarray(9)),
        Bun.sleep(round % 4).then(() => key.delete(pathOf(upload))),
      ])
      const { phase } = await statusOf(upload)
      const asset = (await assetOf(upload)).status
      const messages = (await messagesOf(upload)).length
      expect([phase, asset, sent.status, cancelled.status, messages]).toEqual(
        phase === 'cancelled'
          ? ['cancelled', 'cancelled', sent.status, 200, 0]
          : ['processing', 'processing', 204, 409, 1],
      )
      if (phase === 'cancelled') expect([410, 503]).toContain(sent.status)
    }
  })
})

describe('the deadline', () => {
  test('an overdue upload has failed with upload_expired at once, and takes no more bytes', async () => {
    const upload = await newUpload()
    await becomeOverdue(upload)
    expect(await statusOf(upload)).toMatchObject({ phase: 'failed', errorCode: 'upload_expired' })
    expect((await patch(upload.uploadUrl, 0, CONTENT)).status).toBe(410)
    expect((await key.delete(pathOf(upload))).body.code).toBe('upload_not_cancellable')
    expect(await messagesOf(upload)).toEqual([])
  })

  test('maintenance fails the asset of an overdue upload, and deletes what has arrived', async () => {
    const before = (await incomingFiles()).length
    const [upload, other] = [await newUpload(), await newUpload()]
    await patch(upload.uploadUrl, 0, CONTENT.subarray(0, 4))
    await becomeOverdue(upload)
    await maintain('upload_expiry')
    expect(await assetOf(upload)).toMatchObject({ status: 'failed', errorCode: 'upload_expired' })
    expect(await statusOf(other)).toMatchObject({ phase: 'waiting' })
    await maintain('upload_garbage')
    expect(await incomingFiles()).toHaveLength(before)
    const [row] = await server.database
      .sql`select phase, error_code from upload where id = ${upload.uploadId}`
    expect(row).toEqual({ phase: 'failed', error_code: 'upload_expired' })
  })

  test('is extended by arriving bytes only', async () => {
    const upload = await newUpload()
    const deadline = async () => (await statusOf(upload)).expiresAt
    await server.database
      .sql`update upload set expires_at = now() + interval '60 seconds' where id = ${upload.uploadId}`
    const soon = await deadline()
    await offsetOf(upload.uploadUrl)
    await patch(upload.uploadUrl, 5, CONTENT.subarray(5))
    expect(await deadline()).toBe(soon)
    await patch(upload.uploadUrl, 0, CONTENT.subarray(0, 4))
    expect(Date.parse(await deadline()) - Date.parse(soon)).toBeGreaterThan(3_000_000)
  })
})

describe('data of ended uploads', () => {
  const garbage = () => server.database.sql`select object_key, again from upload_garbage`

  test('is deleted a second time, because a request may still have been writing, and then forgotten', async () => {
    await server.database.sql`delete from upload_garbage`
    const upload = await newUpload()
    await patch(upload.uploadUrl, 0, CONTENT.subarray(0, 4))
    await key.delete(pathOf(upload))
    expect(await garbage()).toMatchObject([{ again: true }])
    await maintain('upload_garbage')
    expect(await garbage()).toHaveLength(1)
    await server.database.sql`update upload_garbage set delete_after = now()`
    await maintain('upload_garbage')
    expect(await garbage()).toHaveLength(0)
  })

  test('entries that cannot be deleted do not block newer ones', async () => {
    const { sql } = server.database
    await sql`delete from upload_garbage`
    // Keys that no store has, and older than anything else.
    await sql`
      insert into upload_garbage (object_key, organization_id, delete_after)
      select '/' || n, ${tenant.organizationId}, now() - interval '1 day' from generate_series(1, 300) n`
    const upload = await newUpload()
    await key.delete(pathOf(upload))
    await sql`update upload_garbage set delete_after = now() where again`
    for (let round = 0; round < 10; round++) await maintain('upload_garbage')
    const left = await garbage()
    expect(left).toHaveLength(300)
    expect(left.every(({ object_key }) => object_key.startsWith('/'))).toBe(true)
    await sql`delete from upload_garbage`
  })

  test('the parts of an upload are forgotten when it ends', async () => {
    const { sql } = server.database
    const partsOf = async (upload: TestUpload) => {
      const rows = await sql`select number from upload_part where upload_id = ${upload.uploadId}`
      return rows.length
    }
    const withPart = async () => {
      const upload = await newUpload()
      await sql`
        insert into upload_part (organization_id, upload_id, number, size, etag)
        values (${tenant.organizationId}, ${upload.uploadId}, 1, 4, 'a')`
      return upload
    }
    const cancelled = await withPart()
    await key.delete(pathOf(cancelled))
    const overdue = await withPart()
    await becomeOverdue(overdue)
    await maintain('upload_expiry')
    const ready = await withPart()
    await setPhase(ready, 'processing', 'processing')
    await transaction(sql, (tx) =>
      moveUpload(
        tx,
        { id: ready.uploadId, recordingId: ready.recordingId, organizationId: tenant.organizationId },
        'ready',
      ),
    )
    expect(await Promise.all([cancelled, overdue, ready].map(partsOf))).toEqual([0, 0, 0])
  })

  test('deleting a recording deletes its uploads and their received bytes', async () => {
    const before = (await incomingFiles()).length
    const [waiting, whole] = [await newUpload(), await newUpload()]
    await patch(waiting.uploadUrl, 0, CONTENT.subarray(0, 4))
    await patch(whole.uploadUrl, 0, CONTENT)
    expect(await incomingFiles()).toHaveLength(before + 2)
    for (const upload of [waiting, whole]) {
      expect((await key.delete(`${RECORDINGS}/${upload.recordingId}`)).status).toBe(204)
      expect((await patch(upload.uploadUrl, 4, CONTENT.subarray(4))).status).toBe(404)
      expect((await key.get(pathOf(upload))).body.code).toBe('recording_not_found')
    }
    await maintain('upload_garbage')
    expect(await incomingFiles()).toHaveLength(before)
  })

  test('maintenance removes incomplete objects of crashes, and none of a waiting upload', async () => {
    const upload = await newUpload()
    await patch(upload.uploadUrl, 0, CONTENT.subarray(0, 4))
    const before = await incomingFiles()
    const folder = join(server.deps.config.dataDir, 'media', '.incoming')
    const clock = { now: () => new Date(Date.now() + 48 * 60 * 60 * 1_000) }
    writeFileSync(join(folder, crypto.randomUUID()), 'left')
    expect(await incomingFiles()).toHaveLength(before.length + 1)
    await maintain('storage_sweep')
    expect(await incomingFiles()).toHaveLength(before.length + 1)
    const tomorrow = uploadMaintenance({ ...server.deps, clock })
    await tomorrow.find(({ name }) => name === 'storage_sweep')?.run(new AbortController().signal)
    const left = await incomingFiles()
    expect(before).toEqual(expect.arrayContaining(left))
    await patch(upload.uploadUrl, 4, CONTENT.subarray(4))
    expect((await statusOf(upload)).phase).toBe('processing')
  })

  test('a recording without uploads is deleted as before', async () => {
    const { id } = await createRecording(key)
    expect((await key.delete(`${RECORDINGS}/${id}`)).status).toBe(204)
  })
})
