/** Findings, and ratings of answers, as quotations, newest first. A finding can be called right or wrong. */
import { useFilters } from '../address.ts'
import { api, contentOf } from '../api.ts'
import { useLive } from '../live.ts'
import { usePages } from '../load.ts'
import { More } from '../parts/more.tsx'
import { Empty, ErrorNote, Loading } from '../parts/notes.tsx'
import { boundsOf, PeriodNote } from '../parts/period-note.tsx'
import { placeOfSignal, Quotation } from '../parts/quotation.tsx'
import { Select, Title } from '../parts/small.tsx'
import { Verdict } from '../parts/verdict.tsx'
import { useWho } from '../parts/who.tsx'
import { EVER } from '../period.ts'

const KINDS = [
  'bug_report',
  'feature_request',
  'question',
  'complaint',
  'praise',
  'confusion',
  'human_requested',
  'churn_risk',
  'wrong_answer',
  'repeated_problem',
  'resolved_confirmation',
] as const

/** Findings, and what customers rated themselves. */
const LISTED = [...KINDS, 'message_feedback'] as const

const RATINGS = ['positive', 'negative', 'none'] as const

/** The value, if it is one of those. */
const oneOf = <T extends string>(values: readonly T[], value: string): T | undefined =>
  values.find((one) => one === value)

export function Findings() {
  const filters = useFilters()
  const kind = oneOf(LISTED, filters.get('kind'))
  const rating = oneOf(RATINGS, filters.get('rating'))
  const bounds = boundsOf(filters)
  const pages = usePages(
    filters.key,
    (cursor, signal) =>
      contentOf(
        api.GET('/v3/rest/signals', {
          params: {
            query: {
              limit: 50,
              ...(cursor === undefined ? {} : { cursor }),
              ...(kind === undefined ? {} : { kind }),
              ...(rating === undefined ? {} : { rating }),
              // A list with a period is ordered by when something was said, others by when it was found.
              since: EVER,
              ...bounds,
            },
          },
          signal,
        }),
      ),
    useLive('findings'),
  )
  const whoOf = useWho(pages.rows)
  return (
    <>
      <Title text="Findings and ratings">
        <Select
          label="Kind"
          value={kind ?? ''}
          options={LISTED}
          onChange={(value) => filters.set('kind', value)}
        />
        <Select
          label="Rating"
          value={rating ?? ''}
          options={RATINGS}
          onChange={(value) => filters.set('rating', value)}
        />
      </Title>
      <PeriodNote filters={filters} />
      {pages.problem === null ? null : <ErrorNote problem={pages.problem} />}
      {pages.rows.length === 0 && pages.state === 'loading' ? <Loading /> : null}
      {pages.rows.length === 0 && pages.state === 'ready' ? (
        <Empty title="No finding">
          <p>
            Kinds that the built-in analyser does not find reliably enough are hidden. Connect a model server
            to see them (ANALYZE_URL).
          </p>
        </Empty>
      ) : null}
      <ul class="quotations" aria-label="Findings">
        {pages.rows.map((signal) => (
          <li key={signal.id}>
            <Quotation {...placeOfSignal(signal)} who={whoOf(signal)}>
              <Verdict signal={signal} kinds={KINDS} />
            </Quotation>
          </li>
        ))}
      </ul>
      <More pages={pages} />
    </>
  )
}
