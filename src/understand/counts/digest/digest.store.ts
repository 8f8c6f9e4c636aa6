/** SQL of the quotations in a summary, with the conditions of access of each row. */

import type { Channel } from '../../../kernel/channel.ts'
import type { Tx } from '../../../platform/db/pool.ts'
import type { Days } from '../counts.rules.ts'
import type { Fragment } from '../period.store.ts'
import { EXAMINED } from './model.ts'

const MAX_QUOTE = 300

export interface QuotationRow {
  readonly topic: string
  readonly signalId: string
  readonly channel: Channel
  /** Of the session, the feedback record or the recording. */
  readonly id: string
  readonly feedbackSourceId: number | null
  readonly quote: string
  readonly occurredAt: Date
  readonly startSec: number | null
}

export interface QuotationAccess {
  readonly organizationId: string
  readonly applications: Fragment
  /** A condition on the recording `r` that names the organization. */
  readonly visibleRecording: Fragment
}

/** Up to `limit` newest quotations of each kind or area in `topics`, one of a conversation, record or recording. */
export function quotations(
  tx: Tx,
  { organizationId, applications, visibleRecording }: QuotationAccess,
  column: 'kind' | 'product_area',
  topics: readonly string[],
  days: Days,
  limit: number,
) {
  const subject = tx`coalesce(x.session_id::text, x.feedback_record_id::text, x.recording_id::text)`
  return tx<QuotationRow[]>`
    select y.topic, y."signalId", y.channel, y.id, y."feedbackSourceId", y.quote, y."occurredAt", y."startSec"
    from (
      select
        x.topic, x.id as "signalId", x.channel, ${subject} as id, f.feedback_source_id as "feedbackSourceId",
        left(x.comment, ${MAX_QUOTE}) as quote, x.occurred_at as "occurredAt", x.start_sec as "startSec",
        row_number() over (partition by x.topic order by x.occurred_at desc, x.id desc) as place
      from (
        select
          g.id, g.channel, g.session_id, g.feedback_record_id, g.recording_id, g.comment, g.occurred_at, g.start_sec,
          g.${tx(column)} as topic,
          row_number() over (
            partition by g.${tx(column)}, g.session_id, g.feedback_record_id, g.recording_id order by g.occurred_at desc, g.id desc
          ) as of_subject
        from (
          select
            s.id, s.channel, s.session_id, s.feedback_record_id, s.recording_id, s.comment, s.occurred_at, s.start_sec, s.kind,
            s.product_area
          from agent_signal s
          where s.organization_id = ${organizationId}
            and s.shown
            and s.occurred_at >= ${days.from}::text::date::timestamp at time zone ${days.timeZone}::text
            and s.occurred_at < ${days.to}::text::date::timestamp at time zone ${days.timeZone}::text
            and (s.channel <> 'conversation' or s.application_id = any(array(${applications})))
          order by s.occurred_at desc, s.id desc
          limit ${EXAMINED}
        ) as g
        where g.${tx(column)} = any(${topics as string[]}::text[])
          and g.comment <> ''
          and (g.recording_id is null or exists (select from recording r where r.id = g.recording_id and ${visibleRecording}))
      ) as x
      left join feedback_record f on f.organization_id = ${organizationId} and f.id = x.feedback_record_id
      where x.of_subject = 1
    ) as y
    where y.place <= ${limit}
    order by y.topic, y.place`
}
