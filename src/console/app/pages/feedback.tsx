/** Feedback records, newest first: of one source, or of all, source by source. */
import { pageOf, useFilters } from '../address.ts'
import { api, contentOf, type Schemas } from '../api.ts'
import { useSession } from '../context.ts'
import { useLive } from '../live.ts'
import { type ListPage, useLoaded, usePages } from '../load.ts'
import { List } from '../parts/list.tsx'
import { DemoHint, Empty, ErrorNote, Loading } from '../parts/notes.tsx'
import { type Bounds, boundsOf, PeriodNote } from '../parts/period-note.tsx'
import { Time, Title, Unread } from '../parts/small.tsx'
import { EVER } from '../period.ts'

type FeedbackRow = Schemas['FeedbackRecord']
type Source = Schemas['FeedbackSource']

const PAGE = 50

/** The words of a record: its text fields of category content. */
function wordsOf({ fields }: Pick<FeedbackRow, 'fields'>): string {
  const words = fields.filter(({ category, value }) => category === 'content' && typeof value === 'string')
  return (words.length === 0 ? fields : words).map(({ value }) => String(value)).join(' · ')
}

export function Feedback() {
  const filters = useFilters()
  const { membership } = useSession()
  const mayImport = membership?.role === 'administrator'
  const sources = useLoaded('sources', (signal) =>
    contentOf(api.GET('/v3/rest/feedback-sources', { params: { query: { limit: 100 } }, signal })),
  )
  if (sources.data === null)
    return sources.state === 'failed' ? <ErrorNote problem={sources.problem} /> : <Loading />
  const all = sources.data.data
  const source = all.find(({ id }) => String(id) === filters.get('source'))
  if (all.length === 0)
    return (
      <>
        <Title text="Feedback" />
        <Empty title="No feedback yet">
          {mayImport ? (
            <p>
              <a href={pageOf('/feedback/import')}>Import a CSV file</a>, or send records over the API.
            </p>
          ) : (
            <p>An administrator imports a CSV file, or sends records over the API.</p>
          )}
          <DemoHint />
        </Empty>
      </>
    )
  return (
    <>
      <Title text="Feedback">
        <label class="filter">
          <span>Source</span>
          <select
            value={source === undefined ? '' : String(source.id)}
            onChange={(event) => filters.set('source', event.currentTarget.value)}
          >
            <option value="">All</option>
            {all.map(({ id, name }) => (
              <option key={id} value={String(id)} dir="auto">
                {name}
              </option>
            ))}
          </select>
        </label>
        {mayImport ? (
          <a href={pageOf('/feedback/import', source === undefined ? {} : { source: String(source.id) })}>
            Import a CSV file
          </a>
        ) : null}
      </Title>
      <PeriodNote filters={filters} />
      <Records key={filters.key} sources={source === undefined ? all : [source]} bounds={boundsOf(filters)} />
    </>
  )
}

/** A page of records: as many sources as it takes to fill it. The cursor is the number of a source, and the cursor within it. */
async function recordsOf(
  sources: readonly Source[],
  bounds: Bounds,
  cursor: string,
  signal: AbortSignal,
): Promise<ListPage<FeedbackRow>> {
  const rows: FeedbackRow[] = []
  const [first = '0', within = ''] = cursor.split(' ')
  let after = within
  for (let index = Number(first); index < sources.length; index++) {
    const path = { feedbackSourceId: sources[index]?.id ?? 0 }
    // A list with a period is ordered by when something was said, others by when it was stored.
    const query = { limit: PAGE, since: EVER, ...bounds, ...(after === '' ? {} : { cursor: after }) }
    const page = await contentOf(
      api.GET('/v3/rest/feedback-sources/{feedbackSourceId}/records', { params: { path, query }, signal }),
    )
    rows.push(...page.data)
    after = page.next_cursor ?? ''
    const next = after === '' ? index + 1 : index
    if (next >= sources.length) break
    if (rows.length >= PAGE || after !== '') return { data: rows, next_cursor: `${next} ${after}` }
  }
  return { data: rows, next_cursor: null }
}

interface RecordsProps {
  readonly sources: readonly Source[]
  readonly bounds: Bounds
}

function Records({ sources, bounds }: RecordsProps) {
  const pages = usePages(
    'records',
    (cursor, signal) => recordsOf(sources, bounds, cursor ?? '', signal),
    useLive('feedback'),
  )
  const nameOf = (sourceId: number) => sources.find(({ id }) => id === sourceId)?.name
  const isBounded = bounds.since !== undefined || bounds.until !== undefined
  return (
    <List
      label="Records"
      pages={pages}
      keyOf={({ id }) => String(id)}
      hrefOf={({ id, feedback_source_id }) => pageOf(`/feedback/${feedback_source_id}/${id}`)}
      row={(record) => (
        <>
          <span class="main wide" dir="auto">
            {wordsOf(record)}
          </span>
          <span class="quiet clip" dir="auto">
            {nameOf(record.feedback_source_id)}
          </span>
          <span class="tags">
            <Unread analysis={record.analysis} />
          </span>
          <Time at={record.display_ts} />
        </>
      )}
      empty={isBounded ? <Empty title="No record in this period" /> : <Empty title="No record yet" />}
    />
  )
}
