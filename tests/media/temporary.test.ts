/** Temporary folders of turns: deleted when the turn ends, and swept if its process was killed. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withTemporaryFolder } from '../../src/calls/media/temporary.ts'
import { eventually } from '../support/eventually.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'earshot-temporary-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const place = (recordingId: string) => ({
  folder,
  recordingId,
  attempt: crypto.randomUUID(),
})
const agoSeconds = (minutes: number) => Date.now() / 1_000 - minutes * 60

/** The folder of a process that was killed this many minutes ago. */
function orphan(recordingId: string, minutes: number): string {
  const path = join(folder, `ingest-${recordingId}-${crypto.randomUUID()}`)
  mkdirSync(path)
  writeFileSync(join(path, 'source'), 'bytes')
  utimesSync(path, agoSeconds(minutes), agoSeconds(minutes))
  return path
}

test('a folder is deleted with its work, even if the work fails', async () => {
  await withTemporaryFolder(place('a'), async (path) => writeFileSync(join(path, 'source'), 'bytes'))
  const failed = withTemporaryFolder(place('a'), async () => {
    throw new Error('no')
  })
  await expect(failed).rejects.toThrow('no')
  expect(readdirSync(folder)).toEqual([])
})

test('folders of a killed process are deleted by the next work on the recording, or by any work 15 minutes later', async () => {
  const [mine, old, fresh] = [orphan('a', 1), orphan('b', 16), orphan('c', 5)]
  await withTemporaryFolder(place('a'), async () => {
    expect([mine, old, fresh].map((path) => existsSync(path))).toEqual([false, false, true])
  })
})

test('a folder in use is kept fresh for as long as its work takes', async () => {
  await withTemporaryFolder({ ...place('a'), touchMs: 10 }, async (path) => {
    utimesSync(path, agoSeconds(20), agoSeconds(20))
    await eventually(() => Date.now() - statSync(path).mtimeMs < 60_000)
    await withTemporaryFolder(place('b'), async () => expect(existsSync(path)).toBe(true))
  })
})
