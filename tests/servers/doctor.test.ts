/** `earshot doctor` names what is broken, and what mends it, in one line. The table in docs/operating.md is what it says. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '../support/command-line.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { startOpenIdProvider } from '../support/openid-provider.ts'
import { FAKES } from '../support/recorders/drivers.ts'
import { rounds } from '../support/rounds.ts'
import { type S3Server, startS3 } from '../support/s3/server.ts'
import { brokenDatabases } from './support/broken-database.ts'
import { brokenMail, startMailServer } from './support/broken-mail.ts'
import { brokenRedis } from './support/broken-redis.ts'
import { brokenServices, startModelServer } from './support/broken-services.ts'
import { brokenStorage } from './support/broken-storage.ts'
import type { Undo } from './support/set-up.ts'

setDefaultTimeout(300_000)

const canMount = process.platform === 'linux' && process.geteuid?.() === 0
const folder = mkdtempSync(join(tmpdir(), 'earshot-doctor-'))
let database: TestDatabase
let s3: S3Server
beforeAll(async () => {
  ;[database, s3] = await Promise.all([createTestDatabase(), startS3()])
})
afterAll(async () => {
  await Promise.all([database?.drop(), s3?.stop()])
  rmSync(folder, { recursive: true })
})

interface Row {
  readonly name: string
  readonly line: string
}

/** The rows of the table. */
function documented(): readonly Row[] {
  const page = readFileSync(join(import.meta.dir, '../../docs/operating.md'), 'utf8')
  const table = page.slice(page.indexOf('| Broken | `earshot doctor` says |'))
  return table
    .split('\n\n')[0]!
    .split('\n')
    .slice(2)
    .map((row) => {
      const [, name = '', line = ''] = row.split('|')
      return { name: name.trim(), line: line.trim() }
    })
}

const rows = documented()
const setUps = [
  ...brokenDatabases(canMount),
  ...brokenRedis(() => new URL(database.url).pathname.slice(1)),
  ...brokenStorage(() => s3, canMount),
  ...brokenMail,
  ...brokenServices,
]

/** Rows that go the way of another one and differ in what the server says. Only a thorough check tries them. */
const ALIKE: ReadonlySet<string> = new Set([
  'The host of `DATABASE_URL` has no address',
  'The database of `DATABASE_URL` does not exist',
  'PostgreSQL has no connection left for the role',
  'The role may not read the tables',
  'Redis requires a password, and `REDIS_URL` has none',
  'The user of Redis may not run `XADD`',
  'The user of Redis may not run `EVAL`',
  'Redis is a replica',
  'The bucket does not exist',
  '`S3_REGION` is not the region of the bucket',
  'The access key may not get objects',
  'The access key may not delete objects',
  'The object store is full',
  'Media is kept in `DATA_DIR`, and `DATA_DIR/media` is a file',
  'The mail server offers no AUTH, but `SMTP_URL` has a password',
  '`SMTP_URL` begins with `smtps://`, but the port with plain text',
  'The mail server refuses the recipient (`--mail ada@example.com`)',
  '`OIDC_ISSUER` leads to a server without discovery',
  '`OIDC_JWKS_URL` answers with other JSON',
  '`OIDC_JWKS_URL` answers with an error',
  'The key of the recorder is wrong (`RECORDER=vexa`)',
  'The key of the recorder is wrong (`RECORDER=recall`)',
  'The key of the speech recogniser is wrong',
])
const tried = setUps.filter(({ name, skip }) => skip !== true && rounds(!ALIKE.has(name), true))

/** A line of the table as an expression: `…` is any text. */
const matcher = (line: string) => new RegExp(`^${line.split('…').map(RegExp.escape).join('.*')}$`)

describe('a broken set-up', () => {
  test.each(tried.map((setUp) => [setUp.name, setUp] as const))('%s', async (name, setUp) => {
    const undoing: Undo[] = []
    try {
      const base = { ROLE: 'api', DATA_DIR: folder, DATABASE_URL: database.url }
      const env = { ...base, ...(await setUp.begin((work) => undoing.unshift(work))) }
      const { code, out } = await runCommand(['doctor', ...(setUp.args ?? [])], env)
      const said = out.split('\n').filter((line) => line.startsWith(`FAILED  ${setUp.check}:`))
      expect(code).toBe(1)
      expect(said).toHaveLength(1)
      expect(said[0]?.replace('FAILED  ', '')).toMatch(
        matcher(rows.find((row) => row.name === name)?.line ?? 'a row of the table'),
      )
    } finally {
      for (const undo of undoing) await undo()
    }
  })

  test('has a row in docs/operating.md, and each row is one', () => {
    const names = setUps.map(({ name }) => name)
    expect(rows.map(({ name }) => name)).toEqual(names)
    expect(names).toEqual(expect.arrayContaining([...ALIKE]))
  })
})

test('servers beside the service that work: the mail is sent, and nothing else is made', async () => {
  const undoing: Undo[] = []
  const undo = (work: Undo) => void undoing.unshift(work)
  try {
    const recipients: string[] = []
    const port = await startMailServer(undo, {
      onRcptTo({ address }, _, done) {
        recipients.push(address)
        done()
      },
    })
    const provider = await startOpenIdProvider([])
    undo(() => provider.stop())
    const recorder = FAKES.attendee()
    undo(() => recorder[Symbol.dispose]())
    const models = startModelServer(undo)
    const { code, out } = await runCommand(['doctor', '--mail', 'ada@example.com'], {
      ...{ ROLE: 'api', DATA_DIR: folder, DATABASE_URL: database.url, OUTBOUND_ALLOW: '127.0.0.1/32' },
      ...{ SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'earshot@example.com' },
      ...{ OIDC_ISSUER: provider.issuer, OIDC_CLIENT_ID: 'earshot', OIDC_AUDIENCE: 'earshot' },
      OIDC_JWKS_URL: `${provider.issuer}/jwks`,
      ...{ RECORDER: 'attendee', RECORDER_URL: recorder.settings.url },
      RECORDER_API_KEY: recorder.settings.apiKey,
      ...{ ANALYZE_URL: models, ANALYZE_MODEL: 'small', ANALYZE_API_KEY: 'right' },
    })
    expect(code).toBe(1)
    expect(out.match(/^FAILED.*/gm)).toEqual([expect.stringContaining('workers')])
    for (const name of ['mail', 'sign-in', 'tokens', 'recorder', 'analyzer'])
      expect(out).toContain(`ok      ${name}: `)
    expect(out).toContain('which has the mail to ada@example.com')
    expect(recipients).toEqual(['ada@example.com'])
    expect(recorder.botIds()).toEqual([])
  } finally {
    for (const work of undoing) await work()
  }
  const { code, err } = await runCommand(['doctor', '--mail', 'ada'], {})
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('--mail must be an e-mail address') })
})

test('what works is named, too', async () => {
  const env = { ROLE: 'api', DATA_DIR: folder, DATABASE_URL: database.url, ...s3.env }
  const { out } = await runCommand(['doctor'], env)
  expect(out.split('\n').filter((line) => line.startsWith('FAILED'))).toEqual([
    expect.stringContaining('workers'),
  ])
  for (const name of ['settings', 'database', 'clock', 'schema', 'redis', 'mail', 'storage'])
    expect(out).toContain(`ok      ${name}: `)
})
