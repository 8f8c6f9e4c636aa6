/** Mail is written to files if no server is configured. Also tests the mail settings. */
import { expect, test } from 'bun:test'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import PostalMime from 'postal-mime'
import { loadConfig } from '../../src/app/config.ts'
import { createMailer } from '../../src/platform/mail/create.ts'
import { QUICK } from '../support/actors.ts'
import { eventually } from '../support/eventually.ts'
import { startTestServer } from '../support/server.ts'
import { submission } from '../support/website.ts'

const MAIL = { id: 'a.1', to: 'ann@example.com', subject: 'Häuser', text: 'Grüße', html: '<p>Grüße</p>' }
const never = new AbortController().signal

test('without SMTP_URL the mails of a submission are files under DATA_DIR/mail', async () => {
  const server = await startTestServer({ env: { TEAM_EMAIL: 'team@example.com' }, actors: QUICK })
  try {
    const body = submission(['email', 'name'])
    await server.as('nobody').post('/api/builder-waitlist', body)
    const folder = join(server.deps.config.dataDir, 'mail')
    await eventually(() => readdirSync(folder).filter((name) => name.endsWith('.eml')).length === 2)
    const mails = await Promise.all(
      readdirSync(folder).map((name) => PostalMime.parse(readFileSync(join(folder, name)))),
    )
    expect(mails.map(({ to }) => to?.[0]?.address).sort()).toEqual([body.email, 'team@example.com'].sort())
  } finally {
    await server.stop()
  }
})

test('a mail is one file for its reader alone, and sending it again replaces it', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'earshot-mail-'))
  try {
    const mailer = createMailer(loadConfig({ DATA_DIR: dataDir }))
    expect(mailer.name).toBe('folder')
    await mailer.send(MAIL, never)
    await mailer.send({ ...MAIL, text: 'again' }, never)
    const folder = join(dataDir, 'mail')
    expect(readdirSync(folder)).toEqual(['a.1.eml'])
    expect(statSync(join(folder, 'a.1.eml')).mode & 0o777).toBe(0o600)
    const mail = await PostalMime.parse(readFileSync(join(folder, 'a.1.eml')))
    expect(mail).toMatchObject({ subject: 'Häuser', messageId: '<a.1@localhost>' })
    expect(mail.text?.trim()).toBe('again')
    expect(mail.html).toContain('Grüße')
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
})

test.each(['new', 'open to everybody before'])('nobody else may enter the folder: %s', async (state) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'earshot-mail-'))
  try {
    const folder = join(dataDir, 'mail')
    if (state !== 'new') {
      mkdirSync(folder)
      chmodSync(folder, 0o755)
    }
    await createMailer(loadConfig({ DATA_DIR: dataDir })).send(MAIL, never)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
})

test('a turn that was taken away writes nothing', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'earshot-mail-'))
  try {
    const mailer = createMailer(loadConfig({ DATA_DIR: dataDir }))
    await expect(mailer.send(MAIL, AbortSignal.abort(new Error('taken away')))).rejects.toThrow('taken away')
    expect(readdirSync(dataDir)).toEqual([])
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
})

test('MAIL_FROM is an address with or without a name, and needed with SMTP_URL', () => {
  const from = (value: string) => loadConfig({ MAIL_FROM: value }).mail.from
  expect(from('Earshot Team <a@example.com>')).toEqual({ name: 'Earshot Team', address: 'a@example.com' })
  expect(from('a@example.com')).toEqual({ name: '', address: 'a@example.com' })
  for (const value of [
    'a',
    'a@b@c',
    'A <a@example.com>, B <b@example.com>',
    'a@example.com\nBcc: b@example.com',
  ])
    expect(() => from(value)).toThrow('MAIL_FROM')
  expect(() => loadConfig({ SMTP_URL: 'smtp://localhost' })).toThrow('MAIL_FROM')
  expect(() => loadConfig({ TEAM_EMAIL: 'a, b' })).toThrow('TEAM_EMAIL')
  expect(() => loadConfig({ SMTP_URL: 'http://user:secret@localhost' })).toThrow('(value hidden)')
})
