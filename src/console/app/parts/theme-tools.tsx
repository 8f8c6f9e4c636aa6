/** Merges other themes into one, and splits one by two of its quotations. */
import { useLocation } from 'preact-iso'
import { pageOf } from '../address.ts'
import { api, contentOf } from '../api.ts'
import { useLoaded } from '../load.ts'

type Act = (change: () => Promise<unknown>) => Promise<void>

/** @param act runs a change, shows its problem, and reloads the theme */
export function MergeTheme({ themeId, act }: { readonly themeId: string; readonly act: Act }) {
  const themes = useLoaded(`themes ${themeId}`, (signal) =>
    contentOf(api.GET('/v3/rest/themes', { params: { query: { sort: 'count', limit: 100 } }, signal })),
  )
  const others = themes.data?.data.filter(({ id }) => id !== themeId) ?? []
  if (others.length === 0) return null
  return (
    <form
      class="filter"
      onSubmit={(event) => {
        event.preventDefault()
        const other = String(new FormData(event.currentTarget).get('other') ?? '')
        const params = { path: { themeId } }
        void act(() =>
          contentOf(api.POST('/v3/rest/themes/{themeId}/merge', { params, body: { themeId: other } })),
        )
      }}
    >
      <label class="filter">
        <span>Merge into this theme</span>
        <select name="other">
          {others.map(({ id, title }) => (
            <option key={id} value={id} dir="auto">
              {title}
            </option>
          ))}
        </select>
      </label>
      <button type="submit">Merge</button>
    </form>
  )
}

interface SplitProps {
  readonly themeId: string
  /** The chosen items: the first stays, the second goes. */
  readonly chosen: readonly number[]
  readonly act: Act
}

export function SplitTheme({ themeId, chosen, act }: SplitProps) {
  const { route } = useLocation()
  const [stays, goes] = chosen
  if (stays === undefined) return null
  if (goes === undefined)
    return <p role="status">Choose a second quotation: what is nearer to it becomes a new theme.</p>
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault()
        const title = String(new FormData(event.currentTarget).get('title') ?? '').trim()
        const body = { itemIds: [stays, goes] as [number, number], ...(title === '' ? {} : { title }) }
        void act(async () => {
          const params = { path: { themeId } }
          const { id } = await contentOf(api.POST('/v3/rest/themes/{themeId}/split', { params, body }))
          route(pageOf(`/themes/${id}`))
        })
      }}
    >
      <label class="filter">
        <span>Title of the new theme</span>
        <input name="title" dir="auto" maxLength={120} />
      </label>
      <button type="submit">Split</button>
    </form>
  )
}
