/**
 * Opens the servers and use cases of the service for one command. Commands import it when they run; the table of commands
 * must not.
 */
import { MIGRATIONS } from '../../sql/migrations.ts'
import { createIdentity, type Identity, type Organization } from '../access/identity/service.ts'
import { loadConfig } from '../app/config.ts'
import { type Container, createContainer } from '../app/container.ts'
import { type Applications, createApplications } from '../hear/agents/applications/service.ts'
import { wakeBlockedSessions } from '../hear/agents/sessions/credits.ts'
import { assertMigrated } from '../platform/db/migrate.ts'
import { openServers } from '../platform/embedded/servers.ts'
import { AppError } from '../platform/errors.ts'
import { StartError } from '../platform/lifecycle/start-error.ts'
import { createLog } from '../platform/observability/log.ts'
import { type Input, UsageError } from './command.ts'

export interface Services {
  readonly container: Container
  readonly identity: Identity
  readonly applications: Applications
}

/** Opens everything, runs `work`, and closes everything. @throws StartError if the database is not migrated */
export async function withServices<T>(
  { env }: Pick<Input, 'env'>,
  work: (services: Services) => Promise<T>,
): Promise<T> {
  // A command prints its own result. The log shows only warnings, unless LOG_LEVEL asks for more.
  const config = loadConfig({ LOG_LEVEL: 'warn', ...env })
  const servers = await openServers(config, createLog(config.logLevel, 'earshot-cli'))
  try {
    const container = createContainer(config, servers.servers, 'earshot-cli')
    try {
      await requireSchema(container)
      await container.clock.follow()
      const identity = createIdentity({ ...container, wakeBlocked: wakeBlockedSessions })
      return await work({
        container,
        identity,
        applications: createApplications({ ...container, identity }),
      })
    } finally {
      await container.close()
    }
  } finally {
    await servers.stop()
  }
}

async function requireSchema({ sql }: Container): Promise<void> {
  try {
    await assertMigrated(sql, MIGRATIONS)
  } catch (error) {
    throw error instanceof AppError ? new StartError(error.message) : error
  }
}

/** The organization of `--org`, or the only one; that of `earshot demo` has to be named. @throws UsageError if there are several */
export async function organizationOf({ identity }: Services, input: Input): Promise<Organization> {
  const named = input.flag('org')
  if (named !== undefined) return identity.findOrganization(named)
  const [only, another] = (await identity.listOrganizations()).filter(({ isDemo }) => !isDemo)
  if (only === undefined)
    throw new UsageError('there is no organization yet: create one with earshot init or earshot org create')
  if (another !== undefined)
    throw new UsageError('there are several organizations: choose one with --org <id or name>')
  return only
}
