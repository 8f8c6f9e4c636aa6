/** Helpers for tests of the search. */
import type { Agent } from './agents.ts'
import { eventually } from './eventually.ts'
import type { Client, TestServer } from './server.ts'

export interface Found {
  readonly data: readonly {
    readonly channel: string
    readonly id: string
    readonly title: string | null
    readonly passage: string
    readonly score: number
  }[]
  readonly matches: number
  readonly match: 'all' | 'any' | 'meaning'
  readonly has_more: boolean
  readonly next_cursor: string | null
}

export const createKey = (server: TestServer, agent: Agent): Client =>
  server.as({ apiKey: agent.tenant.apiKey })

export async function searchOf(client: Client, q: string, more = ''): Promise<Found> {
  const { status, body } = await client.get(`/v3/rest/search?q=${encodeURIComponent(q)}${more}`)
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`)
  return body
}

/** Searches until there are as many results, because passages are indexed after the request that stores them. */
export const until = (client: Client, q: string, count: number, more = ''): Promise<Found> =>
  eventually(async () => {
    const results = await searchOf(client, q, more)
    return results.data.length >= count ? results : false
  })
