/** Storage of the library over PostgreSQL. */
import type { Adapter, AdapterPayload } from 'oidc-provider'
import type { OAuthRecord, OAuthRecords } from '../../identity/oauth-records.ts'

/** A registered client that no user allowed yet. Records of other kinds have a lifetime of their own. */
const NEW_CLIENT_SECONDS = 86_400

/** Clients that register in an hour, all together. */
const MAX_NEW_CLIENTS = 1_000

/** Makes errors of the library. */
export interface Refusals {
  /** For a code that another request uses at the same time. */
  alreadyUsed(): Error
  /** For a client beyond `MAX_NEW_CLIENTS`. */
  tooManyClients(): Error
}

export function createAdapter(records: OAuthRecords, kind: string, refusals: Refusals): Adapter {
  const restore = (record: OAuthRecord | null, id: string | null): AdapterPayload | undefined => {
    if (record === null) return undefined
    const consumed = record.consumedAt === null ? {} : { consumed: record.consumedAt.getTime() / 1000 }
    return { ...record.payload, ...(id === null || kind === 'Client' ? {} : { jti: id }), ...consumed }
  }
  return {
    async upsert(id, payload, lifetimeSeconds = NEW_CLIENT_SECONDS) {
      if (kind !== 'Client') await records.upsert(kind, id, payload, lifetimeSeconds)
      else if (!(await records.addClient(id, payload, lifetimeSeconds, MAX_NEW_CLIENTS)))
        throw refusals.tooManyClients()
    },
    find: async (id) => restore(await records.find(kind, id), id),
    findByUid: async (uid) => restore(await records.findByUid(kind, uid), null),
    findByUserCode: async () => undefined,
    async consume(id) {
      if (await records.consume(kind, id)) return
      throw refusals.alreadyUsed()
    },
    destroy: (id) => records.delete(kind, id),
    revokeByGrantId: (grantId) => records.deleteOfGrant(kind, grantId),
  }
}
