/** The command line as a program: arguments in, one JSON object or text out, exit codes. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type CommandResult, runCommand } from '../support/command-line.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { EARSHOT } from '../support/executable.ts'
import { type IdentityProcess, openIdentity } from '../support/identity.ts'

/** Many calls are processes of their own. */
setDefaultTimeout(60_000)

const ROOT = resolve(import.meta.dir, '../..')
let database: TestDatabase
let dataDir: string
let org: string
let service: IdentityProcess

beforeAll(async () => {
  database = await createTestDatabase()
  dataDir = mkdtempSync(join(tmpdir(), 'earshot-cli-'))
  service = openIdentity({ databaseUrl: database.url, dataDir })
  // The only one, so `--org` may be left out below. A name of digits stays what it is.
  org = (await json('org', 'create', '007')).id ?? ''
})

afterAll(async () => {
  await service.close()
  await database.drop()
  rmSync(dataDir, { recursive: true })
})

/** The commands that have run as a program. */
const seen = new Set<string>()

/**
 * The first call of each command is a program, which shows that it writes nothing else, ends by itself, and with which code. Later calls run
 * in this process.
 */
function earshot(args: readonly string[], more: Record<string, string> = {}): Promise<CommandResult> {
  const env = { PATH: process.env.PATH ?? '', DATA_DIR: dataDir, DATABASE_URL: database.url, ...more }
  const command = args.slice(0, 2).join(' ')
  if (seen.has(command)) return runCommand(args, env)
  seen.add(command)
  return program(args, env)
}

async function program(args: readonly string[], env: Record<string, string>): Promise<CommandResult> {
  const child = Bun.spawn([...EARSHOT, ...args], {
    cwd: ROOT,
    env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, out, err }
}

/** Runs with `--json`: standard output is exactly one object and nothing else was said. */
async function json(...args: readonly string[]): Promise<Record<string, string>> {
  const { code, out, err } = await earshot([...args, '--json'])
  expect({ args, code, err }).toEqual({ args, code: 0, err: '' })
  expect(out).toEndWith('}\n')
  return JSON.parse(out)
}

test('creates every credential, and the service accepts each of them', async () => {
  const { identity } = service
  expect(await json('org', 'list')).toMatchObject({ organizations: [{ id: org, name: '007' }] })
  const key = await json('api-key', 'create', '--org', '007', '--name', 'import')
  expect(await identity.byApiKey(key.apiKey ?? '')).toMatchObject({ organizationId: org })
  const user = await json('user', 'create', '--email', 'ann@example.com', '--name', 'Ann')
  const { userToken } = await json('token', 'create', '--user', 'ann@example.com', `--org=${org}`)
  expect(await identity.byToken(userToken ?? '', null)).toMatchObject({
    organizationId: org,
    userId: user.id,
  })
  const agent = await json('agent', 'create', 'bot')
  const secret = await json('agent', 'secret-create', 'bot')
  expect(await identity.byAgentSecret(secret.agentSecret ?? '')).toMatchObject({ applicationId: agent.id })
  expect(await json('api-key', 'list')).toMatchObject({ apiKeys: [{ id: key.id, name: 'import' }] })
  expect(await json('user', 'list')).toMatchObject({ users: [{ id: user.id, email: 'ann@example.com' }] })
  expect(await json('agent', 'list')).toMatchObject({ agents: [{ id: agent.id, agentKey: 'bot' }] })
  expect(await json('agent', 'secret-list', 'bot')).toMatchObject({ secrets: [{ id: secret.id }] })
  await json('api-key', 'revoke', String(key.id))
  await json('agent', 'secret-revoke', 'bot', String(secret.id))
  const later = openIdentity({ databaseUrl: database.url })
  expect(await later.identity.byApiKey(key.apiKey ?? '')).toBeNull()
  expect(await later.identity.byAgentSecret(secret.agentSecret ?? '')).toBeNull()
  await later.close()
  await json('credits', 'set', '5')
  expect(await json('credits', 'add', '2', '--note', 'gift')).toMatchObject({ responseCredits: 7 as never })
  expect((await earshot(['credits', 'show'])).out).toBe('7\n')
  expect((await earshot(['credits', 'set', 'unlimited'])).out).toBe('unlimited\n')
})

test('gives members a role, keeps the last administrator, and shows who did what', async () => {
  const boss = await json('user', 'create', '--email', 'boss@example.com', '--role', 'administrator')
  const member = await json('user', 'create', '--email', 'max@example.com')
  expect([boss.role, member.role]).toEqual(['administrator', 'analyst'])
  expect(await json('user', 'role', 'max@example.com', 'viewer')).toMatchObject({ role: 'viewer' })
  expect((await earshot(['user', 'role', 'max@example.com', 'king'])).code).toBe(2)
  for (const args of [
    ['user', 'role', 'boss@example.com', 'viewer'],
    ['user', 'remove', 'boss@example.com'],
  ])
    expect(await earshot(args)).toMatchObject({ code: 1, err: expect.stringContaining('last administrator') })
  const changes = await json('audit', 'list', '--object', String(member.id))
  expect(changes.entries).toMatchObject([
    { action: 'member.updated', principal: { kind: 'operator', id: null }, details: { role: 'viewer' } },
    { action: 'member.created', principal: { kind: 'operator', id: null } },
  ] as never)
  await json('credits', 'add', '3', '--note', 'for the list')
  expect(await json('credits', 'list')).toMatchObject({
    entries: expect.arrayContaining([expect.objectContaining({ amount: 3, note: 'for the list' })]),
  })
  expect(await json('audit', 'list', '--action', 'credits.added', '--limit', '1')).toMatchObject({
    entries: [{ action: 'credits.added', details: { units: 3 } }],
  } as never)
  expect((await earshot(['audit', 'list', '--action', 'x'])).code).toBe(2)
})

test('lists and revokes a token, revokes all tokens of a user, and removes the user', async () => {
  const { id: userId = '' } = await json('user', 'create', '--email', 'kim@example.com')
  const heir = await json('user', 'create', '--email', 'lea@example.com')
  const tokens = await Promise.all(
    [1, 2, 3].map(async (number) => {
      const { userToken = '' } = await json('token', 'create', '--user', userId, `--name=n${number}`)
      return userToken
    }),
  )
  const verdicts = async () => {
    const later = openIdentity({ databaseUrl: database.url, dataDir })
    const found = await Promise.all(tokens.map((token) => later.identity.byToken(token, null)))
    await later.close()
    return found.map((verdict) => !('refused' in verdict))
  }
  const { userTokens } = (await json('token', 'list', '--user', 'kim@example.com')) as unknown as {
    readonly userTokens: readonly { readonly id: string; readonly name: string }[]
  }
  expect(userTokens.map(({ name }) => name).toSorted()).toEqual(['n1', 'n2', 'n3'])
  await json('token', 'revoke', userTokens.find(({ name }) => name === 'n1')?.id ?? '')
  expect(await verdicts()).toEqual([false, true, true])
  expect(await json('token', 'revoke-all', '--user', userId)).toMatchObject({ userId, revoked: 2 as never })
  expect(await verdicts()).toEqual([false, false, false])
  const own = await json('folder', 'create', 'Private', '--owner', userId)
  const { out } = await earshot(['user', 'remove', 'kim@example.com'])
  expect(out).toContain('1 private folders, with 0 recordings that no other user could see')
  expect((await earshot(['user', 'list', '--removed'])).out).toContain('kim@example.com')
  expect((await earshot(['user', 'list'])).out).not.toContain('kim@example.com')
  const again = ['user', 'remove', 'kim@example.com', '--transfer-to', 'lea@example.com']
  expect(await json(...again)).toMatchObject({ id: userId, transferredTo: heir.id })
  expect((await earshot(['folder', 'list', '--owner', heir.id ?? ''])).out).toContain(own.id ?? 'none')
})

test('erases an address from form submissions and mail files', async () => {
  const { sql } = database
  const [mine, other] = [crypto.randomUUID(), crypto.randomUUID()]
  for (const [id, email] of [
    [mine, 'Zoe@Example.com'],
    [other, 'bob@example.com'],
  ] as const) {
    await sql`insert into form_submission (id, form, email, fields) values (${id}, 'contact', ${email}, '{}')`
    await sql`insert into actor_mailbox (key) values (${`form:${id}`})`
    await sql`insert into actor_message (key, seq, type) values (${`form:${id}`}, 1, 'confirm')`
    await Bun.write(join(dataDir, 'mail', `form-team.${id}.eml`), `From: ${email}`)
  }
  expect(await json('form', 'erase', ' zoe@example.com')).toEqual({
    submissions: 1 as never,
    mails: 1 as never,
  })
  expect((await sql`select id from form_submission`).map(({ id }) => id)).toEqual([other])
  expect((await sql`select key from actor_message`).map(({ key }) => key)).toEqual([`form:${other}`])
  expect(readdirSync(join(dataDir, 'mail'))).toEqual([`form-team.${other}.eml`])
  expect((await earshot(['form', 'erase', 'zoe@example.com'])).out).toContain('submissions  0')
  await json('form', 'erase', 'bob@example.com')
})

test('folders are shared or private to their owner, and batches belong to a user', async () => {
  const { id: userId = '' } = await service.identity.createUser(org, {
    email: 'eve@example.com',
    name: 'Eve',
  })
  const shared = await json('folder', 'create', '  Interviews ')
  expect(shared).toMatchObject({ organizationId: org, name: 'Interviews', shared: true as never })
  const own = await json('folder', 'create', 'Mine', '--owner', 'eve@example.com', '--org', '007')
  expect(own).toMatchObject({ organizationId: org, name: 'Mine', shared: false as never })
  expect(await database.sql`select owner_user_id from folder where id = ${own.id ?? ''}`).toMatchObject([
    { owner_user_id: userId },
  ])
  const { organizationId: _, ...listedShared } = shared
  const { organizationId: __, ...listedOwn } = own
  expect(await json('folder', 'list')).toEqual({ organizationId: org, folders: [listedShared] as never })
  expect(await json('folder', 'list', '--owner', userId)).toEqual({
    organizationId: org,
    folders: [listedOwn, listedShared] as never,
  })
  expect((await earshot(['batch', 'list', '--user', userId])).out).toBe('no batches\n')
  const other = await service.identity.createUser(org, { email: 'bob@example.com', name: 'Bob' })
  await database.sql`
    insert into upload_batch (id, organization_id, user_id)
    values (${crypto.randomUUID()}, ${org}, ${other.id})`
  const { id, createdAt } = await json('batch', 'create', '--user', 'eve@example.com')
  expect(await json('batch', 'list', '--user', userId)).toEqual({
    organizationId: org,
    userId,
    batches: [{ id, createdAt }] as never,
  })
})

test('lists never show a secret', async () => {
  const { apiKey = '' } = await json('api-key', 'create')
  const { agentKey = '' } = await json('agent', 'create', 'quiet')
  const { agentSecret = '' } = await json('agent', 'secret-create', agentKey)
  for (const args of [
    ['api-key', 'list'],
    ['agent', 'secret-list', agentKey],
  ]) {
    const texts = await Promise.all([earshot(args), earshot([...args, '--json'])])
    for (const { out } of texts) {
      expect(out).toMatch(/e[sa][sk]_\w{6}/)
      expect(out).not.toContain(apiKey.slice(0, 14))
      expect(out).not.toContain(agentSecret.slice(0, 14))
    }
  }
})

test('sets quotas of an organization, and shows what is used of them', async () => {
  const set = (...flags: readonly string[]) => json('org', 'set', ...flags)
  expect(await set('--quota-events', '500', '--quota-media-gb', '1.5')).toMatchObject({
    quotas: { events: { used: 0, limit: 500 }, mediaBytes: { used: 0, limit: 1_500_000_000 } },
  } as object)
  expect(await set('--quota-events', 'none')).toMatchObject({
    quotas: { events: { limit: null }, mediaBytes: { limit: 1_500_000_000 } },
  } as object)
  expect(await set('--quota-media-gb', 'default')).toMatchObject({
    quotas: { mediaBytes: { limit: null } },
  } as object)
})

test('switches agent conversations and recording on and off, and shows the switches', async () => {
  const { code, out } = await earshot(['org', 'set', '--agent-chats', 'off'])
  expect({ code, out: out.replaceAll(/ +/g, ' ') }).toEqual({
    code: 0,
    out: 'agent chats off\nrecording on\ntime zone UTC\nbytes of media 0, no quota\nevents 0, no quota\n',
  })
  expect(await json('org', 'set', '--recording', 'off', '--agent-chats', 'on')).toMatchObject({
    id: org,
    agentChatsEnabled: true,
    recordingAllowed: false,
  } as object)
  expect(await json('org', 'set', '--recording', 'on')).toMatchObject({ recordingAllowed: true } as object)
})

describe('a mistake on the command line is one line and exit code 2', () => {
  test.each([
    [['nonsense'], 'there is no command "nonsense"'],
    [['org'], 'incomplete command: use one of org create, org list, org delete, org set'],
    [['org', 'create'], 'usage: earshot org create <name>'],
    [['org', 'create', 'a', 'b'], 'usage: earshot org create <name>'],
    [['org', 'list', '--unknown'], "Unknown option '--unknown'"],
    [['api-key', 'create', '--org'], 'argument missing'],
    [['org', 'set', '--recording', 'yes'], '--recording is "yes", but must be on or off'],
    [
      ['org', 'set', '--quota-events', 'many'],
      '--quota-events is "many", but must be a number, none or default',
    ],
    [['user', 'create'], '--email is missing'],
    [['batch', 'list'], '--user is missing'],
    [['credits', 'add', 'many'], 'units is "many", but must be a whole number from 1'],
    [['token', 'create', '--user', 'x', '--days', '0'], '--days is "0", but must be a whole number from 1'],
  ])('%p', async (args, message) => {
    const { code, out, err } = await earshot(args)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toStartWith('earshot: ')
    expect(err).toContain(message)
    expect(err.trim().split('\n')).toHaveLength(1)
  })
})

describe('a failure is one line and exit code 1', () => {
  test.each([
    [['api-key', 'list', '--org', 'nobody'], {}, 'There is no organization "nobody"'],
    [['api-key', 'revoke', crypto.randomUUID()], {}, 'no such API key'],
    [['agent', 'secret-list', 'nobody'], {}, 'no application nobody'],
    [['org', 'list'], { PORT: 'http' }, 'PORT is "http", but must be a whole number'],
    [['org', 'list'], { DATABASE_URL: 'postgres://u:hunter2@127.0.0.1:1/x' }, 'ECONNREFUSED'],
    [['token', 'create', '--user', 'nobody@example.com'], {}, 'There is no user "nobody@example.com"'],
    [['folder', 'create', 'a', '--owner', 'nobody'], {}, 'There is no user "nobody"'],
  ])('%p %p', async (args, env, message) => {
    const { code, out, err } = await earshot(args, env as Record<string, string>)
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toContain(message)
    expect(err).not.toContain('hunter2')
    expect(err.trim().split('\n')).toHaveLength(1)
  })

  test('and with --json also prints an object', async () => {
    const { code, out } = await earshot(['api-key', 'list', '--org', 'nobody', '--json'])
    expect(code).toBe(1)
    expect(JSON.parse(out)).toMatchObject({ error: { code: 'not_found' } })
  })
})

test('init creates everything that a first request needs, once', async () => {
  const empty = await createTestDatabase({ migrated: false })
  try {
    const env = { DATABASE_URL: empty.url }
    const made = await earshot(['init', '--name', 'Acme', '--email', 'ann@example.com', '--json'], env)
    expect(made.code).toBe(0)
    const credentials = JSON.parse(made.out)
    const { identity, close } = openIdentity({ databaseUrl: empty.url, dataDir })
    try {
      const { organizationId, userId } = credentials
      expect(await identity.byApiKey(credentials.apiKey)).toMatchObject({ organizationId })
      expect(await identity.byAgentSecret(credentials.agentSecret)).toMatchObject({ organizationId })
      expect(await identity.byToken(credentials.userToken, null)).toMatchObject({ organizationId, userId })
      const token = new URL(credentials.signInUrl).searchParams.get('token') ?? ''
      expect(await identity.useLink(token)).toBe(userId)
    } finally {
      await close()
    }
    expect(Object.keys(credentials).toSorted()).toEqual([
      'agentKey',
      'agentSecret',
      'apiKey',
      'folderId',
      'organizationId',
      'signInUrl',
      'userId',
      'userToken',
    ])
    const again = await earshot(['init'], env)
    expect([again.code, again.err]).toEqual([
      2,
      expect.stringContaining('an organization exists already (Acme)'),
    ])
  } finally {
    await empty.drop()
  }
})

test.each([
  [['doctro'], 'there is no command "doctro"; did you mean "doctor"?'],
  [['orgs', 'list'], 'there is no command "orgs"; did you mean "org list"?'],
  [['org', 'lst'], 'there is no command "org lst"; did you mean "org list"? There are: '],
  [['feedback', 'import', 'x.csv', '--dryrun'], 'Unknown option \'--dryrun\'; did you mean "dry-run"?'],
  [['zzzzzzzz'], 'there is no command "zzzzzzzz": see earshot --help'],
])('%j is refused with a suggestion', async (words, message) => {
  const { code, err } = await earshot(words)
  expect([code, err]).toEqual([2, expect.stringContaining(message)])
})

test('a command that only reads refuses a folder without a database and creates nothing', async () => {
  const folder = join(dataDir, 'mistyped')
  for (const words of [['org', 'list'], ['doctor']]) {
    const { code, out, err } = await earshot(words, { DATA_DIR: folder, DATABASE_URL: '' })
    expect([code, out + err]).toEqual([1, expect.stringContaining('but holds no database')])
    expect(existsSync(folder)).toBe(false)
  }
})

test('transcribe-all says when no speech recogniser is configured', async () => {
  const { out } = await earshot(['recording', 'transcribe-all'])
  expect(out).toStartWith('0 queued\nThis command sees no speech recogniser')
})

test('an empty database is reported, migrated, and then up to date', async () => {
  const empty = await createTestDatabase({ migrated: false })
  try {
    const env = { DATABASE_URL: empty.url }
    expect((await earshot(['org', 'list'], env)).err).toContain('Run earshot migrate first')
    const doctor = await earshot(['doctor', '--json'], env)
    expect(doctor.code).toBe(1)
    expect(JSON.parse(doctor.out)).toMatchObject({
      ok: false,
      checks: [
        { name: 'settings', ok: true },
        { name: 'media', ok: true },
        { name: 'transcription', ok: true },
        { name: 'database', ok: true },
        { name: 'clock', ok: true },
        { name: 'schema', ok: false },
        { name: 'redis', ok: true },
        { name: 'mail', ok: true },
        { name: 'storage', ok: true },
      ],
    })
    expect((await earshot(['migrate'], env)).out).toStartWith('applied: identity, ')
    expect((await earshot(['migrate', '--json'], env)).out).toBe('{"applied":[]}\n')
    expect((await earshot(['org', 'list'], env)).out).toBe('no organizations\n')
    expect((await earshot(['api-key', 'list'], env)).err).toContain('there is no organization yet')
  } finally {
    await empty.drop()
  }
})

test('a dead letter is listed, retried and skipped', async () => {
  const actor = `session:${crypto.randomUUID()}`
  await database.sql`insert into actor_mailbox (key, last_seq) values (${actor}, 2)`
  for (const seq of [1, 2])
    await database.sql`
      insert into actor_dead_letter (key, seq, type, payload, attempts, last_error)
      values (${actor}, ${seq}, 'ingested', '{}', 5, 'broken')`
  expect(await json('dead-letter', 'list', '--actor', actor)).toMatchObject({
    deadLetters: [
      { key: actor, seq: 2, attempts: 5, lastError: 'broken' },
      { key: actor, seq: 1 },
    ],
  })
  expect(await json('dead-letter', 'retry', actor, '1')).toEqual({
    key: actor,
    seq: 1,
    retried: true,
  } as never)
  expect(await json('actor', 'list')).toMatchObject({ actors: [{ key: actor, waiting: 1 }] })
  expect(await json('dead-letter', 'skip', actor, '2')).toEqual({
    key: actor,
    seq: 2,
    skipped: true,
  } as never)
  expect((await earshot(['dead-letter', 'list'])).out).toBe('no dead letters\n')
  const again = await earshot(['dead-letter', 'retry', actor, '1'])
  expect(again).toMatchObject({ code: 1, err: `earshot: There is no such message 1 of ${actor}.\n` })
})

describe('the doctor', () => {
  test('finds no problem while a worker is active', async () => {
    await database.sql`insert into worker (id) values ('test')`
    const { code, out } = await earshot(['doctor'])
    expect(out.trim().split('\n')).toHaveLength(13)
    expect(out).toContain('invitations: 0 tokens refused')
    expect(out).toContain('webhooks: 0 can be signed')
    expect({ code, failed: out.includes('FAILED') }).toEqual({ code: 0, failed: false })
  })

  test('shows the progress of data changes', async () => {
    await database.sql`insert into data_change (name, rows_done, rows_total) values ('names', 40, 100)`
    const { out } = await earshot(['doctor', '--json'])
    expect(JSON.parse(out).checks).toContainEqual({
      name: 'data changes',
      ok: true,
      detail: 'names: 40 of about 100 rows changed',
    })
    await database.sql`delete from data_change`
  })

  test('reports that no worker is active', async () => {
    await database.sql`update worker set heartbeat_at = now() - interval '16 seconds'`
    const { code, out } = await earshot(['doctor', '--json'])
    expect(code).toBe(1)
    expect(JSON.parse(out).checks).toContainEqual({
      name: 'workers',
      ok: false,
      detail: '0 active in the last 15 s. Start a process with ROLE=all or ROLE=worker',
    })
  })

  test('reports a missing transcription program, and a server that is away', async () => {
    const checkOf = async (env: Record<string, string>) => {
      const { out } = await earshot(['doctor', '--json'], env)
      return JSON.parse(out).checks.find(({ name }: { name: string }) => name === 'transcription')
    }
    expect(await checkOf({ TRANSCRIBE_COMMAND: 'sh -c x' })).toMatchObject({ ok: true, detail: 'by sh' })
    expect(await checkOf({ TRANSCRIBE_COMMAND: 'no-such-program --key hush' })).toEqual({
      name: 'transcription',
      ok: false,
      detail: 'TRANSCRIBE_COMMAND is no-such-program, which was not found',
    })
    const server = { TRANSCRIBE_URL: 'https://u:hush@speech.test/v1', TRANSCRIBE_MODEL: 'whisper-1' }
    expect(await checkOf(server)).toMatchObject({
      ok: false,
      detail: expect.stringMatching(
        /^by whisper-1 at speech\.test, which could not be reached .* TRANSCRIBE_URL$/,
      ),
    })
    expect(await checkOf({ ...server, FFMPEG_PATH: '/nowhere/ffmpeg' })).toMatchObject({ ok: false })
  })

  test('reports an object store that does not answer', async () => {
    const env = {
      S3_BUCKET: 'media',
      S3_ENDPOINT: 'http://127.0.0.1:1',
      AWS_ACCESS_KEY_ID: 'id',
      AWS_SECRET_ACCESS_KEY: 'hush',
    }
    const { code, out } = await earshot(['doctor', '--json'], env)
    expect(code).toBe(1)
    expect(JSON.parse(out).checks.at(-1)).toMatchObject({ name: 'storage', ok: false })
    expect(out).not.toContain('hush')
  })

  test('reports a Redis that does not answer, and wrong settings', async () => {
    const redis = await earshot(['doctor', '--json'], { REDIS_URL: 'redis://127.0.0.1:1' })
    expect(JSON.parse(redis.out).checks).toContainEqual(expect.objectContaining({ name: 'redis', ok: false }))
    const settings = await earshot(['doctor'], { ROLE: 'boss' })
    expect(settings).toMatchObject({ code: 1, err: '' })
    expect(settings.out).toStartWith('FAILED  settings: ROLE is "boss"')
  })
})

test('--help lists every command and --version shows the version', async () => {
  const { version } = await Bun.file(join(ROOT, 'package.json')).json()
  expect((await earshot(['--version'])).out).toBe(`${version}\n`)
  const { out, code } = await earshot(['--help'])
  expect(code).toBe(0)
  for (const word of ['serve', 'migrate', 'doctor', 'org create <name>', 'credits show', '--json'])
    expect(out).toContain(word)
  expect((await earshot(['token', 'create', '--help'])).out).toContain('--user <id or address>')
  expect((await earshot(['credits', '--help'])).out).not.toContain('doctor')
})

test('licenses prints what Earshot and its parts are licensed under, and a reader may stop early', async () => {
  const { out, code } = await earshot(['licenses'])
  expect(code).toBe(0)
  for (const text of [
    await Bun.file(join(ROOT, 'LICENSE')).text(),
    'JavaScriptCore',
    'OpenSSL Project',
    'preact 1',
  ])
    expect(out).toContain(text.trimEnd())
  const early = Bun.spawnSync(['sh', '-c', `"${process.execPath}" src/cli.ts licenses | head -1`], {
    cwd: ROOT,
  })
  expect([early.stdout.toString(), early.stderr.toString()]).toEqual(['Earshot\n', ''])
})
