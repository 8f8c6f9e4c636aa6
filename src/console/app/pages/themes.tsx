/** What customers say again and again. */
import { pageOf, useFilters } from '../address.ts'
import { api, contentOf } from '../api.ts'
import { usePages } from '../load.ts'
import { List } from '../parts/list.tsx'
import { DemoHint, Empty } from '../parts/notes.tsx'
import { Time, Title } from '../parts/small.tsx'
import { number } from '../words.ts'

export function Themes() {
  const filters = useFilters()
  const sort = filters.get('sort') === 'rising' ? 'rising' : 'count'
  const pages = usePages(filters.key, (cursor, signal) =>
    contentOf(
      api.GET('/v3/rest/themes', {
        params: { query: { sort, limit: 50, ...(cursor === undefined ? {} : { cursor }) } },
        signal,
      }),
    ),
  )
  return (
    <>
      <Title text="Themes">
        <label class="filter">
          <span>Order</span>
          <select value={sort} onChange={(event) => filters.set('sort', event.currentTarget.value)}>
            <option value="count">Most items</option>
            <option value="rising">Rising</option>
          </select>
        </label>
      </Title>
      <List
        label="Themes"
        pages={pages}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => pageOf(`/themes/${id}`)}
        row={({ title, subtitle, count, trend, pinned, lastAt }) => (
          <>
            <span class="main" dir="auto">
              {title}
            </span>
            <span class="quiet clip">
              {number(count)} items
              {subtitle === null ? null : (
                <>
                  {' · '}
                  <bdi>{subtitle}</bdi>
                </>
              )}
            </span>
            <span class="tags">
              {trend.rising ? <span class="tag">▲ Rising</span> : null}
              {pinned ? <span class="tag">Pinned</span> : null}
            </span>
            {lastAt === null ? <span /> : <Time at={lastAt} />}
          </>
        )}
        empty={
          <Empty title="No theme yet">
            <p>A theme appears when three customers say the same.</p>
            <DemoHint />
          </Empty>
        }
      />
    </>
  )
}
