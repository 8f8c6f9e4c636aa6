/** Whole lists, for controls to choose from. */
import { api, contentOf, type Schemas } from '../api.ts'
import { type ListPage, type Loaded, useLoaded } from '../load.ts'

/** Of 100 rows. Who has more chooses by the API. */
const MAX_PAGES = 10
export const PAGE_ROWS = 100

/** @param load gets the cursor of the page */
export async function allOf<T>(load: (cursor: string | undefined) => Promise<ListPage<T>>): Promise<T[]> {
  const all: T[] = []
  let cursor: string | null | undefined
  for (let page = 0; page < MAX_PAGES && cursor !== null; page++) {
    const { data, next_cursor = null } = await load(cursor)
    all.push(...data)
    cursor = next_cursor
  }
  return all
}

/** @param key names who asks */
export const useAllMembers = (key: string): Loaded<readonly Schemas['Member'][]> =>
  useLoaded(`members for ${key}`, (signal) =>
    allOf((cursor) => {
      const query = { limit: PAGE_ROWS, ...(cursor === undefined ? {} : { cursor }) }
      return contentOf(api.GET('/v3/rest/members', { params: { query }, signal }))
    }),
  )

/** `Grace Hopper, grace@example.com` */
export const nameOf = ({ name, email }: Schemas['Member']): string =>
  name === email ? email : `${name}, ${email}`

/** A page of a list with numbers instead of cursors. */
export const numbered = <T>(data: readonly T[], page: number): ListPage<T> => ({
  data,
  next_cursor: data.length < PAGE_ROWS ? null : String(page + 1),
})
