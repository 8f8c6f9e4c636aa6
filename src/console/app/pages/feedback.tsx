/** Feedback records of one source at a time, newest first. */
import { pageOf, useFilters } from '../address.ts'
import { api, contentOf, type Schemas } from '../api.ts'
import { useLive } from '../live.ts'
import { useLoaded, usePages } from '../load.ts'
import { List } from '../parts/list.tsx'
import { DemoHint, Empty, ErrorNote, Loading } from '../parts/notes.tsx'
import { Time, Title } from '../parts/small.tsx'

type FeedbackRow = Schemas['FeedbackRecord']

const COMMAND = `earshot feedback import reviews.csv --source Reviews`

/** The words of a record: its text fields of category content. */
export function wordsOf({ fields }: Pick<FeedbackRow, 'fields'>): string {
  const words = fields.filter(({ category, value }) => category === 'content' && typeof value === 'string')
  return (words.length === 0 ? fields : words).map(({ value }) => String(value)).join(' · ')
}

export function Feedback() {
  const filters = useFilters()
  const sources = useLoaded('sources', (signal) =>
    contentOf(api.GET('/v3/rest/feedback-sources', { params: { query: { limit: 100 } }, signal })),
  )
  if (sources.data === null)
    return sources.state === 'failed' ? <ErrorNote problem={sources.problem} /> : <Loading />
  const all = sources.data.data
  const source = all.find(({ id }) => String(id) === filters.get('source')) ?? all[0]
  if (source === undefined)
    return (
      <>
        <Title text="Feedback" />
        <Empty title="No feedback yet" command={COMMAND}>
          <p>
            <a href={pageOf('/feedback/import')}>Import a CSV file</a>, or send records over the API.
          </p>
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
            value={String(source.id)}
            onChange={(event) => filters.set('source', event.currentTarget.value)}
          >
            {all.map(({ id, name }) => (
              <option key={id} value={String(id)}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <a href={pageOf('/feedback/import', { source: String(source.id) })}>Import a CSV file</a>
      </Title>
      <Records key={source.id} sourceId={source.id} />
    </>
  )
}

function Records({ sourceId }: { readonly sourceId: number }) {
  const pages = usePages(
    String(sourceId),
    (cursor, signal) =>
      contentOf(
        api.GET('/v3/rest/feedback-sources/{feedbackSourceId}/records', {
          params: {
            path: { feedbackSourceId: sourceId },
            query: { limit: 50, ...(cursor === undefined ? {} : { cursor }) },
          },
          signal,
        }),
      ),
    useLive('feedback'),
  )
  return (
    <List
      label="Records"
      pages={pages}
      keyOf={({ id }) => String(id)}
      hrefOf={({ id }) => pageOf(`/feedback/${sourceId}/${id}`)}
      row={(record) => (
        <>
          <span class="main wide">{wordsOf(record)}</span>
          <span class="quiet clip">{record.external_id}</span>
          <Time at={record.display_ts} />
        </>
      )}
      empty={<Empty title="This source has no record yet" command={COMMAND} />}
    />
  )
}
