/** One theme: its trend, who is behind it, and what they said. Analysts rename, pin and hide it, and merge others into it. */

import { useState } from 'preact/hooks'
import { useRoute } from 'preact-iso'
import { pageOf } from '../address.ts'
import { api, contentOf, type Problem, type Schemas } from '../api.ts'
import { useSession } from '../context.ts'
import { problemOf, useLoaded, usePages } from '../load.ts'
import { More } from '../parts/more.tsx'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { placeOf, Quotation } from '../parts/quotation.tsx'
import { Title } from '../parts/small.tsx'
import { MergeTheme, SplitTheme } from '../parts/theme-tools.tsx'
import { useWho } from '../parts/who.tsx'
import { number } from '../words.ts'

type Change = Partial<Pick<Schemas['Theme'], 'title' | 'pinned' | 'hidden'>>

export function Theme() {
  const { params } = useRoute()
  const themeId = params.id ?? ''
  const [round, setRound] = useState(0)
  const [problem, setProblem] = useState<Problem | null>(null)
  const [chosen, setChosen] = useState<readonly number[]>([])
  const { membership } = useSession()
  const theme = useLoaded(`${themeId} ${round}`, (signal) =>
    contentOf(api.GET('/v3/rest/themes/{themeId}', { params: { path: { themeId } }, signal })),
  )
  if (theme.data === null)
    return theme.state === 'failed' ? <ErrorNote problem={theme.problem} /> : <Loading />
  const { title, subtitle, count, trend, people, pinned, hidden } = theme.data
  const act = async (change: () => Promise<unknown>) => {
    try {
      await change()
      setProblem(null)
      setChosen([])
      setRound(round + 1)
    } catch (error) {
      setProblem(problemOf(error))
    }
  }
  const set = (body: Change) =>
    act(() => contentOf(api.PATCH('/v3/rest/themes/{themeId}', { params: { path: { themeId } }, body })))
  return (
    <article>
      <Title text={title}>
        {trend.rising ? <span class="tag">▲ Rising</span> : null}
        {pinned ? <span class="tag">Pinned</span> : null}
        {hidden ? <span class="tag">Hidden</span> : null}
      </Title>
      {subtitle === null ? null : <p class="quiet">{subtitle}</p>}
      <p>
        {number(count)} items: {number(trend.recent)} in the last seven full days, and {number(trend.before)}{' '}
        a week in the four weeks before.
      </p>
      {problem === null ? null : <ErrorNote problem={problem} />}
      {membership?.role === 'viewer' ? null : (
        <div class="row">
          <form
            class="filter"
            onSubmit={(event) => {
              event.preventDefault()
              void set({ title: String(new FormData(event.currentTarget).get('title') ?? '').trim() })
            }}
          >
            <label>
              <span>Title</span>{' '}
              <input name="title" dir="auto" key={title} defaultValue={title} maxLength={120} required />
            </label>
            <button type="submit">Rename</button>
          </form>
          <button type="button" onClick={() => void set({ pinned: !pinned })}>
            {pinned ? 'Unpin' : 'Pin'}
          </button>
          <button type="button" onClick={() => void set({ hidden: !hidden })}>
            {hidden ? 'Show' : 'Hide'}
          </button>
          <MergeTheme key={`${themeId} ${round}`} themeId={themeId} act={act} />
        </div>
      )}
      {people.length === 0 ? null : (
        <>
          <h2>Who</h2>
          <ul class="plain">
            {people.map((one) => (
              <li key={one.personId}>
                <a href={pageOf(`/people/${one.personId}`)}>
                  <bdi>{one.name ?? 'Unnamed'}</bdi>
                </a>{' '}
                {number(one.count)}
              </li>
            ))}
          </ul>
        </>
      )}
      <h2>What they said</h2>
      {chosen.length === 0 ? null : <SplitTheme themeId={themeId} chosen={chosen} act={act} />}
      <Items
        themeId={themeId}
        round={round}
        {...(membership?.role === 'viewer' ? {} : { chosen, onChoose: setChosen })}
      />
    </article>
  )
}

interface ItemsProps {
  readonly themeId: string
  readonly round: number
  /** Items chosen for a split, in the order in which they were chosen. Absent: the viewer may not split. */
  readonly chosen?: readonly number[]
  readonly onChoose?: (chosen: readonly number[]) => void
}

function Items({ themeId, round, chosen = [], onChoose }: ItemsProps) {
  const pages = usePages(
    themeId,
    (cursor, signal) =>
      contentOf(
        api.GET('/v3/rest/themes/{themeId}/items', {
          params: { path: { themeId }, query: { limit: 30, ...(cursor === undefined ? {} : { cursor }) } },
          signal,
        }),
      ),
    round,
  )
  const whoOf = useWho(pages.rows)
  return (
    <>
      {pages.problem === null ? null : <ErrorNote problem={pages.problem} />}
      <ul class="quotations" aria-label="Quotations">
        {pages.rows.map(({ id, quotation, place, kind, rating, personId, occurredAt }) => (
          <li key={id}>
            <Quotation
              quote={quotation}
              {...placeOf(place.channel, place.id, { ...place, source: place.feedbackSourceId })}
              at={occurredAt}
              kind={kind}
              tone={rating}
              who={whoOf({ personId })}
            >
              {onChoose === undefined ? null : (
                <label class="quiet">
                  <input
                    type="checkbox"
                    checked={chosen.includes(id)}
                    disabled={chosen.length === 2 && !chosen.includes(id)}
                    onChange={(event) =>
                      onChoose(
                        event.currentTarget.checked ? [...chosen, id] : chosen.filter((one) => one !== id),
                      )
                    }
                  />{' '}
                  Split by this
                </label>
              )}
            </Quotation>
          </li>
        ))}
      </ul>
      <More pages={pages} />
    </>
  )
}
