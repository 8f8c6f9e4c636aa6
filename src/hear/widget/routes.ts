/** Operations on publishable keys. They need the organization's key or an administrator. */
import { Type } from '@sinclair/typebox'
import { recorded } from '../../access/audit/change.ts'
import { MAX_PUBLISHABLE_KEYS, type PublishableKey as Row } from '../../access/identity/publishable-keys.ts'
import type { Identity } from '../../access/identity/service.ts'
import { created, noContent, type Operation, ok, operation } from '../../http/operation.ts'
import { uuidOf } from '../../http/parameters.ts'
import { invalid } from '../../platform/validation/json.ts'
import type { Applications } from '../agents/applications/service.ts'
import { CreatePublishableKey, PublishableKey, PublishableKeyList } from './model.ts'
import { originOf } from './rules.ts'

const PATH = '/v3/rest/agent-applications/{applicationId}/publishable-keys'
const COMMON = {
  tag: 'Agent applications',
  access: 'organizationOrUser',
  role: 'administrator',
} as const
const EXAMPLE = {
  id: '0199a7c2-5d1e-7b3c-9f60-2f1d0c8e4b11',
  name: 'Help centre',
  key: `epk_${'7Hq2'.repeat(10)}a9Z`,
  origins: ['https://www.example.com'],
  createdAt: '2026-01-02T09:00:00.000Z',
  lastUsedAt: null,
  revokedAt: null,
}
const NOT_FOUND = 'agent_application_not_found'

type Keys = Pick<Identity, 'createPublishableKey' | 'listPublishableKeys' | 'revokePublishableKey'>

export function publishableKeyOperations(
  keys: Keys,
  applications: Pick<Applications, 'get'>,
): readonly Operation[] {
  return [
    operation({
      ...COMMON,
      id: 'createPublishableKey',
      method: 'POST',
      path: PATH,
      params: { applicationId: uuidOf('application') },
      summary: 'Create a publishable key for web pages',
      description:
        'The key stands in pages that load `/widget/earshot.js`. It can only send feedback on responses of this application, and the forms ' +
        `of the website. At most ${MAX_PUBLISHABLE_KEYS} live keys an application; one more is 409.`,
      body: CreatePublishableKey,
      example: { name: 'Help centre', origins: ['https://www.example.com'] },
      success: { status: 201, description: 'The key', schema: PublishableKey, example: EXAMPLE },
      errors: [NOT_FOUND, 'unknown_member', 'too_many_publishable_keys'],
      async handler(call) {
        const { organizationId } = call.principal
        const { id: applicationId } = await applications.get(
          organizationId,
          call.id('applicationId', NOT_FOUND),
        )
        const { name, origins } = await call.body()
        const also = recorded<Row>(
          call,
          'publishable_key.created',
          (key) => key.id,
          () => ({ applicationId }),
        )
        const input = { name, origins: checkedOrigins(origins) }
        const key = await keys.createPublishableKey(organizationId, applicationId, input, also)
        return created(PATH.replace('{applicationId}', applicationId), key)
      },
    }),
    operation({
      ...COMMON,
      id: 'listPublishableKeys',
      method: 'GET',
      path: PATH,
      params: { applicationId: uuidOf('application') },
      summary: 'List the publishable keys of an application',
      description: 'Oldest first, revoked ones too. The keys are shown, because they are no secrets.',
      query: Type.Object({}),
      success: {
        status: 200,
        description: 'The keys',
        schema: PublishableKeyList,
        example: { data: [EXAMPLE] },
      },
      errors: [NOT_FOUND],
      async handler({ principal: { organizationId }, id, query }) {
        const { id: applicationId } = await applications.get(organizationId, id('applicationId', NOT_FOUND))
        query()
        return ok({ data: await keys.listPublishableKeys(organizationId, applicationId) })
      },
    }),
    operation({
      ...COMMON,
      id: 'deletePublishableKey',
      method: 'DELETE',
      path: `${PATH}/{publishableKeyId}`,
      params: { applicationId: uuidOf('application'), publishableKeyId: uuidOf('publishable key') },
      summary: 'Revoke a publishable key',
      description: 'It is refused at once. Repeating the request changes nothing.',
      success: { status: 204, description: 'The key is revoked' },
      errors: [NOT_FOUND, 'publishable_key_not_found'],
      async handler(call) {
        const { organizationId } = call.principal
        const { id: applicationId } = await applications.get(
          organizationId,
          call.id('applicationId', NOT_FOUND),
        )
        const keyId = call.id('publishableKeyId', 'publishable_key_not_found')
        const also = recorded<boolean>(
          call,
          'publishable_key.deleted',
          () => keyId,
          () => ({ applicationId }),
        )
        await keys.revokePublishableKey(organizationId, applicationId, keyId, also)
        return noContent()
      },
    }),
  ]
}

/** Without doubles. @throws AppError 400 */
function checkedOrigins(texts: readonly string[]): readonly string[] {
  const origins = texts.map(originOf)
  const details = origins.flatMap((origin, n) =>
    origin === null
      ? [
          {
            path: `origins[${n}]`,
            code: 'pattern' as const,
            message: 'must be a scheme, a host and a port, such as https://www.example.com',
          },
        ]
      : [],
  )
  if (details.length > 0) throw invalid(details)
  return [...new Set(origins.flatMap((origin) => origin ?? []))]
}
