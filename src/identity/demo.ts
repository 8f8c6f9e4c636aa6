/**
 * The first start on an empty database: an organization, a user, an API key, an agent application with a secret, a shared
 * folder and a user token, all named `demo`, and their credentials in `DATA_DIR/credentials.json`.
 *
 * The rule: whoever has the rows has the file. Secrets are stored as digests only, so credentials that are lost between
 * COMMIT and the file are lost for good. Hence they are written first, as `credentials.json.<organization id>`; the rows
 * are then made from that file; then it gets what can be looked up again, which is the folder, and its final name. A start
 * that was cut short is completed by the next one: every step can be repeated.
 */
import { mkdir, open, readdir, readFile, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Deps } from '../container.ts'
import { transaction } from '../platform/db/transaction.ts'
import { isUuid } from '../platform/ids.ts'
import { insertAgentSecret, insertApiKey } from './credentials.store.ts'
import { createKey, hashKey, shownPrefix } from './keys.ts'
import type { Identity } from './service.ts'
import {
  hasOrganization,
  insertMembership,
  insertOrganization,
  lockForFirstOrganization,
  upsertUser,
} from './store.ts'
import type { SignedToken } from './tokens.ts'
import { insertUserToken } from './user-tokens.store.ts'

/** What is made before there are rows. */
interface Invented {
  readonly organizationId: string
  readonly apiKey: string
  readonly agentKey: string
  readonly agentSecret: string
  readonly userId: string
  /** null where an OpenID Connect issuer makes the tokens. */
  readonly userToken: string | null
}

export interface DemoCredentials extends Invented {
  /** Shared by the organization. */
  readonly folderId: string
}

interface Owner {
  readonly kind: 'user'
  readonly organizationId: string
  readonly userId: string
}

export interface DemoDeps extends Pick<Deps, 'config' | 'sql' | 'newId'> {
  readonly identity: Pick<Identity, 'signUserToken'>
  /** The agent applications' use cases. */
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
  /** The folders' use cases. */
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
 * Creates the demo where there is no organization at all, or completes one that was cut short.
 * @returns the credentials that are now in the file; null where there was nothing to do.
 */
export async function bootstrapDemo(deps: DemoDeps): Promise<DemoCredentials | null> {
  const interrupted = await findInterrupted(deps)
  if (interrupted !== null) return complete(deps, interrupted)
  if (await hasOrganization(deps.sql)) return null
  const { credentials, token } = await invent(deps)
  await mkdir(deps.config.dataDir, { recursive: true })
  await writePrivate(pendingPath(deps, credentials.organizationId), 'wx', credentials)
  if (await insertOwner(deps, credentials, token)) return complete(deps, credentials)
  await unlink(pendingPath(deps, credentials.organizationId)) // another process was first
  return null
}

async function invent({ config, newId, identity }: DemoDeps) {
  const [id, userId, lifetimeSeconds] = [newId(), newId(), TOKEN_LIFETIME_SECONDS]
  const token = config.oidc === null ? await identity.signUserToken({ id, userId, lifetimeSeconds }) : null
  const credentials: Invented = {
    organizationId: newId(),
    apiKey: createKey('esk').secret,
    agentKey: NAME,
    agentSecret: createKey('eas').secret,
    userId,
    userToken: token?.text ?? null,
  }
  return { credentials, token }
}

/** @returns false where an organization exists by now. */
async function insertOwner(
  { sql, newId }: DemoDeps,
  credentials: Invented,
  token: SignedToken | null,
): Promise<boolean> {
  const { organizationId, apiKey, userId } = credentials
  return transaction(sql, async (tx) => {
    await lockForFirstOrganization(tx)
    if (await hasOrganization(tx)) return false
    await insertOrganization(tx, { id: organizationId, name: NAME })
    await upsertUser(tx, { id: userId, email: EMAIL, name: NAME })
    await insertMembership(tx, organizationId, userId)
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

/** The application with its secret, the folder, and then the file under its final name. */
async function complete(deps: DemoDeps, invented: Invented): Promise<DemoCredentials> {
  await ensureApplication(deps, invented)
  const credentials = { ...invented, folderId: await ensureFolder(deps, invented) }
  const pending = pendingPath(deps, invented.organizationId)
  await writePrivate(`${pending}.complete`, 'w', credentials)
  await rename(`${pending}.complete`, pending)
  await rename(pending, join(deps.config.dataDir, FILE))
  return credentials
}

async function ensureApplication(deps: DemoDeps, invented: Invented): Promise<void> {
  const { organizationId, agentKey, agentSecret } = invented
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

/** @returns its id */
async function ensureFolder({ folders }: DemoDeps, invented: Invented): Promise<string> {
  const { organizationId, userId } = invented
  const owner = { kind: 'user', organizationId, userId } as const
  const found = await folders.list(owner, { after: null, limit: 100 })
  const existing = found.find(({ name, shared }) => shared && name === NAME)
  return (existing ?? (await folders.create(owner, { name: NAME }))).id
}

function pendingPath({ config }: DemoDeps, organizationId: string): string {
  return join(config.dataDir, `${FILE}.${organizationId}`)
}

/** Readable by the owner only, and on the disk when this resolves. */
async function writePrivate(path: string, flags: 'w' | 'wx', credentials: Invented): Promise<void> {
  const file = await open(path, flags, 0o600)
  try {
    await file.writeFile(`${JSON.stringify(credentials, null, 2)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** A file whose rows were committed. One whose rows were not is left alone: its process may be about to. */
async function findInterrupted(deps: DemoDeps): Promise<Invented | null> {
  const names = await readdir(deps.config.dataDir).catch(() => [])
  for (const name of names) {
    const organizationId = name.startsWith(`${FILE}.`) ? name.slice(FILE.length + 1) : ''
    if (!isUuid(organizationId) || !(await hasOrganization(deps.sql, organizationId))) continue
    return JSON.parse(await readFile(join(deps.config.dataDir, name), 'utf8'))
  }
  return null
}
