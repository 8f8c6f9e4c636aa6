/** The members of the organization, for lists to choose from. */
import { api, contentOf, type Schemas } from '../api.ts'
import { type Loaded, useLoaded } from '../load.ts'

/** Of 100 members. A larger organization chooses by the API. */
const MAX_PAGES = 10

/** @param key names who asks */
export const useAllMembers = (key: string): Loaded<readonly Schemas['Member'][]> =>
  useLoaded(`members for ${key}`, async (signal) => {
    const all: Schemas['Member'][] = []
    let cursor: string | null | undefined
    for (let page = 0; page < MAX_PAGES && cursor !== null; page++) {
      const query = { limit: 100, ...(cursor === undefined ? {} : { cursor }) }
      const { data, next_cursor } = await contentOf(
        api.GET('/v3/rest/members', { params: { query }, signal }),
      )
      all.push(...data)
      cursor = next_cursor
    }
    return all
  })

/** `Grace Hopper, grace@example.com` */
export const nameOf = ({ name, email }: Schemas['Member']): string =>
  name === email ? email : `${name}, ${email}`
