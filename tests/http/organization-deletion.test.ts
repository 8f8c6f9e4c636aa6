/** The deletion of an organization: what is refused at once, and that nothing of it is left, and of others everything. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { claimErased, eraseRows } from '../../src/access/identity/erase.ts'
import { lockOrganization } from '../../src/access/identity/organizations.ts'
import { organizationMaintenance } from '../../src/app/organization-erasure.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { openAgent, userMessage } from '../support/agents.ts'
import { deadlocks } from '../support/deadlocks.ts'
import { eventually } from '../support/eventually.ts'
import { createForeignObjects, holdingsOf } from '../support/foreign-objects.ts'
import { waitUntilBlockedBy } from '../support/mailboxes.ts'
import { eraseNow, fillTables, rowsNaming } from '../support/organization-erasure.ts'
import { createRecording } from '../support/recordings.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

const PATH = '/v3/rest/organization'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server?.stop())

const named = (name: string) => `${PATH}?name=${encodeURIComponent(name)}`

const nameOf = async (tenant: TestTenant): Promise<string> =>
  (await server.as({ apiKey: tenant.apiKey }).get(PATH)).body.name

describe('a request to delete an organization', () => {
  test('has to repeat the name, and otherwise changes nothing', async () => {
    const tenant = await server.createTenant('Acme & Co')
    const user = server.as({ userToken: tenant.userToken })
    const before = await holdingsOf(server, tenant.organizationId)
    for (const name of ['acme & co', 'Acme', ''])
      expect((await user.delete(named(name))).body).toMatchObject({
        statusCode: 400,
        code: 'organization_name_mismatch',
      })
    expect((await user.delete(PATH)).body).toMatchObject({ statusCode: 400, code: 'validation_failed' })
    expect(await holdingsOf(server, tenant.organizationId)).toEqual(before)
    expect((await user.delete(named('Acme & Co'))).status).toBe(202)
  })

  test('needs an administrator, and a credential that is bound to no organization', async () => {
    const tenant = await server.createTenant()
    const path = named(await nameOf(tenant))
    const analyst = await server.createUser(tenant.organizationId, 'analyst')
    expect((await server.as({ userToken: analyst.userToken }).delete(path)).body.code).toBe('role_required')
    const key = server.as({ apiKey: tenant.apiKey })
    expect((await key.delete(path)).body.code).toBe('user_required')
    const { token } = (await key.post('/v3/rest/user-tokens', { userId: tenant.userId })).body
    const bound = await server.as({ userToken: token }).delete(path)
    expect(bound.body).toMatchObject({ statusCode: 403, code: 'unbound_credential_required' })
    expect((await key.get(PATH)).status).toBe(200)
  })
})

test('everything of it is refused at once, also by another process that has just admitted it', async () => {
  const beside = await startTestServer({ beside: server })
  try {
    const agent = await openAgent(server)
    const { tenant } = agent
    const key = server.as({ apiKey: tenant.apiKey })
    await key.post('/v3/rest/webhooks', { url: 'https://example.com/', types: ['*'] })
    const { id } = await createRecording(key)
    const file = { fileName: 'a.mp3', fileSize: 3 }
    const upload = await key.post(`/v3/rest/recordings/${id}/uploads`, file)
    const uploadUrl = new URL(upload.body.uploadUrl).pathname
    const credentials = [
      { apiKey: tenant.apiKey },
      { userToken: tenant.userToken },
      { agentSecret: agent.agentSecret },
    ]
    for (const credential of credentials) await beside.as(credential).get('/v3/rest/recordings')
    const path = named(await nameOf(tenant))
    expect((await server.as({ userToken: tenant.userToken }).delete(path)).status).toBe(202)
    for (const one of [server, beside]) {
      const answers = async () => {
        const statuses: number[] = []
        for (const credential of credentials)
          statuses.push((await one.as(credential).get('/v3/rest/recordings')).status)
        return statuses
      }
      // The notification takes a moment.
      for (const end = Date.now() + 10_000; (await answers()).some((status) => status !== 401); )
        if (Date.now() > end) throw new Error(`still admitted: ${await answers()}`)
      const put = await fetch(`${one.baseUrl}${uploadUrl}`, { method: 'PUT', body: 'abc' })
      expect(put.status).toBe(404)
    }
    const [webhooks] = await server.database.sql`
      select count(*)::int as enabled from webhook where organization_id = ${tenant.organizationId} and enabled`
    expect(webhooks).toEqual({ enabled: 0 })
    await eraseNow(server, tenant.organizationId)
  } finally {
    await beside.stop()
  }
})

test('nothing is left of it in any table, object or file, and everything of another organization', async () => {
  const { sql } = server.database
  const [tenant, other] = [await server.createTenant(), await server.createTenant()]
  const foreign = await createForeignObjects(server, tenant)
  await createForeignObjects(server, other)
  // A member of both stays, one of this organization alone goes.
  const both = await server.createUser(tenant.organizationId)
  const email = (await server.features.identity.findUserAnywhere(both.userId))?.email ?? ''
  await server.features.identity.createUser(other.organizationId, { email, name: 'Both' })
  const memberId = foreign.memberId ?? ''
  await server.features.identity.createSession(memberId, null)
  await sql`
    insert into oauth_record (kind, hash, user_id, payload, expires_at)
    values ('Grant', '\\x01', ${memberId}, '{}', now() + interval '1 day')`
  const { dataDir } = server.deps.config
  mkdirSync(join(dataDir, 'mail'), { recursive: true })
  for (const owner of [tenant.organizationId, memberId, other.organizationId, both.userId])
    writeFileSync(join(dataDir, 'mail', `some.of-${owner}.eml`), 'Hello')
  const objectKey = await storeObject(tenant, foreign.recordingId ?? '')
  const path = named(await nameOf(tenant))
  expect((await fillTables(server, tenant)).filter((table) => !FILLED_LATER.includes(table))).toEqual([])
  const before = await holdingsOf(server, other.organizationId)
  const headers = { 'x-service-organization-key': tenant.organizationId }
  const deleted = await server.as({ userToken: both.userToken }).send('DELETE', path, { headers })
  expect(deleted.status).toBe(202)
  await eraseNow(server, tenant.organizationId)
  expect(await rowsNaming(server, [tenant.organizationId, memberId])).toEqual([])
  expect(await holdingsOf(server, other.organizationId)).toEqual(before)
  expect(await server.deps.storage.head(objectKey)).toBeNull()
  const mails = readdirSync(join(dataDir, 'mail')).sort()
  expect(mails).toEqual([`some.of-${other.organizationId}.eml`, `some.of-${both.userId}.eml`].sort())
  expect((await server.as({ userToken: both.userToken }).get(PATH)).status).toBe(403)
})

test('a recording that is stored while the rows are deleted keeps its row until its files are known', async () => {
  const { sql } = server.database
  const tenant = await server.createTenant()
  const recording = await createRecording(server.as({ apiKey: tenant.apiKey }))
  const objectKey = await storeObject(tenant, recording.id)
  const path = named(await nameOf(tenant))
  expect((await server.as({ userToken: tenant.userToken }).delete(path)).status).toBe(202)
  const { organizationId } = tenant
  const step = () =>
    transaction(sql, async (tx) => {
      const erased = await claimErased(tx, organizationId)
      return eraseRows(tx, organizationId, erased?.progress ?? null, false)
    })
  let end = await step()
  while (end === 'more') end = await step()
  expect(end).toBe('waits')
  await eraseNow(server, organizationId)
  expect(await server.deps.storage.head(objectKey)).toBeNull()
})

test('of two processes one claims it, and the other neither waits nor fails, also where it is gone then', async () => {
  const { sql } = server.database
  const { organizationId, userToken } = await server.createTenant()
  const path = named((await server.as({ userToken }).get(PATH)).body.name)
  expect((await server.as({ userToken }).delete(path)).status).toBe(202)
  await transaction(sql, (tx) => claimErased(tx, organizationId))
  const other = () => transaction(sql, (tx) => claimErased(tx, organizationId))
  await transaction(sql, async (tx) => {
    expect(await claimErased(tx, organizationId)).not.toBeNull()
    expect(await other()).toBeNull()
    await tx`delete from organization where id = ${organizationId}`
    expect(await other()).toBeNull()
  })
  expect(await other()).toBeNull()
})

/** Media of a recording. @returns the key of its object */
async function storeObject({ organizationId }: TestTenant, recordingId: string): Promise<string> {
  const { storage, config } = server.deps
  const key = `recordings/${recordingId}/1/source`
  const file = join(config.dataDir, 'file')
  writeFileSync(file, 'sound')
  await storage.putFile(key, file, { contentType: 'audio/mpeg', signal: new AbortController().signal })
  await server.database.sql`
    update recording set asset_object_key = ${key}
    where organization_id = ${organizationId} and id = ${recordingId}`
  expect(await storage.head(key)).not.toBeNull()
  return key
}

/** Tables whose rows the erasure itself makes. */
const FILLED_LATER: readonly string[] = ['former_member', 'organization_erasure']

test('beside requests that store, turns that run, an upload and a sign-in, nothing stays', async () => {
  const working = await startTestServer({ actors: true })
  try {
    const agent = await openAgent(working)
    const { organizationId, apiKey, userId, userToken } = agent.tenant
    const { identity } = working.features
    const { id } = await createRecording(working.as({ apiKey }))
    const file = { fileName: 'a.mp3', fileSize: 1_000_000 }
    const upload = await working.as({ apiKey }).post(`/v3/rest/recordings/${id}/uploads`, file)
    const { name } = (await working.as({ apiKey }).get(PATH)).body
    const statuses = new Set<number>()
    const isStored = Promise.withResolvers<void>()
    let isOver = false
    const sending = Array.from({ length: 4 }, async (_, sender) => {
      for (let n = 1; !isOver; n++) {
        const { status } = await agent.send([userMessage(1)], { externalSessionId: `${sender}-${n}` })
        statuses.add(status)
        if (n === 5) isStored.resolve()
      }
    })
    const signingIn = (async () => {
      while (!isOver) await identity.createSession(userId, null).catch(() => undefined)
    })()
    const gate = Promise.withResolvers<void>()
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(new Uint8Array(500_000))
        await gate.promise
        controller.enqueue(new Uint8Array(500_000))
        controller.close()
      },
    })
    const url = `${working.baseUrl}${new URL(upload.body.uploadUrl).pathname}`
    const putting = fetch(url, { method: 'PUT', body }).then(
      (response) => response.status,
      () => 0,
    )
    await isStored.promise
    const user = working.as({ userToken })
    const both = await Promise.all([user.delete(named(name)), user.delete(named(name))])
    expect(Math.min(...both.map(({ status }) => status))).toBe(202)
    expect(both.every(({ status }) => [202, 401, 404].includes(status))).toBe(true)
    await eraseNow(working, organizationId)
    isOver = true
    gate.resolve()
    await Promise.all([...sending, signingIn])
    expect(await putting).not.toBe(200)
    expect([...statuses].filter((status) => ![200, 202, 401, 404].includes(status))).toEqual([])
    expect(await rowsNaming(working, [organizationId, userId])).toEqual([])
  } finally {
    await working.stop()
  }
})

test('a process that is killed again and again is followed by the next one', async () => {
  const { sql, url } = server.database
  const tenant = await server.createTenant()
  const { organizationId } = tenant
  await sql`
    insert into audit_entry (id, organization_id, principal_kind, action, object_kind, details)
    select gen_random_uuid(), ${organizationId}, 'operator', 'member.created', 'member', '{}' from generate_series(1, 20000)`
  await sql`
    insert into usage_change (organization_id, metric, application_id, hour, change)
    select ${organizationId}, 'events', ${organizationId}, now(), 1 from generate_series(1, 20000)`
  const deleted = await server.as({ userToken: tenant.userToken }).delete(named(await nameOf(tenant)))
  expect(deleted.status).toBe(202)
  const rowsDeleted = async () => {
    const [row] = await sql<{ rows: number }[]>`
      select coalesce((e.progress->>'rows')::int, 0) as rows
      from organization o left join organization_erasure e on e.organization_id = o.id
      where o.id = ${organizationId}`
    return row?.rows ?? null
  }
  const seen: number[] = []
  for (let round = 0; round < 3; round++) {
    const before = (await rowsDeleted()) ?? 0
    const child = Bun.spawn([process.execPath, PROCESS, url, server.deps.config.dataDir])
    await eventually(async () => ((await rowsDeleted()) ?? Infinity) > before)
    child.kill('SIGKILL')
    await child.exited
    seen.push((await rowsDeleted()) ?? -1)
  }
  // Each process went on where the one before it was.
  expect(seen).toEqual([...seen].sort((a, b) => a - b))
  expect(seen.at(-1)).toBeLessThan(40_000)
  expect(seen[0]).toBeGreaterThan(0)
  await eraseNow(server, organizationId)
  expect(await rowsNaming(server, [organizationId])).toEqual([])
})

test('beside a request that has locked a recording, and then the organization, there is no deadlock', async () => {
  const { sql } = server.database
  const tenant = await server.createTenant()
  const { organizationId } = tenant
  const { id } = await createRecording(server.as({ apiKey: tenant.apiKey }))
  await server.as({ userToken: tenant.userToken }).delete(named(await nameOf(tenant)))
  const [task] = organizationMaintenance(server.deps)
  const before = await deadlocks(sql)
  // As the creation of an upload does (docs/architecture.md, "Order of locks").
  const running = await transaction(sql, async (tx) => {
    await tx`select 1 from recording where organization_id = ${organizationId} and id = ${id} for no key update`
    const [own] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
    const run = task?.run(new AbortController().signal)
    await waitUntilBlockedBy(sql, own?.pid ?? 0)
    await lockOrganization(tx, organizationId)
    return { run }
  })
  await running.run
  expect((await deadlocks(sql)) - before).toBe(0)
  await eraseNow(server, organizationId)
  expect(await rowsNaming(server, [organizationId])).toEqual([])
})

test('a large organization does not hold up the erasure of a small one', async () => {
  const { sql } = server.database
  const [large, small] = [await server.createTenant(), await server.createTenant()]
  await sql`
    insert into audit_entry (id, organization_id, principal_kind, action, object_kind, details)
    select gen_random_uuid(), ${large.organizationId}, 'operator', 'member.created', 'member', '{}'
    from generate_series(1, 60000)`
  for (const tenant of [large, small])
    await server.as({ userToken: tenant.userToken }).delete(named(await nameOf(tenant)))
  const erased: string[] = []
  const log = {
    ...server.deps.log,
    info: ({ organizationId }: { organizationId: string }) => erased.push(organizationId),
  }
  const [task] = organizationMaintenance({ ...server.deps, log: log as unknown as typeof server.deps.log })
  for (let round = 0; round < 50 && erased.length < 2; round++) await task?.run(new AbortController().signal)
  expect(erased).toEqual([small.organizationId, large.organizationId])
})

const PROCESS = new URL('../support/organization-erasure-process.ts', import.meta.url).pathname
