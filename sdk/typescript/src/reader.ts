/** Reads what the service has: lists as async iterators that ask for one page after another. */
import type { components } from './api.generated.ts'
import { isRetryable, waitMs } from './retry.rules.ts'
import { EarshotError, type Fetch } from './sender.ts'

/** The address of the service, and one of `apiKey` and `userToken`. */
export interface ReaderOptions {
  readonly url: string
  /** Key of the organization (`esk_…`), for servers. */
  readonly apiKey?: string
  /** Token of a user, in place of the key. */
  readonly userToken?: string
  /** Attempts for a request that may succeed later. Default: 5. */
  readonly attempts?: number
  readonly fetch?: Fetch
}

/** Filters of a list by their names in the REST interface, such as `{ since: "2026-01-01T00:00:00Z" }`. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>

type Schemas = components['schemas']
/** An object of a list, as `/openapi.json` describes it. */
type ItemOf<P extends keyof Schemas> = Schemas[P] extends { data: readonly (infer T)[] } ? T : never

/** A conversation with an agent, without its events. */
export type Conversation = ItemOf<'AgentSessionPage'>
/** A finding of the analyser, or feedback of a user on an answer. */
export type Signal = ItemOf<'SignalPage'>
/** A recorded call or meeting, without its transcript. */
export type Recording = ItemOf<'RecordingItemPage'>
/** What a customer wrote to a feedback source, such as a survey. */
export type FeedbackRecord = ItemOf<'FeedbackRecordPage'>
/** A customer, as known from all channels. */
export type KnownPerson = ItemOf<'PersonPage'>
/** A subject that customers speak or write about, with its count and trend. */
export type Theme = ItemOf<'ThemesPage'>
/** A part of a conversation, recording or feedback record that matches a search. */
export type Passage = ItemOf<'FoundPassages'>

/** An object of any other list. */
export type Item = Readonly<Record<string, unknown>>

interface Page<T> {
  readonly data: readonly T[]
  readonly has_more: boolean
  readonly next_cursor: string | null
}

/** Reads lists with an organization's key. Each method iterates over all pages. */
export class EarshotReader {
  constructor(private readonly options: ReaderOptions) {}

  /** Conversations with agents, newest first. */
  conversations(query?: Query): AsyncGenerator<Conversation, void> {
    return this.list('agent-conversations/sessions', query)
  }

  /** Findings of the analyser, and feedback of users on answers. */
  signals(query?: Query): AsyncGenerator<Signal, void> {
    return this.list('signals', query)
  }

  /** Recorded calls and meetings. */
  recordings(query?: Query): AsyncGenerator<Recording, void> {
    return this.list('recordings', query)
  }

  /** Records of one feedback source. */
  feedbackRecords(sourceId: string, query?: Query): AsyncGenerator<FeedbackRecord, void> {
    return this.list(`feedback-sources/${encodeURIComponent(sourceId)}/records`, query)
  }

  /** Customers, as known from all channels. */
  people(query?: Query): AsyncGenerator<KnownPerson, void> {
    return this.list('people', query)
  }

  /** Subjects that customers speak about. */
  themes(query?: Query): AsyncGenerator<Theme, void> {
    return this.list('themes', query)
  }

  /** Passages that match, the best first. */
  search(q: string, query?: Query): AsyncGenerator<Passage, void> {
    return this.list('search', { ...query, q })
  }

  /**
   * Every object of a list.
   * @param path below `/v3/rest/`
   * @throws EarshotError if the service refuses the request
   */
  async *list<T = Item>(path: string, query: Query = {}): AsyncGenerator<T, void> {
    let cursor: string | null = null
    do {
      const page = (await this.get(path, cursor === null ? query : { ...query, cursor })) as Page<T>
      yield* page.data
      cursor = page.has_more ? page.next_cursor : null
    } while (cursor !== null)
  }

  /** @param path below `/v3/rest/` @returns the JSON value @throws EarshotError */
  async get(path: string, query: Query = {}): Promise<unknown> {
    const { url, apiKey, userToken, attempts = 5 } = this.options
    const address = new URL(`${url.replace(/\/+$/, '')}/v3/rest/${path}`)
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) address.searchParams.set(name, String(value))
    const headers: Record<string, string> = userToken
      ? { authorization: `Bearer ${userToken}` }
      : { 'x-service-api-key': apiKey ?? '' }
    for (let attempt = 1; ; attempt++) {
      const { value, error, retryAfter } = await this.#ask(address, headers)
      if (error === null) return value
      if (attempt >= attempts || !isRetryable(error.status, error.code)) throw error
      await new Promise((resolve) =>
        setTimeout(resolve, waitMs(attempt, retryAfter, Date.now(), Math.random())),
      )
    }
  }

  async #ask(address: URL, headers: Readonly<Record<string, string>>) {
    const ask = this.options.fetch ?? fetch
    try {
      const response = await ask(address, { headers, redirect: 'error', signal: AbortSignal.timeout(30_000) })
      const value = (await response.json()) as { code?: string; message?: string }
      const retryAfter = response.headers.get('retry-after')
      if (response.ok) return { value: value as unknown, error: null, retryAfter }
      const error = new EarshotError(
        value.message ?? `the service answered ${response.status}`,
        value.code ?? 'unexpected_answer',
        response.status,
      )
      return { value: null, error, retryAfter }
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'unknown'
      return { value: null, error: new EarshotError(`no answer: ${reason}`, 'network'), retryAfter: null }
    }
  }
}
