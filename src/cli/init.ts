/**
 * `earshot init`: prepares an empty database for the first request. It creates the same objects as the first start in
 * embedded mode, under names of your choice. It also works with `DATABASE_URL`.
 */

import { linkUrl, START_PATH } from '../access/sign-in/link.rules.ts'
import { createFolders } from '../calls/folders/service.ts'
import { localUrl } from '../http/base-url.ts'
import { type Input, type Output, UsageError } from './command.ts'
import { migrateDatabase } from './migrate.ts'
import { pairs } from './output.ts'
import { type Services, withServices } from './services.ts'

const TOKEN_SECONDS = 365 * 24 * 60 * 60
const AGENT_KEY = 'default'

/** @throws UsageError if an organization exists */
export async function initialize(input: Input): Promise<Output> {
  await migrateDatabase(input.env)
  return withServices(input, async (services) => {
    const existing = (await services.identity.listOrganizations()).find(({ isDemo }) => !isDemo)
    if (existing !== undefined)
      throw new UsageError(
        `an organization exists already (${existing.name}): use earshot api-key create, user create and agent create`,
      )
    const credentials = await createAll(services, input)
    const shown = {
      organization: credentials.organizationId,
      'API key': credentials.apiKey,
      'agent key': credentials.agentKey,
      'agent secret': credentials.agentSecret,
      user: credentials.userId,
      'user token': credentials.userToken ?? 'issued by OIDC_ISSUER',
      folder: credentials.folderId,
      'sign in': credentials.signInUrl,
    }
    return {
      json: { ...credentials },
      lines: [
        ...pairs(shown),
        'Keys, secrets and tokens are shown only once. Store them now. The link signs in once, within 15 minutes; earshot user link prints another one.',
        'To look around first: earshot demo loads data of a made-up company, and earshot demo --remove removes it.',
      ],
    }
  })
}

/** Has the same members as `credentials.json`, and a link that signs the user in. */
async function createAll({ identity, applications, container }: Services, input: Input) {
  const { config } = container
  const { id: organizationId } = await identity.createOrganization(input.flag('name') ?? 'default')
  const email = input.flag('email') ?? 'admin@localhost.localdomain'
  const user = await identity.createUser(organizationId, { email, name: email, role: 'administrator' })
  const { apiKey } = await identity.createApiKey(organizationId, 'init')
  const application = await applications.create(organizationId, { agentKey: AGENT_KEY, name: AGENT_KEY })
  const { agentSecret } = await applications.createSecret(organizationId, application.id)
  const folder = await createFolders(container).create(
    { kind: 'organization', organizationId },
    { name: 'Calls', shared: true },
  )
  const userToken =
    config.oidc === null ? await identity.createUserToken(user.id, TOKEN_SECONDS, 'init') : null
  return {
    organizationId,
    apiKey,
    agentKey: AGENT_KEY,
    agentSecret,
    userId: user.id,
    userToken,
    folderId: folder.id,
    signInUrl: linkUrl(localUrl(config, config.port), await identity.createLink(user.id), START_PATH),
  }
}
