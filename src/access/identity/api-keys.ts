/** Use cases of the API keys of an organization. The clear text of a key leaves once, in the answer that creates it. */
import type { Alongside } from '../../platform/db/alongside.ts'
import { together } from '../../platform/db/alongside.ts'
import type { TimeSlice } from '../../platform/db/keyset.ts'
import type { Sql } from '../../platform/db/pool.ts'
import { AppError } from '../../platform/errors.ts'
import { isUuid, type NewId } from '../../platform/ids.ts'
import { nameOf } from '../../platform/validation/names.ts'
import * as store from './credentials.store.ts'
import { createKey } from './keys.ts'

type NewApiKey = store.ApiKey & { readonly apiKey: string }

export interface ApiKeys {
  createApiKey(organizationId: string, name: string, also?: Alongside<NewApiKey>): Promise<NewApiKey>
  /** Oldest first. */
  listApiKeys(organizationId: string): Promise<readonly store.ApiKey[]>
  /** Newest first, with one row more than the limit. */
  pageOfApiKeys(organizationId: string, slice: TimeSlice): Promise<readonly store.ApiKeyRow[]>
  /** @throws AppError 404 */
  findApiKey(organizationId: string, id: string): Promise<store.ApiKey>
  /** @throws AppError 400, 404 */
  renameApiKey(
    organizationId: string,
    id: string,
    name: string,
    also?: Alongside<store.ApiKey>,
  ): Promise<store.ApiKey>
  /** Every process refuses the key from now on. Repeating it changes nothing. @throws AppError 404 */
  revokeApiKey(organizationId: string, id: string, also?: Alongside<boolean>): Promise<void>
}

interface ApiKeysDeps {
  readonly sql: Sql
  readonly newId: NewId
}

/** `forget` drops a key from the caches of this process. */
export function createApiKeys({ sql, newId }: ApiKeysDeps, forget: (id: string) => void): ApiKeys {
  return {
    async createApiKey(organizationId, name, also) {
      const { secret, prefix, hash } = createKey('esk')
      const row = { id: newId(), organizationId, name: nameOf('name', name), prefix, hash }
      return together(sql, also, async (query) => ({
        ...(await store.insertApiKey(query, row)),
        apiKey: secret,
      }))
    },
    listApiKeys: (organizationId) => store.selectApiKeys(sql, organizationId),
    pageOfApiKeys: (organizationId, slice) => store.selectApiKeyPage(sql, organizationId, slice),
    async findApiKey(organizationId, id) {
      return (isUuid(id) ? await store.findApiKeyById(sql, organizationId, id) : null) ?? noKey()
    },
    async renameApiKey(organizationId, id, name, also) {
      const text = nameOf('name', name)
      return together(
        sql,
        also,
        async (query) => (await store.renameApiKey(query, organizationId, id, text)) ?? noKey(),
      )
    },
    async revokeApiKey(organizationId, id, also) {
      if (!isUuid(id)) noKey()
      await together(
        sql,
        also,
        async (query) => (await store.revokeApiKey(query, organizationId, id)) || noKey(),
      )
      forget(id.toLowerCase())
    },
  }
}

function noKey(): never {
  throw new AppError('api_key_not_found', 'The organization has no such API key.')
}
