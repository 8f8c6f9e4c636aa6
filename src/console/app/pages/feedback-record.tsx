/** One feedback record with all its fields. */
import { useRoute } from 'preact-iso'
import { pageOf } from '../address.ts'
import { api, contentOf } from '../api.ts'
import { useLoaded } from '../load.ts'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { Time, Title, Unread } from '../parts/small.tsx'

export function FeedbackRecord() {
  const { params } = useRoute()
  const path = { feedbackSourceId: Number(params.source), feedbackRecordId: Number(params.id) }
  const record = useLoaded(`${params.source}/${params.id}`, (signal) =>
    contentOf(
      api.GET('/v3/rest/feedback-sources/{feedbackSourceId}/records/{feedbackRecordId}', {
        params: { path },
        signal,
      }),
    ),
  )
  if (record.data === null)
    return record.state === 'failed' ? <ErrorNote problem={record.problem} /> : <Loading />
  const { fields, display_ts, external_id, person_id, analysis } = record.data
  return (
    <article>
      <Title text={external_id ?? `Record ${params.id}`}>
        <Unread analysis={analysis} />
        <Time at={display_ts} />
      </Title>
      {person_id === null ? null : (
        <p>
          <a href={pageOf(`/people/${person_id}`)}>Everything that this person said</a>
        </p>
      )}
      <table class="fields record">
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Value</th>
            <th scope="col">Category</th>
          </tr>
        </thead>
        <tbody>
          {fields.map(({ name, category, value }) => (
            <tr key={`${category} ${name}`}>
              <th scope="row" dir="auto">
                {name}
              </th>
              <td dir="auto">{Array.isArray(value) ? value.join(', ') : String(value)}</td>
              <td class="quiet">{category}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </article>
  )
}
