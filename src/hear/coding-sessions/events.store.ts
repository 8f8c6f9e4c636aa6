/** The SQL of events. They are written under the lock of their session's row, in batches of many rows a statement. */
import type { Slice } from '../../platform/db/keyset.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import type { CodingEvent, EventBody, EventKind, Role } from './event.rules.ts'
import type { Ancestry } from './threads.rules.ts'

export interface SessionRef {
  readonly organizationId: string
  readonly sessionId: string
}

/** What a batch changes in the counts of its session. */
export interface Growth {
  /** Events that the session did not have. */
  readonly added: number
  /** Those of them that no other session has. */
  readonly fresh: number
  readonly messages: number
  readonly toolCalls: number
  readonly fileEdits: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
  readonly firstAt: Date | null
  readonly lastAt: Date | null
}

/**
 * Waits, no longer than a statement may take, until no other transaction stores new events of the owner, if this session lacks some
 * of the events. A statement does not see what others have not committed, so a parent and its fork would both count the same tokens.
 * Who waits here has locked the row of its session, which no holder of this lock needs.
 */
async function lockOwnersEvents(
  tx: Tx,
  { organizationId, sessionId }: SessionRef,
  userId: string | null,
  ids: readonly string[],
): Promise<void> {
  await tx`
    select pg_advisory_xact_lock(hashtextextended(${`coding events of ${userId ?? organizationId}`}, 0))
    where exists (
      select 1
      from unnest(${ids as string[]}::uuid[]) as n (id)
      where not exists (
        select 1
        from coding_session_event e
        where e.organization_id = ${organizationId} and e.session_id = ${sessionId} and e.event_id = n.id
      )
    )`
}

export interface Receipt {
  /** The owner of the session. */
  readonly userId: string | null
  /** When the events were received; null: now. */
  readonly receivedAt: Date | null
  /** The threads that the session continues. null: any session may have the events. */
  readonly ancestry: Ancestry | null
}

/**
 * Stores a batch, in which no id occurs twice. A known event is replaced by a later revision of it and otherwise left alone. Under the
 * id of a known event of another origin, as a relay or a sub-agent may give it, the event is stored with an id of its own. An event that an
 * earlier version has stored keeps the id of that version.
 * An event that another session of the owner has becomes inherited: that session counts its tokens.
 */
export async function storeEvents(
  tx: Tx,
  { organizationId, sessionId }: SessionRef,
  { userId, receivedAt, ancestry }: Receipt,
  events: readonly CodingEvent[],
): Promise<Growth> {
  await lockOwnersEvents(
    tx,
    { organizationId, sessionId },
    userId,
    events.map(({ id }) => id),
  )
  const rows = events.map(({ usage, ...event }) => ({ ...event, ...usage }))
  const [growth] = await tx<Growth[]>`
    with named as materialized (
      select *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as n (
        id uuid, "formerId" uuid, origin uuid, position bigint, revision int, kind text, role text, "occurredAt" timestamptz, model text,
        sidechain boolean, inherited boolean, body jsonb, "toolCalls" int, "fileEdits" int, "inputTokens" bigint,
        "outputTokens" bigint, "cacheReadTokens" bigint, "cacheWriteTokens" bigint, "reasoningTokens" bigint
      )
    ),
    incoming as materialized (
      select
        case
          when former.event_id is not null then former.event_id
          when e.origin <> n.origin then md5(concat(n.id, ' ', n.origin))::uuid
          else n.id
        end as id,
        n."formerId", n.origin, n.position, n.revision, n.kind, n.role, n."occurredAt", n.model, n.sidechain, n.inherited, n.body,
        n."toolCalls", n."fileEdits", n."inputTokens", n."outputTokens", n."cacheReadTokens", n."cacheWriteTokens",
        n."reasoningTokens"
      from named n
      left join coding_session_event e
        on e.organization_id = ${organizationId} and e.session_id = ${sessionId} and e.event_id = n.id
      left join coding_session_event former
        on former.organization_id = ${organizationId} and former.session_id = ${sessionId} and former.event_id = n."formerId"
    ),
    known as materialized (
      select e.*
      from incoming n
      join coding_session_event e on e.session_id = ${sessionId} and e.event_id = n.id
      where e.organization_id = ${organizationId}
    ),
    stored as (
      insert into coding_session_event as e (
        organization_id, session_id, event_id, position, revision, kind, role, occurred_at, model, sidechain, inherited,
        body, tool_calls, file_edits, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
        reasoning_tokens, stored_at, origin
      )
      select
        ${organizationId}, ${sessionId}, n.id, n.position, n.revision, n.kind, n.role, n."occurredAt", n.model,
        n.sidechain,
        n.inherited or exists (
          select 1
          from coding_session_event other
          join coding_session s on s.id = other.session_id
          where other.organization_id = ${organizationId}
            and other.event_id in (n.id, n."formerId")
            and other.session_id <> ${sessionId}
            and not other.inherited
            and (other.origin is null or n.origin is null or other.origin = n.origin)
            and s.organization_id = other.organization_id
            and s.user_id is not distinct from ${userId}::uuid
            ${
              ancestry === null
                ? tx``
                : tx`
                    and s.external_session_id = any(${ancestry.threadIds as string[]}::text[])
                    and (other.occurred_at <= ${ancestry.forkedAt}::timestamptz) is not false`
            }
        ),
        n.body, n."toolCalls", n."fileEdits", n."inputTokens", n."outputTokens", n."cacheReadTokens",
        n."cacheWriteTokens", n."reasoningTokens", coalesce(${receivedAt}::timestamptz, now()), n.origin
      from incoming n
      on conflict (session_id, event_id) do update
      set
        revision = excluded.revision, kind = excluded.kind, role = excluded.role, occurred_at = excluded.occurred_at, model = excluded.model,
        body = excluded.body, tool_calls = excluded.tool_calls, file_edits = excluded.file_edits,
        input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
        cache_read_tokens = excluded.cache_read_tokens, cache_write_tokens = excluded.cache_write_tokens,
        reasoning_tokens = excluded.reasoning_tokens, stored_at = excluded.stored_at
      where e.revision < excluded.revision
      returning e.*
    ),
    changes as (
      select 1 as sign, * from stored
      union all
      select -1 as sign, k.* from known k join stored s on s.event_id = k.event_id
    )
    select
      coalesce(sum(sign), 0)::int as added,
      coalesce(sum(sign) filter (where not inherited), 0)::int as fresh,
      coalesce(sum(sign) filter (where kind = 'message'), 0)::int as messages,
      coalesce(sum(sign * tool_calls), 0)::int as "toolCalls",
      coalesce(sum(sign * file_edits), 0)::int as "fileEdits",
      coalesce(sum(sign * input_tokens) filter (where not inherited), 0)::bigint as "inputTokens",
      coalesce(sum(sign * output_tokens) filter (where not inherited), 0)::bigint as "outputTokens",
      coalesce(sum(sign * cache_read_tokens) filter (where not inherited), 0)::bigint as "cacheReadTokens",
      coalesce(sum(sign * cache_write_tokens) filter (where not inherited), 0)::bigint as "cacheWriteTokens",
      coalesce(sum(sign * reasoning_tokens) filter (where not inherited), 0)::bigint as "reasoningTokens",
      min(occurred_at) as "firstAt",
      max(occurred_at) as "lastAt"
    from changes`
  return growth as Growth
}

/** Marks the events from one on, and before a position, as undone. Without that event: all before the position. */
export async function undoEvents(
  tx: Tx,
  { organizationId, sessionId }: SessionRef,
  fromId: string,
  before: number,
): Promise<void> {
  await tx`
    update coding_session_event
    set undone = true
    where organization_id = ${organizationId}
      and session_id = ${sessionId}
      and position < ${before}
      and position >= coalesce(
        (
          select position
          from coding_session_event
          where organization_id = ${organizationId} and session_id = ${sessionId} and event_id = ${fromId}
        ),
        0
      )
      and not undone`
}

export interface EventRow {
  readonly id: string
  readonly position: number
  readonly kind: EventKind
  readonly role: Role
  readonly occurredAt: Date | null
  readonly model: string | null
  readonly sidechain: boolean
  readonly inherited: boolean
  readonly undone: boolean
  readonly body: EventBody
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
}

/** In the order of the session. The caller has checked that the viewer may see the session. */
export function listEvents(
  query: Query,
  { organizationId, sessionId }: SessionRef,
  { after, limit }: Slice<readonly [position: number, id: string]>,
) {
  return query<EventRow[]>`
    select
      e.event_id as id, e.position, e.kind, e.role, e.occurred_at as "occurredAt", e.model, e.sidechain, e.inherited,
      e.undone, e.body, e.input_tokens as "inputTokens", e.output_tokens as "outputTokens",
      e.cache_read_tokens as "cacheReadTokens", e.cache_write_tokens as "cacheWriteTokens",
      e.reasoning_tokens as "reasoningTokens"
    from coding_session_event e
    where e.organization_id = ${organizationId}
      and e.session_id = ${sessionId}
      ${after === null ? query`` : query`and (e.position, e.event_id) > (${after[0]}::bigint, ${after[1]}::uuid)`}
    order by e.position, e.event_id
    limit ${limit + 1}`
}

/** Deletes some events of a session that is deleted. @returns how many */
export async function deleteEvents(
  tx: Tx,
  { organizationId, sessionId }: SessionRef,
  limit: number,
): Promise<number> {
  const deleted = await tx`
    delete from coding_session_event
    where organization_id = ${organizationId}
      and session_id = ${sessionId}
      and event_id in (
        select event_id
        from coding_session_event
        where organization_id = ${organizationId} and session_id = ${sessionId}
        limit ${limit}
      )`
  return deleted.count
}
