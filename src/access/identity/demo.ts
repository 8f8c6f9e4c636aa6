/**
 * The first start on an empty database creates an organization, a user, an API key, an agent application with a secret,
 * a shared folder and a user token. All are named `demo`. Their credentials go to `DATA_DIR/credentials.json`.
 *
 * The database stores digests only, so a secret that is not in the file is lost. The credentials are therefore written
 * first, as `credentials.json.<organization id>`. The rows are created from that file. Then the folder's id is added and
 * the file gets its final name. Every step can be repeated, so the next start completes one that was interrupted.
 */
import { mkdir, open, readdir, readFile, rename, rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Deps } from '../../kernel/deps.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { isUuid } from '../../platform/ids.ts'
import { readSecretFile } from '../../platform/secrets/secret-file.ts'
import { insertAgentSecret, insertApiKey } from './credentials.store.ts'
import { createKey, hashKey, shownPrefix } from './keys.ts'
import { insertMembership } from './members.store.ts'
import type { Identity } from './service.ts'
import { hasOrganization, insertOrganization, insertUser, lockForFirstOrganization } from './store.ts'
import type { SignedToken } from './tokens.ts'
import { insertUserToken } from './user-tokens.store.ts'

/** Credentials that are chosen before any row exists. */
interface Drafted {
  readonly organizationId: string
  readonly apiKey: string
  readonly agentKey: string
  readonly agentSecret: string
  readonly userId: string
  /** Null if an OpenID Connect issuer makes the tokens. */
  readonly userToken: string | null
}

export interface DemoCredentials extends Drafted {
  /** A folder that the whole organization sees. */
  readonly folderId: string
}

interface Owner {
  readonly kind: 'user'
  readonly organizationId: string
  readonly userId: string
}

export interface DemoDeps extends Pick<Deps, 'config' | 'sql' | 'newId'> {
  readonly identity: Pick<Identity, 'signUserToken'>
  /** Use cases of agent applications. */
  readonly applications: {
    create(
      organizationId: string,
      input: { readonly agentKey: string; readonly name: string },
    ): Promise<{ readonly id: string }>
    list(
      organizationId: string,
      agentKey: string,
      slice: { readonly after: null; readonly limit: number },
    ): Promise<readonly { readonly id: string }[]>
  }
  /** Use cases of folders. */
  readonly folders: {
    create(owner: Owner, input: { readonly name: string }): Promise<{ readonly id: string }>
    list(
      owner: Owner,
      slice: { readonly after: null; readonly limit: number },
    ): Promise<readonly { readonly id: string; readonly name: string; readonly shared: boolean }[]>
  }
}

const NAME = 'demo'
const EMAIL = 'demo@example.com'
const FILE = 'credentials.json'
const TOKEN_LIFETIME_SECONDS = 365 * 24 * 60 * 60

/**
 * Creates the demo if there is no organization yet, or completes an interrupted creation.
 * @returns the credentials in the file, or null if there was nothing to do
 */
export async function bootstrapDemo(deps: DemoDeps): Promise<DemoCredentials | null> {
  const interrupted = await findInterrupted(deps)
  if (interrupted !== null) return complete(deps, interrupted)
  if (await hasOrganization(deps.sql)) return null
  const { credentials, token } = await draft(deps)
  await mkdir(deps.config.dataDir, { recursive: true })
  await writePrivate(pendingPath(deps, credentials.organizationId), 'wx', credentials)
  if (await insertOwner(deps, credentials, token)) return complete(deps, credentials)
  await unlink(pendingPath(deps, credentials.organizationId)) // another process created the first organization
  return null
}

async function draft({ config, newId, identity }: DemoDeps) {
  const [id, userId, lifetimeSeconds] = [newId(), newId(), TOKEN_LIFETIME_SECONDS]
  const token = config.oidc === null ? await identity.signUserToken({ id, userId, lifetimeSeconds }) : null
  const credentials: Drafted = {
    organizationId: newId(),
    apiKey: createKey('esk').secret,
    agentKey: NAME,
    agentSecret: createKey('eas').secret,
    userId,
    userToken: token?.text ?? null,
  }
  return { credentials, token }
}

/** @returns false if an organization exists by now */
async function insertOwner(
  { sql, newId }: DemoDeps,
  credentials: Drafted,
  token: SignedToken | null,
): Promise<boolean> {
  const { organizationId, apiKey, userId } = credentials
  return transaction(sql, async (tx) => {
    await lockForFirstOrganization(tx)
    if (await hasOrganization(tx)) return false
    await insertOrganization(tx, { id: organizationId, name: NAME })
    await insertUser(tx, { id: userId, email: EMAIL, name: NAME })
    await insertMembership(tx, { organizationId, userId, role: 'administrator' })
    if (token !== null) await insertUserToken(tx, { ...token, organizationId: null, name: NAME })
    await insertApiKey(tx, {
      id: newId(),
      organizationId,
      name: NAME,
      prefix: shownPrefix(apiKey),
      hash: hashKey(apiKey),
    })
    return true
  })
}

/** Creates the application, its secret and the folder. Then gives the file its final name. */
async function complete(deps: DemoDeps, drafted: Drafted): Promise<DemoCredentials> {
  await ensureApplication(deps, drafted)
  const credentials = { ...drafted, folderId: await ensureFolder(deps, drafted) }
  const pending = pendingPath(deps, drafted.organizationId)
  await writePrivate(`${pending}.complete`, 'w', credentials)
  await rename(`${pending}.complete`, pending)
  await rename(pending, join(deps.config.dataDir, FILE))
  return credentials
}

async function ensureApplication(deps: DemoDeps, drafted: Drafted): Promise<void> {
  const { organizationId, agentKey, agentSecret } = drafted
  const [existing] = await deps.applications.list(organizationId, agentKey, { after: null, limit: 1 })
  const application = existing ?? (await deps.applications.create(organizationId, { agentKey, name: NAME }))
  await insertAgentSecret(deps.sql, {
    id: deps.newId(),
    organizationId,
    applicationId: application.id,
    prefix: shownPrefix(agentSecret),
    hash: hashKey(agentSecret),
  })
}

/** @returns the folder's id */
async function ensureFolder({ folders }: DemoDeps, drafted: Drafted): Promise<string> {
  const { organizationId, userId } = drafted
  const owner = { kind: 'user', organizationId, userId } as const
  const found = await folders.list(owner, { after: null, limit: 100 })
  const existing = found.find(({ name, shared }) => shared && name === NAME)
  return (existing ?? (await folders.create(owner, { name: NAME }))).id
}

function pendingPath({ config }: DemoDeps, organizationId: string): string {
  return join(config.dataDir, `${FILE}.${organizationId}`)
}

/** The file is readable by its owner only, and flushed to disk when this resolves. */
async function writePrivate(path: string, flags: 'w' | 'wx', credentials: Drafted): Promise<void> {
  const file = await open(path, flags, 0o600)
  try {
    await file.writeFile(`${JSON.stringify(credentials, null, 2)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Removes the files with the credentials of an organization that is being erased, also that of an interrupted creation. */
export async function forgetCredentials(dataDir: string, organizationId: string): Promise<void> {
  await rm(join(dataDir, `${FILE}.${organizationId}`), { force: true })
  const path = join(dataDir, FILE)
  const text = await readSecretFile(path)
  if (text?.includes(organizationId) === true) await rm(path, { force: true })
}

/** A credentials file whose rows are committed. Other pending files belong to processes that may still commit. */
async function findInterrupted(deps: DemoDeps): Promise<Drafted | null> {
  const names = await readdir(deps.config.dataDir).catch(() => [])
  for (const name of names) {
    const organizationId = name.startsWith(`${FILE}.`) ? name.slice(FILE.length + 1) : ''
    if (!isUuid(organizationId) || !(await hasOrganization(deps.sql, organizationId))) continue
    return JSON.parse(await readFile(join(deps.config.dataDir, name), 'utf8'))
  }
  return null
}
