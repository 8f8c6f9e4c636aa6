/** The first start on an empty database creates usable credentials, even if it is interrupted at any point. */
import { afterEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bootstrapDemo, type DemoCredentials, type DemoDeps } from '../../src/access/identity/demo.ts'
import { createFolders } from '../../src/calls/folders/service.ts'
import { createApplications } from '../../src/hear/agents/applications/service.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { createRequestWork } from '../../src/platform/concurrency/request-work.ts'
import { newId } from '../../src/platform/ids.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { createTestDatabase } from '../support/database.ts'
import { type IdentityProcess, openIdentity } from '../support/identity.ts'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
})

interface Stage {
  readonly process: IdentityProcess
  readonly deps: DemoDeps
  readonly folder: string
  /** The content of the file, or null. */
  read(): DemoCredentials | null
}

async function stage(): Promise<Stage> {
  const database = await createTestDatabase()
  const folder = mkdtempSync(join(tmpdir(), 'earshot-demo-'))
  const process = openIdentity({ databaseUrl: database.url, dataDir: folder })
  cleanups.push(
    () => database.drop(),
    () => rmSync(folder, { recursive: true }),
    () => process.close(),
  )
  const { config, sql, identity } = process
  const log = createLog('silent', 'test')
  const applications = createApplications({
    sql,
    reads: sql,
    newId,
    clock: systemClock,
    log,
    identity,
    requestWork: createRequestWork(),
  })
  return {
    process,
    folder,
    deps: { config, sql, newId, identity, applications, folders: createFolders({ sql, reads: sql, newId }) },
    read() {
      if (!readdirSync(folder).includes('credentials.json')) return null
      return JSON.parse(readFileSync(join(folder, 'credentials.json'), 'utf8'))
    },
  }
}

/** Checks that every credential in the file works. */
async function expectUsable(
  { process: { identity, sql } }: Stage,
  credentials: DemoCredentials | null,
): Promise<void> {
  if (credentials === null) throw new Error('there is no credentials.json')
  const { organizationId, apiKey, agentSecret, userToken, userId, folderId } = credentials
  const key = await identity.byApiKey(apiKey)
  if (key === null) throw new Error('the API key opens nothing')
  expect(key).toMatchObject({ organizationId })
  const folders = await createFolders({ sql, reads: sql, newId }).list(key, { after: null, limit: 10 })
  expect(folders).toMatchObject([{ id: folderId, name: 'demo', shared: true }])
  expect(await identity.byAgentSecret(agentSecret)).toMatchObject({ organizationId })
  expect(await identity.byToken(userToken ?? '', null)).toMatchObject({ organizationId, userId })
}

test('an empty database gets one demo, whose credentials are readable by the owner only', async () => {
  const current = await stage()
  const { deps, folder, read } = current
  const credentials = await bootstrapDemo(deps)
  expect(credentials).not.toBeNull()
  expect(read()).toEqual(credentials)
  expect(Object.keys(credentials ?? {})).toEqual([
    'organizationId',
    'apiKey',
    'agentKey',
    'agentSecret',
    'userId',
    'userToken',
    'folderId',
  ])
  expect(credentials?.agentKey).toBe('demo')
  expect(statSync(join(folder, 'credentials.json')).mode & 0o777).toBe(0o600)
  expect(readdirSync(folder).toSorted()).toEqual(['credentials.json', 'keys'])
  await expectUsable(current, read())
})

test('a database with an organization gets none', async () => {
  const { deps, process, read } = await stage()
  await process.identity.createOrganization('Acme')
  expect(await bootstrapDemo(deps)).toBeNull()
  expect(read()).toBeNull()
})

test('the second start changes nothing', async () => {
  const { deps, read } = await stage()
  const first = await bootstrapDemo(deps)
  expect(await bootstrapDemo(deps)).toBeNull()
  expect(read()).toEqual(first)
})

test('starts at once make one organization', async () => {
  const { deps, process, read } = await stage()
  // All of them find the database empty before the first one writes.
  const everybodyLooked = Promise.withResolvers<void>()
  let looking = 4
  const signUserToken: DemoDeps['identity']['signUserToken'] = async (...input) => {
    if (--looking === 0) everybodyLooked.resolve()
    await everybodyLooked.promise
    return process.identity.signUserToken(...input)
  }
  const starts = Array.from({ length: looking }, () =>
    bootstrapDemo({ ...deps, identity: { signUserToken } }),
  )
  const made = (await Promise.all(starts)).filter((credentials) => credentials !== null)
  expect(made).toHaveLength(1)
  const organizations = await process.identity.listOrganizations()
  expect(organizations.map(({ id }) => id)).toEqual([made[0]?.organizationId as string])
  expect(read()).toEqual(made[0] as DemoCredentials)
})

/** Thrown in place of the end of the process. */
class Killed extends Error {}

const die = () => {
  throw new Killed()
}

/** Returns `deps` with which the process "ends" once the feature's `create` has run. */
const dyingAfter = (feature: 'applications' | 'folders') => (deps: DemoDeps) => ({
  [feature]: {
    ...deps[feature],
    async create(...input: readonly never[]) {
      await (deps[feature].create as (...input: readonly never[]) => Promise<unknown>)(...input)
      die()
    },
  },
})

test.each<readonly [string, (deps: DemoDeps) => object]>([
  ['before the rows', () => ({ sql: new Proxy(() => {}, { apply: die }) })],
  ['after the rows', () => ({ applications: { list: die, create: die } })],
  ['after the application', dyingAfter('applications')],
  ['after the secret', () => ({ folders: { list: die, create: die } })],
  ['after the folder', dyingAfter('folders')],
])('a start cut short %s is completed by the next one', async (_, broken) => {
  const current = await stage()
  const { deps, read, process, folder } = current
  await expect(bootstrapDemo({ ...deps, ...broken(deps) })).rejects.toThrow(Killed)
  expect(read()).toBeNull()
  expect(await bootstrapDemo(deps)).not.toBeNull()
  await expectUsable(current, read())
  expect(await process.identity.listOrganizations()).toHaveLength(1)
  expect(readdirSync(folder).filter((name) => name.startsWith('credentials.json.'))).toEqual([])
})

describe('credentials under their first name are found again', () => {
  const interrupted = async (rewrite: (pending: string, credentials: DemoCredentials) => void) => {
    const current = await stage()
    const credentials = (await bootstrapDemo(current.deps)) as DemoCredentials
    const final = join(current.folder, 'credentials.json')
    const pending = `${final}.${credentials.organizationId}`
    renameSync(final, pending)
    rewrite(pending, credentials)
    expect(await bootstrapDemo(current.deps)).toEqual(credentials)
    expect(current.read()).toEqual(credentials)
    expect(statSync(final).mode & 0o777).toBe(0o600)
    expect(readdirSync(current.folder).toSorted()).toEqual(['credentials.json', 'keys'])
    await expectUsable(current, current.read())
  }

  test('when the last step is missing', () => interrupted(() => {}))

  test('when the folder is missing in them', () =>
    interrupted((pending, { folderId: _, ...older }) => writeFileSync(pending, JSON.stringify(older))))

  test('when a copy with the folder was begun beside them', () =>
    interrupted((pending, { folderId: _, ...older }) => {
      writeFileSync(pending, JSON.stringify(older))
      writeFileSync(`${pending}.complete`, '{"organizationId":', { mode: 0o600 })
    }))
})
