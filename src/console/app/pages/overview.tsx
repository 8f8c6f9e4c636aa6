/** The first page: how much was said, what grew, what hurts and what was praised, in customers' words. Every number leads to its quotations. */
import { pageOf, useFilters } from '../address.ts'
import { api, contentOf } from '../api.ts'
import { useTimeZone } from '../context.ts'
import { useLive } from '../live.ts'
import { useLoaded } from '../load.ts'
import { type Bar, Bars } from '../parts/bars.tsx'
import { DemoHint, Empty, ErrorNote, FirstConversation, Loading } from '../parts/notes.tsx'
import { placeOfSignal, Quotation } from '../parts/quotation.tsx'
import { Figure, Tag, Title } from '../parts/small.tsx'
import { useWho } from '../parts/who.tsx'
import { lastDays, type Period, periodOf } from '../period.ts'
import { labelOf, number } from '../words.ts'

const QUOTATIONS = 6
/** One conversation often has several findings, of which one is quoted. */
const READ = 30
const THEMES = 8
const PERIODS = ['7', '30', '90'] as const

type Metric = 'signals' | 'sessions' | 'feedback' | 'recordings' | 'outcomes'
type Key = 'day' | 'kind' | 'rating' | 'outcome'

function count(
  metric: Metric,
  by: string,
  { since, until }: Period,
  signal: AbortSignal,
  channel?: 'conversation',
) {
  const query = { metric, by, since, until, ...(channel === undefined ? {} : { channel }) }
  return contentOf(api.GET('/v3/rest/insights/counts', { params: { query }, signal }))
}

type Counts = Awaited<ReturnType<typeof count>>

/** Sums by one key. */
const sumsBy = (counts: Counts, key: Key): ReadonlyMap<string, number> =>
  counts.data.reduce((sums, row) => {
    const name = row[key] ?? ''
    return sums.set(name, (sums.get(name) ?? 0) + row.count)
  }, new Map<string, number>())

export function Overview() {
  const filters = useFilters()
  const chosen = PERIODS.find((days) => days === filters.get('days')) ?? '7'
  const period = lastDays(Number(chosen), useTimeZone())
  return (
    <>
      <Title text="Overview">
        <label class="filter">
          <span>Period</span>
          <select value={chosen} onChange={(event) => filters.set('days', event.currentTarget.value)}>
            {PERIODS.map((days) => (
              <option key={days} value={days}>
                Last {days} days
              </option>
            ))}
          </select>
        </label>
      </Title>
      <Numbers period={period} />
      <Themes />
      <Latest title="What hurts" rating="negative" period={period} />
      <Latest title="What was praised" rating="positive" period={period} />
    </>
  )
}

/** How much of the period was not analysed; nothing if all of it was. */
function Read({ coverage: { waiting, notRead } }: Pick<Counts, 'coverage'>) {
  const parts = [
    ...(notRead === 0 ? [] : [`${number(notRead)} not analysed`]),
    ...(waiting === 0 ? [] : [`${number(waiting)} still to be analysed`]),
  ]
  return parts.length === 0 ? null : (
    <p class="quiet">Of the conversations, records and calls of this period: {parts.join(', ')}.</p>
  )
}

function Numbers({ period }: { readonly period: Period }) {
  const timeZone = useTimeZone()
  const round = useLive('findings')
  const loaded = useLoaded(`${period.since} ${round}`, async (signal) => {
    const [findings, kinds, outcomes, sessions, feedback, calls] = await Promise.all([
      count('signals', 'day,rating', period, signal),
      count('signals', 'kind', period, signal),
      count('outcomes', 'outcome', period, signal, 'conversation'),
      count('sessions', 'channel', period, signal),
      count('feedback', 'channel', period, signal),
      count('recordings', 'channel', period, signal),
    ])
    return { findings, kinds, outcomes, sessions, feedback, calls }
  })
  if (loaded.data === null)
    return loaded.state === 'failed' ? <ErrorNote problem={loaded.problem} /> : <Loading />
  const { findings, kinds, outcomes, sessions, feedback, calls } = loaded.data
  const byOutcome = sumsBy(outcomes, 'outcome')
  const within = { since: period.since, until: period.until }
  const isEmpty = [findings, sessions, feedback, calls].every(({ total }) => total === 0)
  return (
    <>
      {isEmpty ? (
        <Empty title="Nothing was said in this period">
          <FirstConversation />
          <p>
            Or add a <a href={pageOf('/calls')}>call</a>, or import <a href={pageOf('/feedback')}>feedback</a>
            .
          </p>
          <p>
            Look further back: the last <a href={pageOf('', { days: '30' })}>30</a> or{' '}
            <a href={pageOf('', { days: '90' })}>90 days</a>.
          </p>
          <DemoHint />
        </Empty>
      ) : null}
      <Read coverage={findings.coverage} />
      <div class="figures">
        <Figure
          label="Conversations"
          value={number(sessions.total)}
          href={pageOf('/conversations', within)}
        />
        <Figure label="Calls" value={number(calls.total)} href={pageOf('/calls', within)} />
        <Figure label="Feedback" value={number(feedback.total)} href={pageOf('/feedback', within)} />
        <Figure
          label="Findings and ratings"
          value={number(findings.total)}
          href={pageOf('/findings', within)}
        />
      </div>
      <p class="tags">
        {(['resolved', 'unresolved', 'unclear'] as const).map((outcome) => (
          <a key={outcome} href={pageOf('/conversations', { outcome, ...within })}>
            <Tag value={outcome} /> {number(byOutcome.get(outcome) ?? 0)}
          </a>
        ))}
      </p>
      {findings.total === 0 ? null : (
        <Bars
          label="Findings and ratings by day"
          bars={barsOf(findings, period)}
          timeZone={timeZone}
          hrefOf={(day, part) =>
            pageOf('/findings', { rating: part === 'other' ? 'none' : part, ...periodOf(day, timeZone) })
          }
        />
      )}
      <p class="tags">
        {[...sumsBy(kinds, 'kind')]
          .sort(([, a], [, b]) => b - a)
          .map(([kind, sum]) => (
            <a key={kind} href={pageOf('/findings', { kind, ...within })}>
              {labelOf(kind)} {number(sum)}
            </a>
          ))}
      </p>
    </>
  )
}

function barsOf({ data }: Counts, { days }: Period): readonly Bar[] {
  const byDay = Map.groupBy(data, ({ day }) => day?.slice(0, 10) ?? '')
  return days.map((day) => {
    const sum = (rating: string) =>
      (byDay.get(day) ?? []).reduce(
        (total, row) => total + ((row.rating ?? 'other') === rating ? row.count : 0),
        0,
      )
    return { day, negative: sum('negative'), positive: sum('positive'), other: sum('other') }
  })
}

function Themes() {
  const themes = useLoaded('themes', (signal) =>
    contentOf(api.GET('/v3/rest/themes', { params: { query: { sort: 'rising', limit: THEMES } }, signal })),
  )
  const rows = themes.data?.data ?? []
  if (rows.length === 0) return null
  return (
    <section aria-labelledby="themes">
      <h2 id="themes">
        <a href={pageOf('/themes')}>Themes</a>
      </h2>
      <p class="quiet">With the number of their items of all time.</p>
      <ul class="plain">
        {rows.map(({ id, title, subtitle, count: items, trend }) => (
          <li key={id}>
            <a href={pageOf(`/themes/${id}`)}>
              <bdi>{title}</bdi> {number(items)}
            </a>{' '}
            {trend.rising ? '▲ rising ' : ''}
            {subtitle === null ? null : <bdi class="quiet">{subtitle}</bdi>}
          </li>
        ))}
      </ul>
    </section>
  )
}

interface LatestProps {
  readonly title: string
  readonly rating: 'negative' | 'positive'
  readonly period: Period
}

function Latest({ title, rating, period: { since, until } }: LatestProps) {
  const round = useLive('findings')
  const signals = useLoaded(`${rating} ${since} ${round}`, (signal) =>
    contentOf(
      api.GET('/v3/rest/signals', { params: { query: { rating, since, until, limit: READ } }, signal }),
    ),
  )
  // A rating without words says nothing here.
  const worded = (signals.data?.data ?? []).filter(
    ({ evidence, comment }) => evidence !== null || comment !== null,
  )
  const bySubject = Map.groupBy(worded, (one) => one.sessionId ?? one.recordingId ?? String(one.recordId))
  const rows = [...bySubject.values()].flatMap(([first]) => first ?? []).slice(0, QUOTATIONS)
  const whoOf = useWho(rows)
  return (
    <section aria-label={title}>
      <h2>
        <a href={pageOf('/findings', { rating, since, until })}>{title}</a>
      </h2>
      {signals.state === 'failed' ? <ErrorNote problem={signals.problem} /> : null}
      {signals.data === null && signals.state === 'loading' ? <Loading /> : null}
      {signals.data !== null && rows.length === 0 ? <Empty title="Nothing yet" /> : null}
      <ul class="quotations">
        {rows.map((one) => (
          <li key={one.id}>
            <Quotation {...placeOfSignal(one)} who={whoOf(one)} />
          </li>
        ))}
      </ul>
    </section>
  )
}
