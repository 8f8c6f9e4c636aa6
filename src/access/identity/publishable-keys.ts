/**
 * Use cases of publishable keys: they stand in web pages, so everybody can read them. A key can only send feedback and forms, for one
 * application, from pages of listed origins. No operation of the REST API accepts one.
 */
import { type Alongside, together } from '../../platform/db/alongside.ts'
import type { Query, Sql } from '../../platform/db/pool.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { AppError } from '../../platform/errors.ts'
import { isUuid, type NewId } from '../../platform/ids.ts'
import { nameOf } from '../../platform/validation/names.ts'
import { createKey } from './keys.ts'
import { lockOrganization } from './organizations.ts'
import * as store from './publishable-keys.store.ts'

export type { PublishableKey } from './publishable-keys.store.ts'

/** A forgotten key stays in old pages. More keys than this are usually forgotten ones. */
export const MAX_PUBLISHABLE_KEYS = 10

interface NewPublishableKey {
  readonly name: string
  /** Checked by the caller: scheme, host and port. */
  readonly origins: readonly string[]
}

export interface PublishableKeys {
  /** @throws AppError 400; 404 `agent_application_not_found`; 409 `too_many_publishable_keys` */
  createPublishableKey(
    organizationId: string,
    applicationId: string,
    input: NewPublishableKey,
    also?: Alongside<store.PublishableKey>,
  ): Promise<store.PublishableKey>
  /** Oldest first, revoked ones too. */
  listPublishableKeys(
    organizationId: string,
    applicationId: string,
    query?: Query,
  ): Promise<readonly store.PublishableKey[]>
  /** Every process refuses the key from now on. Repeating it changes nothing. @throws AppError 404 `publishable_key_not_found` */
  revokePublishableKey(
    organizationId: string,
    applicationId: string,
    id: string,
    also?: Alongside<boolean>,
  ): Promise<void>
}

interface PublishableKeysDeps {
  readonly sql: Sql
  readonly newId: NewId
}

/** `forget` drops a key from the caches of this process. */
export function createPublishableKeys(
  { sql, newId }: PublishableKeysDeps,
  forget: (id: string) => void,
): PublishableKeys {
  return {
    createPublishableKey: (organizationId, applicationId, { name, origins }, also) =>
      transaction(sql, async (tx) => {
        await lockOrganization(tx, organizationId)
        const present = await store.selectPublishableKeys(tx, organizationId, applicationId)
        if (present.filter(({ revokedAt }) => revokedAt === null).length >= MAX_PUBLISHABLE_KEYS)
          throw new AppError(
            'too_many_publishable_keys',
            `The application has ${MAX_PUBLISHABLE_KEYS} publishable keys. Delete one that is no longer used first.`,
          )
        const key = createKey('epk').secret
        const row = { id: newId(), organizationId, applicationId, name: nameOf('name', name), key, origins }
        const created = await store.insertPublishableKey(tx, row)
        if (created === null)
          throw new AppError('agent_application_not_found', 'There is no such agent application.')
        await also?.(tx, created)
        return created
      }),
    listPublishableKeys: async (organizationId, applicationId, query = sql) =>
      store.selectPublishableKeys(query, organizationId, applicationId),
    async revokePublishableKey(organizationId, applicationId, id, also) {
      await together(
        sql,
        also,
        async (query) =>
          (isUuid(id) && (await store.revokePublishableKey(query, organizationId, applicationId, id))) ||
          noKey(),
      )
      forget(id.toLowerCase())
    },
  }
}

function noKey(): never {
  throw new AppError('publishable_key_not_found', 'The application has no such publishable key.')
}
