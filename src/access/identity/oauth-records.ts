/** What the OAuth authorization server stores, as its library needs it. */
import type { Json, Sql } from '../../platform/db/pool.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { isUuid } from '../../platform/ids.ts'
import { hashKey } from './keys.ts'
import * as store from './oauth-records.store.ts'

export type { OAuthRecord } from './oauth-records.store.ts'

/** Records of one kind. `id` may be a secret. */
export interface OAuthRecords {
  upsert(
    kind: string,
    id: string,
    payload: Readonly<Record<string, unknown>>,
    lifetimeSeconds: number,
  ): Promise<void>
  find(kind: string, id: string): Promise<store.OAuthRecord | null>
  findByUid(kind: string, uid: string): Promise<store.OAuthRecord | null>
  /** @returns false if it was used before */
  consume(kind: string, id: string): Promise<boolean>
  /** Every process refuses a deleted token from now on. */
  delete(kind: string, id: string): Promise<void>
  deleteOfGrant(kind: string, grantId: string): Promise<void>
  /** Keeps a registered client, because a user allowed it. */
  keepClient(clientId: string): Promise<void>
  /** Adds a client that registers. @returns false if `most` have registered in the last hour */
  addClient(
    id: string,
    payload: Readonly<Record<string, unknown>>,
    lifetimeSeconds: number,
    most: number,
  ): Promise<boolean>
  /** Whether the user has allowed the client, in the last 180 days. */
  hasAllowed(userId: string, clientId: string): Promise<boolean>
  /** Whether the user may still act through the grant; without one: whether there is such a user. */
  isUserOfGrant(userId: string, grantId: string | null): Promise<boolean>
}

const KEPT_CLIENT_SECONDS = 400 * 86_400

function rowOf(
  kind: string,
  id: string,
  { jti: _, ...payload }: Readonly<Record<string, unknown>>,
  lifetimeSeconds: number,
): store.NewOAuthRecord {
  const { grantId, accountId, uid } = payload as Readonly<Record<string, string | undefined>>
  return {
    kind,
    hash: hashKey(id),
    grantId: kind === 'Grant' ? id : (grantId ?? null),
    userId: accountId !== undefined && isUuid(accountId) ? accountId : null,
    uid: uid ?? null,
    payload: payload as Json,
    lifetimeSeconds,
  }
}

/** `forget` drops a user from the caches of this process. */
export function createOAuthRecords(sql: Sql, forget: (id: string) => void): OAuthRecords {
  return {
    upsert: (kind, id, payload, lifetimeSeconds) =>
      store.upsertRecord(sql, rowOf(kind, id, payload, lifetimeSeconds)),
    find: (kind, id) => store.selectRecord(sql, kind, hashKey(id)),
    findByUid: (kind, uid) => store.selectRecordByUid(sql, kind, uid),
    consume: (kind, id) => store.consumeRecord(sql, kind, hashKey(id)),
    async delete(kind, id) {
      const found = kind === 'AccessToken' ? await store.selectRecord(sql, kind, hashKey(id)) : null
      await store.deleteRecord(sql, kind, hashKey(id))
      if (found !== null) forget(String(found.payload.accountId))
    },
    async deleteOfGrant(kind, grantId) {
      const userId = await store.deleteRecordsOfGrant(sql, kind, grantId)
      if (userId !== null) forget(userId)
    },
    keepClient: (clientId) => store.extendClient(sql, hashKey(clientId), KEPT_CLIENT_SECONDS),
    addClient: (id, payload, lifetimeSeconds, most) =>
      transaction(sql, async (tx) => {
        await store.lockNewClients(tx)
        if ((await store.countNewClients(tx)) >= most) return false
        await store.upsertRecord(tx, rowOf('Client', id, payload, lifetimeSeconds))
        return true
      }),
    hasAllowed: (userId, clientId) => store.hasGrant(sql, userId, clientId),
    isUserOfGrant: async (userId, grantId) => isUuid(userId) && store.isUserOfGrant(sql, userId, grantId),
  }
}
