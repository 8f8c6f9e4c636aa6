/** Search over everything that customers said. */
import { useFilters } from '../address.ts'
import { api, contentOf } from '../api.ts'
import { usePages } from '../load.ts'
import { Marked } from '../parts/marked.tsx'
import { More } from '../parts/more.tsx'
import { Empty, ErrorNote, Loading } from '../parts/notes.tsx'
import { placeOf } from '../parts/quotation.tsx'
import { Select, Time, Title } from '../parts/small.tsx'

const CHANNELS = ['conversation', 'feedback', 'recording'] as const
type Channel = (typeof CHANNELS)[number]

export function Search() {
  const filters = useFilters()
  const q = filters.get('q')
  const channel = CHANNELS.find((one) => one === filters.get('channel'))
  return (
    <>
      <Title text={q === '' ? 'Search' : `Search: ${q}`}>
        <Select
          label="Channel"
          value={channel ?? ''}
          options={CHANNELS}
          onChange={(value) => filters.set('channel', value)}
        />
      </Title>
      {q === '' ? <Empty title="Type what you look for" /> : <Results q={q} channel={channel} />}
    </>
  )
}

function Results({ q, channel }: { readonly q: string; readonly channel: Channel | undefined }) {
  const pages = usePages(`${q} ${channel}`, (cursor, signal) =>
    contentOf(
      api.GET('/v3/rest/search', {
        params: {
          query: {
            q,
            limit: 20,
            ...(cursor === undefined ? {} : { cursor }),
            ...(channel === undefined ? {} : { channel }),
          },
        },
        signal,
      }),
    ),
  )
  const isIncomplete = pages.first?.complete === false
  if (pages.rows.length === 0) {
    if (pages.problem !== null) return <ErrorNote problem={pages.problem} />
    if (pages.state === 'loading') return <Loading />
    return <Empty title="Nothing was found">{isIncomplete && <NotByMeaning />}</Empty>
  }
  return (
    <>
      {pages.first !== null && pages.first?.match !== 'all' && (
        <p>
          No passage has all of these words.{' '}
          {pages.first?.match === 'any'
            ? 'These have some of them.'
            : 'These have some of them, or mean something near.'}
        </p>
      )}
      {isIncomplete && <NotByMeaning />}
      <ul class="quotations" aria-label="Passages">
        {pages.rows.map((one) => {
          const { href, where } = placeOf(one.channel, one.id, {
            source: one.feedbackSourceId,
            startSec: one.startSec,
          })
          return (
            <li key={`${one.channel} ${one.id} ${one.startSec}`}>
              <figure class="quotation">
                <blockquote dir="auto">
                  <Marked text={one.passage} />
                </blockquote>
                <figcaption>
                  <a href={href} dir="auto" data-row>
                    {one.title ?? where}
                  </a>
                  <Time at={one.occurredAt} />
                </figcaption>
              </figure>
            </li>
          )
        })}
      </ul>
      <More pages={pages} />
    </>
  )
}

/** The words of the search could not be understood at the moment. */
function NotByMeaning() {
  return <p>Passages that only mean the same were not looked for. Search again in a moment.</p>
}
