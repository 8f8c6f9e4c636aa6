/** The files of an organization that is being erased: which are removed, and that a folder that cannot be read is no empty one. */
import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { forgetCredentials } from '../../src/access/identity/demo.ts'
import { forgetMails } from '../../src/platform/mail/create.ts'

const folder = mkdtempSync(join(tmpdir(), 'erased-files-'))
afterAll(() => rmSync(folder, { recursive: true }))

const [ERASED, OTHER] = ['01a1fdc2-308c-730f-afc3-7288cab37999', '01a1fdc2-308c-730f-afc3-7288cab37998']

test('mails of the owners go, also unfinished ones', async () => {
  const dataDir = join(folder, 'mails')
  mkdirSync(join(dataDir, 'mail'), { recursive: true })
  const kept = [`a.of-${OTHER}.eml`, 'b.eml', `c.of-${ERASED}x.eml`]
  for (const name of [`a.of-${ERASED}.eml`, `b.of-${ERASED}.eml.${OTHER}`, ...kept])
    writeFileSync(join(dataDir, 'mail', name), '')
  await forgetMails(dataDir, [ERASED])
  expect(readdirSync(join(dataDir, 'mail')).sort()).toEqual(kept.sort())
})

test('credentials go, also those of a creation that was interrupted', async () => {
  const dataDir = join(folder, 'credentials')
  mkdirSync(dataDir)
  writeFileSync(join(dataDir, 'credentials.json'), JSON.stringify({ organizationId: OTHER }))
  for (const id of [ERASED, OTHER])
    writeFileSync(join(dataDir, `credentials.json.${id}`), JSON.stringify({ organizationId: id }))
  await forgetCredentials(dataDir, ERASED)
  expect(readdirSync(dataDir).sort()).toEqual(['credentials.json', `credentials.json.${OTHER}`])
  await forgetCredentials(dataDir, OTHER)
  expect(readdirSync(dataDir)).toEqual([])
})

test('what is not there is gone, and what cannot be read is not', async () => {
  const dataDir = join(folder, 'unreadable')
  mkdirSync(dataDir)
  await forgetMails(dataDir, [ERASED])
  await forgetCredentials(dataDir, ERASED)
  writeFileSync(join(dataDir, 'mail'), '')
  mkdirSync(join(dataDir, 'credentials.json'))
  await expect(forgetMails(dataDir, [ERASED])).rejects.toThrow('ENOTDIR')
  await expect(forgetCredentials(dataDir, ERASED)).rejects.toThrow('EISDIR')
})
