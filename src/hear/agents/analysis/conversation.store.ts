/** The SQL that reads what was said in sessions, for their analysis. It reads a bounded part of each session. */
import type { Query } from '../../../platform/db/pool.ts'

/** Messages at the beginning and at the end of a session that are read. */
const FIRST = 40
const LAST = 160
/** Newest events of any type among which the last messages are looked for. */
const LAST_EVENTS = 2_000
/** UTF-16 code units of a text message, and bytes of a structured one, that are read. Structured content beyond it is left out. */
const MAX_TEXT = 4_000
const MAX_STRUCTURE = 32_768

/** A final message of a session. */
export interface SpokenRow {
  readonly sessionId: string
  readonly externalEventId: string
  readonly sequence: number
  /** True if the agent said it. */
  readonly own: boolean
  /** As it was sent: a text or message parts. Null where it was not kept. */
  readonly content: unknown
  readonly participantExternalId: string | null
  /** Shows later whether the message is still the same. A revision and an erasure change it. */
  readonly bodyHash: string
}

/** The first and the newest messages of each session up to its watermark, in order of sequence. */
export async function readConversations(
  tx: Query,
  sessionIds: readonly string[],
): Promise<ReadonlyMap<string, readonly SpokenRow[]>> {
  if (sessionIds.length === 0) return new Map()
  const rows = await tx<SpokenRow[]>`
    select
      m.session_id as "sessionId", m.external_event_id as "externalEventId", m.sequence,
      m.type = 'assistant_message' as own, m.body ->> 'participantExternalId' as "participantExternalId",
      md5(m.body::text) as "bodyHash",
      case
        when jsonb_typeof(m.body -> 'content') = 'string' then to_jsonb(left(m.body ->> 'content', ${MAX_TEXT}))
        when octet_length((m.body -> 'content')::text) <= ${MAX_STRUCTURE} then m.body -> 'content'
      end as content
    from agent_session s
    cross join lateral (
      (
        select f.session_id, f.external_event_id, f.sequence, f.type, f.body
        from (
          select e.*
          from agent_event e
          where e.organization_id = s.organization_id and e.session_id = s.id and e.sequence <= s.watermark
          order by e.sequence
          limit ${LAST_EVENTS}
        ) f
        where f.final and f.type in ('user_message', 'assistant_message')
        order by f.sequence
        limit ${FIRST}
      )
      union
      (
        select l.session_id, l.external_event_id, l.sequence, l.type, l.body
        from (
          select e.*
          from agent_event e
          where e.organization_id = s.organization_id and e.session_id = s.id and e.sequence <= s.watermark
          order by e.sequence desc
          limit ${LAST_EVENTS}
        ) l
        where l.final and l.type in ('user_message', 'assistant_message')
        order by l.sequence desc
        limit ${LAST}
      )
    ) m
    where s.id = any(${sessionIds as string[]}::uuid[])
    order by m.session_id, m.sequence`
  return Map.groupBy(rows, (row) => row.sessionId)
}
