/** Storage of the library over PostgreSQL. */
import type { Adapter, AdapterPayload } from 'oidc-provider'
import type { OAuthRecord, OAuthRecords } from '../../identity/oauth-records.ts'

/** A registered client that no user allowed yet. Records of other kinds have a lifetime of their own. */
const NEW_CLIENT_SECONDS = 86_400

/** `alreadyUsed` makes the error for a code that another request uses at the same time. */
export function createAdapter(records: OAuthRecords, kind: string, alreadyUsed: () => Error): Adapter {
  const restore = (record: OAuthRecord | null, id: string | null): AdapterPayload | undefined => {
    if (record === null) return undefined
    const consumed = record.consumedAt === null ? {} : { consumed: record.consumedAt.getTime() / 1000 }
    return { ...record.payload, ...(id === null || kind === 'Client' ? {} : { jti: id }), ...consumed }
  }
  return {
    upsert: (id, payload, lifetimeSeconds) =>
      records.upsert(kind, id, payload, lifetimeSeconds ?? NEW_CLIENT_SECONDS),
    find: async (id) => restore(await records.find(kind, id), id),
    findByUid: async (uid) => restore(await records.findByUid(kind, uid), null),
    findByUserCode: async () => undefined,
    async consume(id) {
      if (await records.consume(kind, id)) return
      throw alreadyUsed()
    },
    destroy: (id) => records.delete(kind, id),
    revokeByGrantId: (grantId) => records.deleteOfGrant(kind, grantId),
  }
}
