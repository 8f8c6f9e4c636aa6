/** Organizations, users, signing keys and credits. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureSigningKey } from '../../src/access/identity/signing-key.ts'
import { createApplication, createSession } from '../support/agent-sessions.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { type IdentityProcess, openIdentity } from '../support/identity.ts'

let database: TestDatabase
let service: IdentityProcess
let organizationId: string

beforeAll(async () => {
  database = await createTestDatabase()
  service = openIdentity({ databaseUrl: database.url })
  organizationId = (await service.identity.createOrganization(' Acme ')).id
})

afterAll(async () => {
  await service.close()
  await database.drop()
})

describe('organizations and users', () => {
  test('an organization is found by id and by exact name, which is stored trimmed', async () => {
    const { identity } = service
    for (const text of [organizationId, organizationId.toUpperCase(), 'Acme'])
      expect(await identity.findOrganization(text)).toMatchObject({ id: organizationId, name: 'Acme' })
    await expect(identity.findOrganization('acme')).rejects.toMatchObject({ code: 'not_found' })
  })

  test('a name that two organizations have names neither', async () => {
    const { identity } = service
    await identity.createOrganization('Twin')
    await identity.createOrganization('Twin')
    await expect(identity.findOrganization('Twin')).rejects.toThrow('use the id')
  })

  test('names have 1 to 255 characters', async () => {
    const { identity } = service
    for (const name of ['', '  ', 'x'.repeat(256)])
      await expect(identity.createOrganization(name)).rejects.toMatchObject({ code: 'validation_failed' })
    expect(await identity.createOrganization('🎧'.repeat(255))).toBeDefined()
  })

  test('one person, by e-mail address, may be in several organizations and once in each', async () => {
    const { identity } = service
    const other = await identity.createOrganization('Other')
    const first = await identity.createUser(organizationId, { email: 'ann@example.com', name: 'Ann' })
    const second = await identity.createUser(other.id, { email: 'ANN@example.com', name: 'A.' })
    expect(second).toEqual(first)
    await expect(
      identity.createUser(other.id, { email: 'ann@example.com', name: 'Ann' }),
    ).rejects.toMatchObject({ code: 'member_exists' })
    expect(await identity.findUser(other.id, 'Ann@Example.com')).toEqual(first)
    const third = await identity.createOrganization('Third')
    await expect(identity.findUser(third.id, 'ann@example.com')).rejects.toMatchObject({ code: 'not_found' })
    await expect(identity.createUser(third.id, { email: 'nonsense', name: 'N' })).rejects.toMatchObject({
      code: 'validation_failed',
    })
  })
})

test('starts at once agree on one signing key, which only its owner can read', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'earshot-keys-'))
  try {
    const keys = await Promise.all(
      Array.from({ length: 10 }, () => ensureSigningKey({ dataDir: folder, secretKey: null })),
    )
    expect(new Set(keys.map((key) => key.kid)).size).toBe(1)
    expect(readdirSync(join(folder, 'keys'))).toEqual(['user-tokens.jwk.json'])
    expect(statSync(join(folder, 'keys')).mode & 0o777).toBe(0o700)
    expect(statSync(join(folder, 'keys', 'user-tokens.jwk.json')).mode & 0o777).toBe(0o600)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a token is good in every process that shares the key, also one that was there before it', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'earshot-keys-'))
  const [signer, verifier] = [1, 2].map(() => openIdentity({ databaseUrl: database.url, dataDir })) as [
    IdentityProcess,
    IdentityProcess,
  ]
  const stranger = openIdentity({ databaseUrl: database.url })
  const user = await signer.identity.createUser(organizationId, { email: 'bob@example.com', name: 'Bob' })
  expect(await verifier.identity.byToken('a.b.c', null)).toHaveProperty('refused')
  const token = await signer.identity.createUserToken(user.id, 60)
  expect(await verifier.identity.byToken(token, null)).toMatchObject({ userId: user.id })
  expect(await stranger.identity.byToken(token, null)).toHaveProperty('refused')
  await Promise.all([signer.close(), verifier.close(), stranger.close()])
  rmSync(dataDir, { recursive: true })
})

test('with SECRET_KEY a token is good in every process that has the same one, and no key is kept', async () => {
  const secrets = ['s'.repeat(43), 's'.repeat(43), 't'.repeat(43)]
  const processes = secrets.map((secret) =>
    openIdentity({ databaseUrl: database.url, env: { SECRET_KEY: secret } }),
  )
  const [signer, verifier, stranger] = processes as [IdentityProcess, IdentityProcess, IdentityProcess]
  const user = await signer.identity.createUser(organizationId, { email: 'mia@example.com', name: 'Mia' })
  const token = await signer.identity.createUserToken(user.id, 60)
  expect(await verifier.identity.byToken(token, null)).toMatchObject({ userId: user.id })
  expect(await stranger.identity.byToken(token, null)).toHaveProperty('refused')
  expect(readdirSync(signer.config.dataDir)).toEqual([])
  await Promise.all(processes.map((process) => process.close()))
})

test('a remembered token is refused when it expires', async () => {
  let now = new Date()
  const process = openIdentity({ databaseUrl: database.url, clock: { now: () => now } })
  const user = await process.identity.createUser(organizationId, { email: 'eve@example.com', name: 'Eve' })
  const token = await process.identity.createUserToken(user.id, 60)
  expect(await process.identity.byToken(token, null)).toMatchObject({ userId: user.id })
  now = new Date(now.getTime() + 61_000)
  expect(await process.identity.byToken(token, null)).toEqual({ refused: 'The access token has expired.' })
  await process.close()
})

describe('credits', () => {
  const entries = (id: string) =>
    service.sql<{ amount: number; note: string | null }[]>`
      select amount, note
      from credit_entry
      where organization_id = ${id}
      order by created_at, id`

  test('are unlimited until they are set, and add up', async () => {
    const { identity } = service
    const { id } = await identity.createOrganization('Credits')
    expect(await identity.addCredits(id, 5)).toBeNull()
    await identity.setCredits(id, 10, 'start')
    expect(await identity.addCredits(id, 7, 'more')).toBe(17)
    await identity.setCredits(id, 3)
    await identity.setCredits(id, null)
    expect(await entries(id)).toEqual([
      { amount: 5, note: null },
      { amount: 10, note: 'start' },
      { amount: 7, note: 'more' },
      { amount: -14, note: null },
      { amount: -3, note: null },
    ] as never)
  })

  test('added at the same time are all added', async () => {
    const { identity } = service
    const { id } = await identity.createOrganization('Parallel')
    await identity.setCredits(id, 0)
    await Promise.all(Array.from({ length: 20 }, () => identity.addCredits(id, 1)))
    expect((await identity.findOrganization(id)).responseCredits).toBe(20)
  })

  test('are whole numbers from 1, and of an organization that exists', async () => {
    const { identity } = service
    for (const units of [0, -1, 1.5, Number.NaN, 2 ** 53])
      await expect(identity.addCredits(organizationId, units)).rejects.toMatchObject({
        code: 'validation_failed',
      })
    await expect(identity.setCredits(organizationId, -1)).rejects.toMatchObject({ code: 'validation_failed' })
    await expect(identity.addCredits(crypto.randomUUID(), 1)).rejects.toMatchObject({ code: 'not_found' })
    await expect(identity.setCredits(crypto.randomUUID(), 1)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('wake the sessions of the organization that wait for them, each once', async () => {
    const { identity, sql } = service
    const [mine, theirs] = [await createApplication(sql), await createApplication(sql)]
    const blocked = [await createSession(sql, mine), await createSession(sql, mine)].toSorted()
    const rows = [
      { ...mine, session: blocked[0], event: 'a', state: 'billing_blocked' },
      { ...mine, session: blocked[0], event: 'b', state: 'billing_blocked' },
      { ...mine, session: blocked[1], event: 'a', state: 'billing_blocked' },
      { ...mine, session: await createSession(sql, mine), event: 'a', state: 'metered' },
      { ...theirs, session: await createSession(sql, theirs), event: 'a', state: 'billing_blocked' },
    ]
    for (const row of rows)
      await sql`
        insert into agent_response
          (organization_id, application_id, session_id, external_event_id, sequence, revision, state)
        values (${row.organizationId}, ${row.applicationId}, ${row.session as string}, ${row.event}, 0, 1, ${row.state})`
    await identity.setCredits(mine.organizationId, 0)
    await identity.addCredits(mine.organizationId, 1)
    const newMessages = await sql<{ key: string; type: string }[]>`
      select key, type
      from actor_message
      order by key, seq`
    expect(newMessages).toEqual(
      blocked.map((session) => ({ key: `session:${session}`, type: 'credits_added' })) as never,
    )
  })
})
