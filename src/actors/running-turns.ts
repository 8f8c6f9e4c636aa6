/** The turns of an organization that run at a moment, for work that must not end before everything that began earlier. */
import type { Query } from '../platform/db/pool.ts'
import { type ActorKey, NO_ORGANIZATION } from './types.ts'

/** An actor in the hands of a worker, with its first message. */
export type RunningTurn = readonly [key: string, seq: number, epoch: number]

/** Also those of which the organization is unknown. `except`: the caller's own actor. */
export async function runningTurns(
  query: Query,
  organizationId: string,
  except: ActorKey | null,
): Promise<readonly RunningTurn[]> {
  const rows = await query<{ key: string; seq: number; epoch: number }[]>`
    select m.key, min(m.seq) as seq, b.epoch
    from actor_message m
    join actor_mailbox b on b.key = m.key
    where m.organization_id in (${organizationId}, ${NO_ORGANIZATION})
      and m.key is distinct from ${except}::text
      and b.owner is not null
    group by m.key, b.epoch`
  return rows.map(({ key, seq, epoch }) => [key, seq, epoch])
}

/** Those of the turns that still run: the worker has the actor, and the message is not handled. */
export async function stillRunning(
  query: Query,
  turns: readonly RunningTurn[],
): Promise<readonly RunningTurn[]> {
  if (turns.length === 0) return []
  const rows = await query<{ key: string; seq: number; epoch: number }[]>`
    select t.key, t.seq, t.epoch
    from unnest(
      ${turns.map(([key]) => key)}::text[],
      ${turns.map(([, seq]) => seq)}::bigint[],
      ${turns.map(([, , epoch]) => epoch)}::bigint[]
    ) as t (key, seq, epoch)
    join actor_mailbox b on b.key = t.key and b.epoch = t.epoch and b.owner is not null
    join actor_message m on m.key = t.key and m.seq = t.seq`
  return rows.map(({ key, seq, epoch }) => [key, seq, epoch])
}
