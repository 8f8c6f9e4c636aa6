/** The tools that read what customers said. */
import { Type } from '@sinclair/typebox'
import { OUTCOMES } from '../../../analysis/analyze/insight.ts'
import { RATINGS, SIGNAL_KINDS } from '../../../hear/agents/model.ts'
import { moment } from '../../../http/parameters.ts'
import { CHANNELS } from '../../../kernel/channel.ts'
import { moment as momentSchema, oneOf, orNull, text } from '../../../platform/validation/schema.ts'
import { CoverageShape, TimeZoneOfDays } from '../../../understand/counts/counts.model.ts'
import { KEYS, METRICS } from '../../../understand/counts/model.ts'
import type { Insight } from '../../../understand/counts/service.ts'
import { pathOf } from '../../../understand/counts/timeline/page.rules.ts'
import { toText } from '../../../understand/search/highlight.rules.ts'
import { RANKED } from '../../../understand/search/model.ts'
import { MAX_QUERY } from '../../../understand/search/query.rules.ts'
import type { Search } from '../../../understand/search/service.ts'
import { type Tool, tool } from './tool.ts'

/** What to know about passages, by how they were found. */
const NOTES = {
  all: null,
  any: 'No passage has all of these words. These have some of them.',
  meaning: 'No passage has all of these words. These have some of them, or a similar meaning.',
} as const
const MAX_QUOTATIONS = 20
/** What a coding agent can read. */
const MAX_GROUPS = 500

const since = Type.Optional(
  momentSchema('From this time on: RFC 3339 with offset, such as 2026-01-02T00:00:00Z.'),
)
const until = Type.Optional(momentSchema('Before this time: RFC 3339 with offset.'))
const limit = (maximum: number) =>
  Type.Optional(
    Type.Integer({ minimum: 1, maximum, description: `At most so many: 1 to ${maximum}. Default: 10.` }),
  )

const shared = {
  channel: oneOf(
    CHANNELS,
    'Where it was said: in a recording, a feedback record, or a conversation with an agent.',
  ),
  id: Type.String({
    description: 'Id of the recording, of the feedback record, or of the session of the conversation.',
  }),
  title: orNull(
    Type.String(),
    'Name of the recording or of the feedback source, or of the person or the agent of the conversation.',
  ),
  occurredAt: Type.String({ format: 'date-time', description: 'When it was said, in UTC.' }),
  link: Type.String({ description: 'Where the REST API has more of it.' }),
}

export function insightTools(
  { insight, search }: { readonly insight: Insight; readonly search: Search },
  publicBaseUrl: string | null,
): readonly Tool[] {
  const linkOf = linksOf(publicBaseUrl ?? '')
  return [searchVoice(search, linkOf), getInsights(insight)]
}

type LinkOf = (found: Parameters<typeof pathOf>[0]) => string

const searchVoice = (search: Search, linkOf: LinkOf) =>
  tool({
    name: 'search-customer-voice',
    title: 'Search what customers said',
    description:
      'Finds passages in conversations, feedback records and transcripts, the best first, with the time and a link. If no passage ' +
      `has all of the words, any of them count, and what means the same: \`match\` is \`any\` or \`meaning\`. Other forms of a word count. "a phrase", or, and -word work as in web search engines. The newest ${RANKED.toLocaleString('en')} matches are ` +
      'ranked. If nothing matches, similar words are looked for. Use few distinctive words rather than a sentence.',
    changes: false,
    idempotent: true,
    input: Type.Object(
      {
        query: text('Words to look for: at most 200 characters.', { minLength: 1, maxLength: MAX_QUERY }),
        channel: Type.Optional(oneOf(CHANNELS, 'Only this channel. Default: all.')),
        since,
        until,
        limit: limit(MAX_QUOTATIONS),
      },
      { additionalProperties: false },
    ),
    output: Type.Object({
      match: oneOf(
        ['all', 'any', 'meaning'],
        'Whether the passages have all of the words, any of them, or also the same meaning in other words.',
      ),
      complete: Type.Boolean({
        description:
          'False if passages that only mean the same could not be looked for at the moment. Ask again.',
      }),
      note: orNull(Type.String(), 'What to know about the passages.'),
      data: Type.Array(
        Type.Object({
          ...shared,
          text: Type.String({ description: 'The words around what was found.' }),
          startSec: orNull(Type.Number(), 'Where in the recording, in seconds; null elsewhere.'),
        }),
      ),
    }),
    async prepare(user, input) {
      search.assertWords(input.query, 'query')
      const request = { ...input, ...periodOf(input), limit: input.limit ?? 10, after: null }
      return {
        async run() {
          const { rows, match, complete } = await search.search(user, request)
          const data = rows
            .slice(0, request.limit)
            .map(({ channel, id, title, headline, occurredAt, startSec, feedbackSourceId }) => {
              const link = linkOf({ channel, id, sourceId: feedbackSourceId })
              return { channel, id, title, text: toText(headline), occurredAt, startSec, link }
            })
          return { match, complete, note: NOTES[match], data }
        },
      }
    },
  })

const getInsights = (insight: Insight) =>
  tool({
    name: 'get-insights',
    title: 'Count what customers said',
    description:
      'Counts by one or two keys. `signals`: ratings and findings from every channel, by day, week, kind, rating, productArea, agentVersion, ' +
      'channel or agentKey. `sessions`: conversations with agents, by day, week, status, productArea, agentVersion or agentKey. `outcomes` of ' +
      'conversations and recordings: by outcome, day, week, productArea, agentVersion, channel or agentKey. `feedback`: records, by day, week ' +
      'or source. `recordings`: by day, week or source. The period has whole days of the organization’s time zone: at most 366, by default the last 30.',
    changes: false,
    idempotent: true,
    input: Type.Object(
      {
        metric: Type.Optional(oneOf(METRICS, 'What is counted. Default: `signals`.')),
        by: Type.Array(oneOf(KEYS), {
          minItems: 1,
          maxItems: 2,
          description:
            'One or two keys. Days and weeks are those of the organization’s time zone; a week is named by its Monday.',
        }),
        since,
        until,
        filters: Type.Optional(
          Type.Object(
            {
              kind: Type.Optional(oneOf(SIGNAL_KINDS, 'Only signals of this kind.')),
              rating: Type.Optional(oneOf(RATINGS, 'Only signals with this rating.')),
              productArea: Type.Optional(text('Only of this area of the product.', { maxLength: 512 })),
              agentVersion: Type.Optional(text('Only of this version of the agent.', { maxLength: 512 })),
              outcome: Type.Optional(oneOf(OUTCOMES, 'Only this outcome.')),
              channel: Type.Optional(oneOf(CHANNELS, 'Only this channel.')),
              agentKey: Type.Optional(text('Only of this agent.', { maxLength: 512 })),
            },
            { additionalProperties: false },
          ),
        ),
      },
      { additionalProperties: false },
    ),
    output: Type.Object({
      metric: oneOf(METRICS, 'What was counted.'),
      timeZone: TimeZoneOfDays,
      since: Type.String({ format: 'date-time', description: 'The first day begins here.' }),
      until: Type.String({ format: 'date-time', description: 'The last day ends here.' }),
      data: Type.Array(
        Type.Object({
          keys: Type.Object(
            Object.fromEntries(KEYS.map((key) => [key, Type.Optional(orNull(Type.String()))])),
            { description: 'The values of the keys; null: without one.' },
          ),
          count: Type.Integer({ minimum: 1 }),
        }),
      ),
      total: Type.Integer({ minimum: 0, description: 'Everything that was counted.' }),
      coverage: CoverageShape,
      complete: Type.Boolean({
        description: `False if there are more than ${MAX_GROUPS} groups, and while old rows are still being counted.`,
      }),
    }),
    async prepare(user, { metric = 'signals', by, filters = {}, ...input }) {
      const request = { metric, by, ...filters, ...periodOf(input) }
      insight.checkCounts(request, (filter) => `filters.${filter}`)
      return {
        async run() {
          const { data, ...counts } = await insight.counts(user, request)
          const isCut = data.length > MAX_GROUPS
          return { metric, ...counts, data: data.slice(0, MAX_GROUPS), complete: counts.complete && !isCut }
        },
      }
    },
  })

function periodOf({ since: from, until: to }: { readonly since?: string; readonly until?: string }) {
  return { since: moment('since', from), until: moment('until', to) }
}

const linksOf =
  (base: string): LinkOf =>
  (found) =>
    `${base}${pathOf(found)}`
