/**
 * The statements that make a worker the owner of actors, each with the reason for its form. README.md describes the whole protocol,
 * statements.ts has the rest of it.
 */
import type { Query } from '../platform/db/pool.ts'
import type { ActorKey } from './types.ts'

/**
 * An actor that this worker has claimed. A worker that raises the epoch takes it over. The epoch counts only together with the
 * owner: claims do not wait for the disk, so after a crash of the server another worker may get the same epoch.
 */
export interface Held {
  readonly key: ActorKey
  readonly epoch: number
}

/** `last_error` of a message with a counted death: it ended its worker, or was in hand when two workers in succession ended. */
export const WORKER_ENDED = 'the worker ended during the turn'

/** `last_error` of a message that was in hand when a worker ended for the first time. Nothing is counted yet. */
export const WORKER_ENDED_ONCE = 'a worker ended while this message was in hand'

/** The longest pause after a counted death. The pause is one second after the first death and doubles after each. */
export const MAX_DEATH_PAUSE_S = 300

/**
 * Claims the actors that have no owner, or that this worker owns already. A key that is missing in the answer is not ours.
 *
 * It skips locked rows instead of waiting: the holder of the lock is the owner, or a sender that sends a wake-up after COMMIT.
 * `no key update` is the weakest lock that keeps claims apart; it lets foreign-key checks pass.
 *
 * From here on, the messages up to `begun_seq` count as begun: a sender leaves out no message beside them.
 */
export async function claim(sql: Query, worker: string, keys: readonly ActorKey[]): Promise<readonly Held[]> {
  return sql<Held[]>`with ${claiming(sql, worker, keys)} select key, epoch from taken`
}

/** The claim as tables of a `with`: the claimed actors are in `taken (key, epoch, organization_id, begun_seq)`. */
export function claiming(sql: Query, worker: string, keys: readonly ActorKey[]) {
  return sql`
    free as (
      select key from actor_mailbox
      where key = any(${keys as ActorKey[]}::text[])
        and (owner is null or owner = ${worker})
      order by key
      for no key update skip locked
    ), taken as (
      update actor_mailbox a set owner = ${worker}, epoch = a.epoch + 1, begun_seq = a.last_seq
      from free
      where a.key = free.key
      returning a.key, a.epoch, a.organization_id, a.begun_seq
    )`
}

/**
 * Takes an actor from a worker that has ended or whose lease has run out. Null if the owner lives or another worker was faster.
 *
 * A message that kills its process must be counted, although the process cannot report it. But many messages are in hand when a
 * process is killed, and all but one are innocent. So the first time is only noted. If a noted message is in hand again when the next
 * worker ends, and it neither finished nor failed in between, an attempt and a death are counted. The message then waits for a random
 * time, so that messages that were in hand together by accident are separated. Nothing is noted if the cause of the worker's end is
 * known.
 */
export async function takeOver(
  sql: Query,
  worker: string,
  key: ActorKey,
  leaseMs: number,
): Promise<Held | null> {
  const [held] = await sql<Held[]>`
    with dead as (
      select a.key, exists (select from worker w where w.id = a.owner and w.is_accounted_for) as is_accounted_for
      from actor_mailbox a
      where a.key = ${key}
        and a.owner <> ${worker}
        and not exists (
          select 1 from worker w
          where w.id = a.owner
            and not w.is_accounted_for
            and w.heartbeat_at > now() - ${leaseMs}::int * interval '1 millisecond'
        )
      for no key update of a skip locked
    ), taken as (
      update actor_mailbox a set owner = ${worker}, epoch = a.epoch + 1, begun_seq = a.last_seq
      from dead
      where a.key = dead.key
      returning a.key, a.epoch, dead.is_accounted_for
    ), counted as (
      update actor_message m
      set attempts = m.attempts + noted.times,
        deaths = m.deaths + noted.times,
        last_error = case noted.times when 1 then ${WORKER_ENDED} else ${WORKER_ENDED_ONCE} end,
        available_at = case noted.times
          when 1 then now() + random() * least(${MAX_DEATH_PAUSE_S}, 2 ^ least(m.deaths, 30)) * interval '1 second'
          else m.available_at
        end
      from taken
      cross join lateral (
        select case when head.last_error in (${WORKER_ENDED}, ${WORKER_ENDED_ONCE}) then 1 else 0 end as times
        from actor_message head
        where head.key = taken.key
        order by head.seq
        limit 1
      ) noted
      where m.key = taken.key
        and not taken.is_accounted_for
        and m.seq = (select min(seq) from actor_message where key = ${key})
        and m.available_at <= now()
    )
    select key, epoch from taken`
  return held ?? null
}

/** For the parameter of a statement, in the order of `epochsOf`. */
export function keysOf(held: readonly Held[]): ActorKey[] {
  return held.map((one) => one.key)
}

/** For the parameter of a statement, in the order of `keysOf`. */
export function epochsOf(held: readonly Held[]): number[] {
  return held.map((one) => one.epoch)
}
