/** Operations on agent applications. Those that change one need the organization's key or an administrator. */
import { Type } from '@sinclair/typebox'
import { recorded } from '../../../access/audit/change.ts'
import type { Credential } from '../../../access/identity/service.ts'
import { created, noContent, type Operation, ok, operation } from '../../../http/operation.ts'
import { keyset, pageOf, toPage } from '../../../http/paging.ts'
import { moment, uuidOf } from '../../../http/parameters.ts'
import {
  Application,
  ApplicationQuery,
  CreateApplication,
  MAX_LIVE_SECRETS,
  NewSecret,
  SecretList,
  UpdateApplication,
  Usage,
  UsageQuery,
} from './model.ts'
import { redactionOperation } from './redaction-routes.ts'
import type { Applications } from './service.ts'
import type { ApplicationRow } from './store.ts'

const APPLICATIONS = '/v3/rest/agent-applications'
const TAG = 'Agent applications'

const order = keyset('agent_applications', ['integer', 'uuid'])

const NOT_FOUND = 'agent_application_not_found'

/** Everything under `/v3/rest/agent-applications`. */
export function applicationOperations(applications: Applications): readonly Operation[] {
  return [
    ...collectionOperations(applications),
    ...applicationOperationsById(applications),
    deleteOperation(applications),
    ...secretOperations(applications),
    usageOperation(applications),
    redactionOperation(applications),
  ]
}

function collectionOperations(applications: Applications): readonly Operation[] {
  return [
    operation({
      id: 'listAgentApplications',
      method: 'GET',
      path: APPLICATIONS,
      tag: TAG,
      summary: 'List applications',
      description: 'Newest first.',
      access: 'organizationOrUser',
      role: 'viewer',
      query: ApplicationQuery,
      success: { status: 200, description: 'A page of applications', schema: pageOf(Application) },
      async handler({ principal, query }) {
        const { limit, cursor, agentKey } = query()
        const slice = { after: order.decode(cursor), limit }
        const rows = await applications.list(principal.organizationId, agentKey, slice)
        const next = (row: ApplicationRow) => order.encode([row.createdMicroseconds, row.id])
        return ok(toPage(rows, limit, next, application))
      },
    }),
    operation({
      id: 'createAgentApplication',
      method: 'POST',
      path: APPLICATIONS,
      tag: TAG,
      summary: 'Create an application',
      description:
        'Settings that are not given take their defaults. A secret for ingestion is created separately.',
      access: 'organizationOrUser',
      role: 'administrator',
      body: CreateApplication,
      example: {
        agentKey: 'support-assistant',
        name: 'Support assistant',
        settings: { retentionDays: 365, redactedFields: ['password'] },
      },
      unique: ['agentKey'],
      success: { status: 201, description: 'The application', schema: Application },
      errors: ['unknown_member', 'name_exists', 'request_too_costly'],
      async handler(call) {
        const input = await call.body()
        const also = recorded<Application>(call, 'agent_application.created', (row) => row.id)
        const row = await applications.create(call.principal.organizationId, input, also)
        return created(`${APPLICATIONS}/${row.id}`, application(row))
      },
    }),
  ]
}

function applicationOperationsById(applications: Applications): readonly Operation[] {
  return [
    operation({
      id: 'getAgentApplication',
      method: 'GET',
      path: `${APPLICATIONS}/{applicationId}`,
      params: { applicationId: uuidOf('application') },
      tag: TAG,
      summary: 'Read an application',
      description: 'With its settings; never its secrets.',
      access: 'organizationOrUser',
      role: 'viewer',
      query: Type.Object({}),
      success: { status: 200, description: 'The application', schema: Application },
      errors: [NOT_FOUND],
      async handler({ principal, id, query }) {
        const found = await applications.get(principal.organizationId, id('applicationId', NOT_FOUND))
        query()
        return ok(application(found))
      },
    }),
    operation({
      id: 'updateAgentApplication',
      method: 'PATCH',
      path: `${APPLICATIONS}/{applicationId}`,
      params: { applicationId: uuidOf('application') },
      tag: TAG,
      summary: 'Change the name or settings of an application',
      description:
        'Only the given members change. Settings apply to later requests; stored events stay unchanged, ' +
        'and retries of them are still recognised.',
      access: 'organizationOrUser',
      role: 'administrator',
      body: UpdateApplication,
      example: { settings: { retentionDays: 90, allowedEnvironments: ['production', 'staging'] } },
      success: { status: 200, description: 'The application as it is now', schema: Application },
      errors: [NOT_FOUND, 'unknown_member', 'request_too_costly'],
      async handler(call) {
        const { organizationId } = call.principal
        // An unknown application (404) comes before errors of the body (400).
        const { id: applicationId } = await applications.get(
          organizationId,
          call.id('applicationId', NOT_FOUND),
        )
        const change = await call.body()
        const also = recorded<Application>(
          call,
          'agent_application.updated',
          (row) => row.id,
          (row) => ({ settingsVersion: row.settingsVersion }),
        )
        return ok(application(await applications.update(organizationId, applicationId, change, also)))
      },
    }),
  ]
}

function deleteOperation(applications: Applications): Operation {
  return operation({
    id: 'deleteAgentApplication',
    method: 'DELETE',
    path: `${APPLICATIONS}/{applicationId}`,
    params: { applicationId: uuidOf('application') },
    tag: TAG,
    summary: 'Delete an application',
    description:
      'With its settings and secrets, which are refused at once. Only where it has no sessions: 409 `not_empty` otherwise. Delete the ' +
      'sessions first, or set `retentionDays`. Metered units stay in the ledger. Its `agentKey` is free again.',
    access: 'organizationOrUser',
    role: 'administrator',
    success: { status: 204, description: 'The application is gone' },
    errors: [NOT_FOUND, 'not_empty'],
    async handler(call) {
      const id = call.id('applicationId', NOT_FOUND)
      const also = recorded(call, 'agent_application.deleted', () => id)
      await applications.remove(call.principal.organizationId, id, also)
      return noContent()
    },
  })
}

function secretOperations(applications: Applications): readonly Operation[] {
  return [
    operation({
      id: 'createAgentSecret',
      method: 'POST',
      path: `${APPLICATIONS}/{applicationId}/secrets`,
      params: { applicationId: uuidOf('application') },
      tag: TAG,
      summary: 'Create a secret for ingestion',
      description:
        'The secret is shown in this answer only. To rotate: create one, move the senders over, delete the old one; ' +
        `in the meantime both are valid. At most ${MAX_LIVE_SECRETS} live secrets an application; one more is 400.`,
      access: 'organizationOrUser',
      role: 'administrator',
      success: { status: 201, description: 'The secret', schema: NewSecret },
      errors: [NOT_FOUND, 'validation_failed'],
      async handler(call) {
        const applicationId = call.id('applicationId', NOT_FOUND)
        const also = recorded<Credential>(
          call,
          'agent_secret.created',
          (secret) => secret.id,
          () => ({ applicationId }),
        )
        const secret = await applications.createSecret(call.principal.organizationId, applicationId, also)
        return created(`${APPLICATIONS}/${applicationId}/secrets`, {
          id: secret.id,
          prefix: secret.prefix,
          createdAt: secret.createdAt,
          secret: secret.agentSecret,
        })
      },
    }),
    operation({
      id: 'listAgentSecrets',
      method: 'GET',
      path: `${APPLICATIONS}/{applicationId}/secrets`,
      params: { applicationId: uuidOf('application') },
      tag: TAG,
      summary: 'List the secrets of an application',
      description: 'Oldest first, deleted ones too; never the secrets themselves.',
      access: 'organizationOrUser',
      role: 'administrator',
      query: Type.Object({}),
      success: { status: 200, description: 'The secrets', schema: SecretList },
      errors: [NOT_FOUND],
      async handler({ principal: { organizationId }, id, query }) {
        const { id: applicationId } = await applications.get(organizationId, id('applicationId', NOT_FOUND))
        query()
        return ok({ data: await applications.listSecrets(organizationId, applicationId) })
      },
    }),
    operation({
      id: 'deleteAgentSecret',
      method: 'DELETE',
      path: `${APPLICATIONS}/{applicationId}/secrets/{secretId}`,
      params: { applicationId: uuidOf('application'), secretId: uuidOf('secret') },
      tag: TAG,
      summary: 'Revoke a secret',
      description: 'It is refused at once. Repeating the request changes nothing.',
      access: 'organizationOrUser',
      role: 'administrator',
      success: { status: 204, description: 'The secret is revoked' },
      errors: [NOT_FOUND, 'agent_secret_not_found'],
      async handler(call) {
        const { organizationId } = call.principal
        const { id: applicationId } = await applications.get(
          organizationId,
          call.id('applicationId', NOT_FOUND),
        )
        const secretId = call.id('secretId', 'agent_secret_not_found')
        const also = recorded<void>(
          call,
          'agent_secret.deleted',
          () => secretId,
          () => ({ applicationId }),
        )
        await applications.revokeSecret(organizationId, applicationId, secretId, also)
        return noContent()
      },
    }),
  ]
}

function usageOperation(applications: Applications): Operation {
  return operation({
    id: 'getAgentUsage',
    method: 'GET',
    path: `${APPLICATIONS}/{applicationId}/usage`,
    params: { applicationId: uuidOf('application') },
    tag: TAG,
    summary: 'Read the metered units of an application',
    description:
      'One `agent_response_processed` unit for each visible finalised assistant response, ever: retries and revisions ' +
      'add none, and deleting a session takes none away.',
    access: 'organizationOrUser',
    role: 'administrator',
    query: UsageQuery,
    success: { status: 200, description: 'Units by day', schema: Usage },
    errors: [NOT_FOUND],
    async handler({ principal: { organizationId }, id, query }) {
      const { id: applicationId } = await applications.get(organizationId, id('applicationId', NOT_FOUND))
      const { since, until } = query()
      const period = { since: moment('since', since), until: moment('until', until) }
      return ok(await applications.usage(organizationId, applicationId, period))
    },
  })
}

function application({ id, agentKey, name, settingsVersion, settings, createdAt, updatedAt }: Application) {
  return { id, agentKey, name, settingsVersion, settings, createdAt, updatedAt }
}
