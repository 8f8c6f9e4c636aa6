/** A revoked credential is refused at once by the process that revoked it, and within a moment by all others. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createCredentialCache, REVOKED_CHANNEL } from '../../src/access/identity/credential-cache.ts'
import { hashKey } from '../../src/access/identity/keys.ts'
import { connect } from '../../src/platform/db/pool.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type IdentityProcess, openIdentity } from '../support/identity.ts'

let database: TestDatabase
let here: IdentityProcess
let elsewhere: IdentityProcess
let organizationId: string
let applicationId: string

beforeAll(async () => {
  database = await createTestDatabase()
  here = openIdentity({ databaseUrl: database.url })
  elsewhere = openIdentity({ databaseUrl: database.url })
  organizationId = (await here.identity.createOrganization('Acme')).id
  applicationId = crypto.randomUUID()
  await here.sql`
    insert into agent_application (id, organization_id, agent_key, name)
    values (${applicationId}, ${organizationId}, 'bot', 'Bot')`
})

afterAll(async () => {
  await Promise.all([here.close(), elsewhere.close()])
  await database.drop()
})

/** Uses the key until the process answers from memory: then the row may be gone and it is still good. */
async function untilRemembered(process: IdentityProcess, apiKey: string): Promise<void> {
  const hash = hashKey(apiKey)
  await eventually(async () => {
    await process.identity.byApiKey(apiKey)
    await process.sql`update api_key set hash = ${Buffer.alloc(32, 1)} where hash = ${hash}`
    const remembered = await process.identity.byApiKey(apiKey)
    await process.sql`update api_key set hash = ${hash} where hash = ${Buffer.alloc(32, 1)}`
    return remembered !== null
  })
}

describe('a revoked API key', () => {
  test('is refused at once in the revoking process and shortly afterwards in another', async () => {
    const { id, apiKey } = await here.identity.createApiKey(organizationId, 'key')
    await untilRemembered(here, apiKey)
    await untilRemembered(elsewhere, apiKey)
    await here.identity.revokeApiKey(organizationId, id)
    expect(await here.identity.byApiKey(apiKey)).toBeNull()
    // Sooner than the interval after which a remembered key is looked up again in any case.
    await eventually(async () => (await elsewhere.identity.byApiKey(apiKey)) === null, { deadlineMs: 2_000 })
  })

  test('of another organization is not found', async () => {
    const other = await here.identity.createOrganization('Other')
    const { id, apiKey } = await here.identity.createApiKey(organizationId, 'key')
    await expect(here.identity.revokeApiKey(other.id, id)).rejects.toMatchObject({
      code: 'api_key_not_found',
    })
    await expect(here.identity.revokeApiKey(organizationId, 'nonsense')).rejects.toMatchObject({
      code: 'api_key_not_found',
    })
    expect(await here.identity.byApiKey(apiKey)).not.toBeNull()
  })

  test('is refused even after the listening connection was lost and replaced', async () => {
    const { id, apiKey } = await here.identity.createApiKey(organizationId, 'key')
    await untilRemembered(elsewhere, apiKey)
    const ended = await here.sql`
      select pg_terminate_backend(pid)
      from pg_stat_activity
      where datname = current_database() and query ilike ${`listen "${REVOKED_CHANNEL}"`}`
    expect(ended.length).toBeGreaterThan(0)
    await here.identity.revokeApiKey(organizationId, id)
    await eventually(async () => (await elsewhere.identity.byApiKey(apiKey)) === null)
    const second = await here.identity.createApiKey(organizationId, 'key')
    await untilRemembered(elsewhere, second.apiKey)
    await here.identity.revokeApiKey(organizationId, second.id)
    await eventually(async () => (await elsewhere.identity.byApiKey(second.apiKey)) === null, {
      deadlineMs: 2_000,
    })
  })
})

test('a revoked agent secret is refused everywhere; the other secret keeps working', async () => {
  const first = await here.identity.createSecret(organizationId, applicationId)
  const second = await here.identity.createSecret(organizationId, applicationId)
  for (const process of [here, elsewhere])
    expect(await process.identity.byAgentSecret(first.agentSecret)).not.toBeNull()
  await here.identity.revokeSecret(organizationId, applicationId, first.id)
  expect(await here.identity.byAgentSecret(first.agentSecret)).toBeNull()
  await eventually(async () => (await elsewhere.identity.byAgentSecret(first.agentSecret)) === null)
  expect(await elsewhere.identity.byAgentSecret(second.agentSecret)).not.toBeNull()
  await expect(
    here.identity.revokeSecret(organizationId, crypto.randomUUID(), second.id),
  ).rejects.toMatchObject({ code: 'agent_secret_not_found' })
})

describe('the cache of valid credentials', () => {
  const digest = (text: string) => hashKey(text)
  const log = createLog('silent', 'test')

  /** A cache that listens already. */
  async function listening(options: { capacity: number; ttlMs: number }) {
    const sql = connect({ url: database.url }, { max: 1, applicationName: 'test-cache' })
    const cache = createCredentialCache<string>({ listening: sql, log }, options)
    await eventually(async () => {
      let looked = false
      await cache.get(digest('probe'), async () => ({ id: 'probe', value: 'probe' }))
      await cache.get(digest('probe'), async () => {
        looked = true
        return null
      })
      return !looked
    })
    return { cache, close: () => sql.end({ timeout: 5 }) }
  }

  test('does not cache a look-up that a revocation overtook', async () => {
    const { cache, close } = await listening({ capacity: 10, ttlMs: 60_000 })
    const value = await cache.get(digest('key'), async () => {
      cache.revoke('id')
      return { id: 'id', value: 'good when it was read' }
    })
    expect(value).toBe('good when it was read')
    expect(await cache.get(digest('key'), async () => null)).toBeNull()
    await close()
  })

  test('does not cache a refusal', async () => {
    const { cache, close } = await listening({ capacity: 10, ttlMs: 60_000 })
    expect(await cache.get(digest('key'), async () => null)).toBeNull()
    expect(await cache.get(digest('key'), async () => ({ id: 'id', value: 'new' }))).toBe('new')
    await close()
  })

  test('expires entries after its interval, even without notifications', async () => {
    const { cache, close } = await listening({ capacity: 10, ttlMs: 50 })
    await cache.get(digest('key'), async () => ({ id: 'id', value: 'old' }))
    await eventually(async () => (await cache.get(digest('key'), async () => null)) === null)
    await close()
  })

  test('keeps the most recently used entries up to its capacity', async () => {
    const { cache, close } = await listening({ capacity: 2, ttlMs: 60_000 })
    const put = (name: string) => cache.get(digest(name), async () => ({ id: name, value: name }))
    const peek = (name: string) => cache.get(digest(name), async () => null)
    await put('a')
    await put('b')
    await put('a')
    await put('c')
    expect([await peek('a'), await peek('b'), await peek('c')]).toEqual(['a', null, 'c'])
    await close()
  })
})

describe('the last use of a credential', () => {
  test('is recorded, at most once a minute', async () => {
    const { id, apiKey } = await here.identity.createApiKey(organizationId, 'key')
    const lastUsed = async () =>
      (await here.identity.listApiKeys(organizationId)).find((key) => key.id === id)?.lastUsedAt ?? null
    expect(await lastUsed()).toBeNull()
    await elsewhere.identity.byApiKey(apiKey)
    const first = await eventually(async () => (await lastUsed()) ?? false)
    const fresh = openIdentity({ databaseUrl: database.url })
    await fresh.identity.byApiKey(apiKey)
    await fresh.close() // waits for what it had begun
    expect(await lastUsed()).toEqual(first)
    await here.sql`update api_key set last_used_at = now() - interval '61 seconds' where id = ${id}`
    const later = openIdentity({ databaseUrl: database.url })
    await later.identity.byApiKey(apiKey)
    await later.close()
    expect(((await lastUsed()) as Date).getTime()).toBeGreaterThanOrEqual((first as Date).getTime())
  })
})

test('the tables hold only a digest and a prefix of a credential', async () => {
  const { apiKey } = await here.identity.createApiKey(organizationId, 'key')
  const { agentSecret } = await here.identity.createSecret(organizationId, applicationId)
  const [row] = await here.sql<{ dump: string }[]>`
    select (select json_agg(k)::text from api_key k) || (select json_agg(s)::text from agent_secret s) as dump`
  expect(row?.dump).not.toContain(apiKey.slice(12))
  expect(row?.dump).not.toContain(agentSecret.slice(12))
  expect(row?.dump).toContain(hashKey(apiKey).toString('hex'))
  expect(apiKey).toMatch(/^esk_[0-9A-Za-z]{43}$/)
  expect(agentSecret).toMatch(/^eas_[0-9A-Za-z]{43}$/)
})
