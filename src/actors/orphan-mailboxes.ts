/** Deletes mailboxes of objects that are gone, which earlier versions left. */
import type { DataChange } from '../platform/db/data-change.ts'
import type { Tx } from '../platform/db/pool.ts'
import { isUuid } from '../platform/ids.ts'
import { deleteActors } from './mailbox.ts'

/** Actors whose ids are those of objects. */
export interface ObjectActors {
  readonly kind: string
  /** Those of the objects that exist, of any organization. */
  known(tx: Tx, ids: readonly string[]): Promise<ReadonlySet<string>>
}

export const orphanMailboxes = (kinds: readonly ObjectActors[]): DataChange => ({
  name: 'orphan_mailboxes',
  table: 'actor_mailbox',
  key: 'key',
  rowsPerStep: 1_000,
  async change(tx, keys) {
    for (const { kind, known } of kinds) {
      const prefix = `${kind}:`
      const ids = keys.filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length))
      const uuids = ids.filter(isUuid)
      if (uuids.length === 0) continue
      // An object is committed before its mailbox or with it, so one that is missing is gone.
      const present = await known(tx, uuids)
      await deleteActors(
        tx,
        uuids.filter((id) => !present.has(id)).map((id) => `${kind}:${id}` as const),
      )
    }
  },
})
