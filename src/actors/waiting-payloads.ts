/** Changes payloads of messages that wait or were given up, for the erasure of a person. */
import type { Json, Tx } from '../platform/db/pool.ts'

interface Waiting {
  readonly key: string
  readonly seq: number
  readonly payload: Json
}

/**
 * Changes payloads of the messages to actors of a kind. Messages in the hands of a worker that is ending its turn are left out.
 * @param change returns the same payload if nothing changes
 * @returns how many were changed
 */
export async function changePayloads(
  tx: Tx,
  organizationId: string,
  kind: string,
  change: (payload: Json) => Json,
): Promise<number> {
  let count = 0
  for (const table of ['actor_message', 'actor_dead_letter']) {
    const rows = await tx<Waiting[]>`
      select key, seq, payload
      from ${tx(table)}
      where organization_id = ${organizationId}
        and (split_part(key, ':', 1) collate "C") = ${kind}
      order by key, seq
      for update skip locked`
    const changed = rows.flatMap(({ key, seq, payload }) => {
      const next = change(payload)
      return next === payload ? [] : [{ key, seq, payload: next }]
    })
    count += changed.length
    if (changed.length === 0) continue
    await tx`
      update ${tx(table)} m
      set payload = c.payload
      from json_to_recordset(${JSON.stringify(changed)}::text::json) as c (key text, seq bigint, payload jsonb)
      where m.organization_id = ${organizationId} and m.key = c.key and m.seq = c.seq`
  }
  return count
}
