/** `/v3/rest/api-keys`: the keys of the organization. */
import { Type } from '@sinclair/typebox'
import { created, noContent, type Operation, ok, operation } from '../../http/operation.ts'
import { keyset, pageOf, pageQuery, toPage } from '../../http/paging.ts'
import { uuidOf } from '../../http/parameters.ts'
import { AppError } from '../../platform/errors.ts'
import { recorded } from '../audit/change.ts'
import type { ApiKeys } from '../identity/api-keys.ts'
import type { ApiKey as ApiKeyRow } from '../identity/service.ts'
import { ApiKey, CreateApiKey, NewApiKey, UpdateApiKey } from './model.ts'

const KEYS = '/v3/rest/api-keys'
const KEY = `${KEYS}/{apiKeyId}`
const TAG = 'Administration'
const NOT_FOUND = 'api_key_not_found'

const order = keyset('api-keys', ['integer', 'uuid'])
const params = { apiKeyId: uuidOf('API key') }
const common = { tag: TAG, access: 'organizationOrUser', role: 'administrator' } as const

export function apiKeyOperations(keys: ApiKeys): readonly Operation[] {
  return [listKeys(keys), createKey(keys), getKey(keys), renameKey(keys), revokeKey(keys)]
}

const listKeys = (keys: ApiKeys) =>
  operation({
    ...common,
    id: 'listApiKeys',
    method: 'GET',
    path: KEYS,
    summary: 'List API keys',
    description: 'Newest first, revoked ones too; never the keys themselves.',
    query: Type.Object(pageQuery(100, 20)),
    success: { status: 200, description: 'A page of keys', schema: pageOf(ApiKey) },
    async handler({ principal, query }) {
      const { limit, cursor } = query()
      const rows = await keys.pageOfApiKeys(principal.organizationId, { after: order.decode(cursor), limit })
      return ok(toPage(rows, limit, (row) => order.encode([row.createdMicroseconds, row.id]), keyResource))
    },
  })

const createKey = (keys: ApiKeys) =>
  operation({
    ...common,
    id: 'createApiKey',
    method: 'POST',
    path: KEYS,
    summary: 'Create an API key',
    description:
      'The key may do everything in the organization. It is shown in this answer only. To rotate: create a key, move the programs ' +
      'over, revoke the old key with the new one.',
    body: CreateApiKey,
    example: { name: 'Help desk import' },
    success: { status: 201, description: 'The key', schema: NewApiKey },
    async handler(call) {
      const { name } = await call.body()
      const also = recorded(call, 'api_key.created', (key: ApiKeyRow) => key.id)
      const { apiKey, ...row } = await keys.createApiKey(call.principal.organizationId, name, also)
      return created(`${KEYS}/${row.id}`, { ...keyResource(row), apiKey })
    },
  })

const getKey = (keys: ApiKeys) =>
  operation({
    ...common,
    id: 'getApiKey',
    method: 'GET',
    path: KEY,
    params,
    summary: 'Read an API key',
    description: 'What is known about the key; never the key itself.',
    query: Type.Object({}),
    success: { status: 200, description: 'The key', schema: ApiKey },
    errors: [NOT_FOUND],
    async handler({ principal, id, query }) {
      const row = await keys.findApiKey(principal.organizationId, id('apiKeyId', NOT_FOUND))
      query()
      return ok(keyResource(row))
    },
  })

const renameKey = (keys: ApiKeys) =>
  operation({
    ...common,
    id: 'renameApiKey',
    method: 'PATCH',
    path: KEY,
    params,
    summary: 'Rename an API key',
    description: 'Names need not be unique.',
    body: UpdateApiKey,
    example: { name: 'Help desk import, Europe' },
    success: { status: 200, description: 'The key', schema: ApiKey },
    errors: [NOT_FOUND],
    async handler(call) {
      const { organizationId } = call.principal
      const { id } = await keys.findApiKey(organizationId, call.id('apiKeyId', NOT_FOUND))
      const { name } = await call.body()
      const also = recorded(call, 'api_key.updated', (key: ApiKeyRow) => key.id)
      return ok(keyResource(await keys.renameApiKey(organizationId, id, name, also)))
    },
  })

const revokeKey = (keys: ApiKeys) =>
  operation({
    ...common,
    id: 'revokeApiKey',
    method: 'DELETE',
    path: KEY,
    params,
    summary: 'Revoke an API key',
    description:
      'The key is refused at once; other processes follow within 5 seconds. It stays listed. Repeating the request changes nothing. ' +
      'A key cannot revoke itself: 409 `own_api_key`. So an organization never loses its last way in by mistake.',
    success: { status: 204, description: 'The key is revoked' },
    errors: [NOT_FOUND, 'own_api_key'],
    async handler(call) {
      const { principal } = call
      const id = call.id('apiKeyId', NOT_FOUND)
      if (principal.kind === 'organization' && principal.apiKeyId === id)
        throw new AppError('own_api_key', 'A key cannot revoke itself. Use another key, or an administrator.')
      await keys.revokeApiKey(
        principal.organizationId,
        id,
        recorded(call, 'api_key.deleted', () => id),
      )
      return noContent()
    },
  })

function keyResource({ id, name, prefix, createdAt, lastUsedAt, revokedAt }: ApiKeyRow) {
  return { id, name, prefix, createdAt, lastUsedAt, revokedAt }
}
