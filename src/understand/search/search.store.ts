/**
 * The SQL of a search. All its statements run in one transaction that only reads.
 *
 * One index of words is used, whose words begin with a mark of their organization. The organization is compared beside it in a form that no
 * index serves: the planner would otherwise combine two indexes, and read all rows of the organization.
 */
import type { PendingQuery, Row } from 'postgres'
import type { Channel } from '../../kernel/channel.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import type { Unit, Weighted } from './any.rules.ts'
import { relevance } from './any.store.ts'

export type Fragment = PendingQuery<Row[]>

/** Plans that start at the index of words and look up related rows one by one, whatever the statistics say. */
export async function prepareSearch(tx: Tx, timeoutMs: number): Promise<void> {
  await tx`
    select
      set_config('statement_timeout', ${String(timeoutMs)}, true), set_config('work_mem', '32MB', true),
      set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
      set_config('enable_mergejoin', 'off', true), set_config('max_parallel_workers_per_gather', '0', true),
      set_config('jit', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true)`
}

/** Each of the texts as a phrase, in each configuration of the organization. */
export function parseTexts(tx: Query, organizationId: string, texts: readonly string[]) {
  return tx<{ configuration: string; queries: string[] }[]>`
    select configuration, array(
      select phraseto_tsquery(configuration::regconfig, t.text)::text
      from unnest(${texts as string[]}::text[]) with ordinality as t (text, n)
      order by t.n
    ) as queries
    from search_configuration
    where organization_id = ${organizationId}
    order by configuration`
}

/** What a request asks for, of what the caller may see. */
export interface Filter {
  readonly organizationId: string
  readonly channel: Channel | undefined
  readonly since: string | undefined
  readonly until: string | undefined
  readonly personId: number | undefined
  /** Ids of the applications whose conversations the caller may see. */
  readonly applications: Fragment
  /** Only these conversations: no feedback and no recordings. */
  readonly isOfAgent: boolean
  /** A condition on a recording `r` that names the organization. */
  readonly visible: Fragment
}

export interface Wanted extends Filter {
  /** With marks. */
  readonly query: string
  /** With marks, by configuration; for searches that exclude words. Null: `query` is enough. */
  readonly exact: readonly Unit[] | null
  /** With marks: what a passage may have of a search for any of the words. Null: it has all of them. */
  readonly units: readonly Weighted[] | null
}

export interface Window {
  /** Matches of these weeks only, as the index has them. Null: of all. */
  readonly weeks: readonly string[] | null
  /** Matches that are examined, newest first. Null: all. */
  readonly examined: number | null
  /** Matches that are ranked. */
  readonly ranked: number
  /** Ages are counted to this time. */
  readonly now: string
  readonly after: readonly [score: string, id: number] | null
  readonly limit: number
}

export interface RankedRow {
  readonly examined: number
  /** Matches that the caller may see, one more than are ranked. */
  readonly matches: number
  readonly id: number | null
  /** Id of the conversation, record or recording. */
  readonly subject: string | null
  /** As text, with its full precision. */
  readonly score: string | null
}

const HALF_LIFE_DAYS = 90
const CUSTOMER_WEIGHT = 1.2

/**
 * The best passage of each conversation, record and recording among the newest matches, best first, one more than the limit. One row without
 * an id if there is none.
 *
 * The conditions of access to conversations apply to every match, before the limit. Those of recordings take several look-ups, so they
 * apply to the newest matches until enough are visible. If `examined` is too small for that, the caller asks for more.
 */
export function rankMatches(tx: Query, wanted: Wanted, window: Window) {
  const { organizationId, query } = wanted
  const units = wanted.units ?? []
  return tx<RankedRow[]>`
    with unit as materialized (
      select u.configuration, u.query::tsquery as query, u.weight
      from unnest(
        ${units.map(({ configuration }) => configuration)}::text[],
        ${units.map((unit) => unit.query)}::text[],
        ${units.map(({ weight }) => weight)}::float8[]
      ) as u (configuration, query, weight)
    ), newest as materialized (
      select p.ctid as place, p.id, p.session_id, p.feedback_record_id, p.recording_id, p.is_customer, p.occurred_at
      from search_passage p
      where p.document @@ ${query}::text::tsquery
        and (p.organization_id = ${organizationId}) is true
        ${exactly(tx, wanted)}
        ${window.weeks === null ? tx`` : inWeeks(tx, window.weeks)}
        ${askedFor(tx, wanted)}
      order by p.occurred_at desc, p.id desc
      limit ${window.examined}
    ), visible as materialized (
      -- In the order of the table above.
      select m.*
      from newest m
      where ${visible(tx, wanted)}
      limit ${window.ranked + 1}
    ), ranked as (
      select v.id, coalesce(v.session_id::text, v.recording_id::text, v.feedback_record_id::text) as subject,
        ${relevance(tx, query, wanted.units)}
          * case when v.is_customer then ${CUSTOMER_WEIGHT}::float8 else 1 end
          * power(0.5::float8, least(greatest(extract(epoch from ${window.now}::text::timestamptz - v.occurred_at)::float8 / 86400, 0), 3650) / ${HALF_LIFE_DAYS}::float8)
        as score
      from (select * from visible limit ${window.ranked}) v
      -- The rows are where the same statement has just found them.
      join search_passage p on p.ctid = v.place and p.id = v.id
    ), best as (
      select distinct on (subject) id, subject, score
      from ranked
      order by subject, score desc, id desc
    )
    select counted.examined, counted.matches, page.id, page.subject, page.score::text as score
    from (
      select (select count(*) from newest)::int as examined, (select count(*) from visible)::int as matches
    ) as counted
    left join lateral (
      select best.id, best.subject, best.score
      from best
      ${window.after === null ? tx`` : tx`where (best.score, best.id) < (${window.after[0]}::text::float8, ${window.after[1]}::bigint)`}
      order by best.score desc, best.id desc
      limit ${window.limit + 1}
    ) as page on true`
}

/** What the request asks for of a passage `p`, among the conversations that the caller may see. Begins with `and`. */
const askedFor = (tx: Query, wanted: Filter): Fragment => tx`
  and (${wanted.isOfAgent ? tx`` : tx`p.application_id is null or`} p.application_id = any(array(${wanted.applications})))
  ${onChannel(tx, wanted.channel)}
  ${wanted.since === undefined ? tx`` : tx`and p.occurred_at >= ${wanted.since}::text::timestamptz`}
  ${wanted.until === undefined ? tx`` : tx`and p.occurred_at < ${wanted.until}::text::timestamptz`}`

/** Whether the caller may see the recording of a passage `m`, and the person asked for has to do with it. */
const visible = (tx: Query, { organizationId, visible, personId }: Filter): Fragment => tx`
  (
    m.recording_id is null
    or exists (
      select 1
      from recording r
      where r.id = m.recording_id
        and ${visible}
    )
  )
  ${personId === undefined ? tx`` : ofPerson(tx, organizationId, personId)}`

/** Those of the passages that the request asks for and the caller may see. @param excluded with marks: what no passage may have */
export function visibleAmong(tx: Query, wanted: Filter, ids: readonly number[], excluded: readonly Unit[]) {
  const without = excluded.map(
    ({ configuration, query }) =>
      tx`and not (p.configuration = ${configuration} and p.document @@ ${query}::text::tsquery)`,
  )
  return tx<{ id: number; subject: string }[]>`
    select m.id, coalesce(m.session_id::text, m.recording_id::text, m.feedback_record_id::text) as subject
    from search_passage m
    join search_passage p on p.id = m.id
    where m.id = any(${ids as number[]}::bigint[])
      and (p.organization_id = ${wanted.organizationId}) is true
      ${without.reduce((all, one) => tx`${all} ${one}`, tx``)}
      ${askedFor(tx, wanted)}
      and ${visible(tx, wanted)}`
}

/** How many of the passages are there yet. */
export async function countPassages(
  tx: Query,
  organizationId: string,
  ids: readonly number[],
): Promise<number> {
  const [row] = await tx<{ count: number }[]>`
    select count(*)::int as count
    from search_passage
    where organization_id = ${organizationId} and id = any(${ids as number[]}::bigint[])`
  return row?.count ?? 0
}

/** A text in one configuration must not be found by the query of another one that excludes other forms of a word. */
function exactly(tx: Query, { exact }: Wanted): Fragment {
  if (exact === null) return tx``
  const conditions = exact.map(
    ({ configuration, query }) =>
      tx`or (p.configuration = ${configuration} and p.document @@ ${query}::text::tsquery)`,
  )
  return tx`and (false ${conditions.reduce((all, one) => tx`${all} ${one}`, tx``)})`
}

/** In the words of the index `search_passage_words_by_week`. */
const inWeeks = (tx: Query, weeks: readonly string[]): Fragment => tx`
  and array[right(p.organization_id::text, 6) || (((p.occurred_at at time zone 'UTC')::date - date '2000-01-03') / 7)::text]
    && ${weeks as string[]}::text[]`

function onChannel(tx: Query, channel: Channel | undefined): Fragment {
  if (channel === 'conversation') return tx`and p.session_id is not null`
  if (channel === 'feedback') return tx`and p.feedback_record_id is not null`
  return channel === 'recording' ? tx`and p.recording_id is not null` : tx``
}

/** The person of an integer id or a UUID, which may be that of a person who was merged. @returns null if there is none */
export async function findPerson(tx: Query, organizationId: string, given: string): Promise<number | null> {
  const [row] = await tx<{ id: number }[]>`
    select who.id
    from person who
    where who.organization_id = ${organizationId}
      and ${/^\d+$/.test(given) ? tx`who.id = ${Number(given)}::bigint` : tx`who.public_id = ${given}::uuid`}
    union all
    select former.person_id
    from person_alias former
    where former.organization_id = ${organizationId}
      and ${/^\d+$/.test(given) ? tx`former.former_id = ${Number(given)}::bigint` : tx`former.former_public_id = ${given}::uuid`}
    limit 1`
  return row?.id ?? null
}

/** What a person said or took part in. */
const ofPerson = (tx: Query, organizationId: string, personId: number): Fragment => tx`
  and (
    exists (
      select 1
      from feedback_record f
      where f.id = m.feedback_record_id and f.organization_id = ${organizationId} and f.person_id = ${personId}
    )
    or exists (
      select 1
      from recording_participant rp
      where rp.recording_id = m.recording_id and rp.organization_id = ${organizationId} and rp.person_id = ${personId}
    )
    or exists (
      select 1
      from agent_session_person sp
      where sp.session_id = m.session_id and sp.organization_id = ${organizationId} and sp.person_id = ${personId}
    )
  )`
