/** The first page: what was found lately, in customers' words. */
import { pageOf } from '../address.ts'
import { api, contentOf } from '../api.ts'
import { useLoaded } from '../load.ts'
import { Empty, ErrorNote, Loading } from '../parts/notes.tsx'
import { placeOfSignal, Quotation } from '../parts/quotation.tsx'
import { Title } from '../parts/small.tsx'

const QUOTATIONS = 8

export function Overview() {
  return (
    <>
      <Title text="Overview" />
      <Latest title="What hurts" rating="negative" />
      <Latest title="What was praised" rating="positive" />
    </>
  )
}

function Latest({ title, rating }: { readonly title: string; readonly rating: 'negative' | 'positive' }) {
  const signals = useLoaded(rating, (signal) =>
    contentOf(api.GET('/v3/rest/signals', { params: { query: { rating, limit: QUOTATIONS } }, signal })),
  )
  const rows = signals.data?.data ?? []
  return (
    <section aria-label={title}>
      <h2>
        <a href={pageOf('/findings', { rating })}>{title}</a>
      </h2>
      {signals.state === 'failed' ? <ErrorNote problem={signals.problem} /> : null}
      {signals.data === null && signals.state === 'loading' ? <Loading /> : null}
      {signals.data !== null && rows.length === 0 ? <Empty title="Nothing yet" /> : null}
      <ul class="quotations">
        {rows.map((one) => (
          <li key={one.id}>
            <Quotation {...placeOfSignal(one)} />
          </li>
        ))}
      </ul>
    </section>
  )
}
