/** Shapes and limits of the search over every channel. */
import { Type } from '@sinclair/typebox'
import { pageOf, pageQuery } from '../../http/paging.ts'
import { momentParameter, personParameter } from '../../http/parameters.ts'
import { CHANNELS } from '../../kernel/channel.ts'
import { count, moment, named, oneOf, orNull, text } from '../../platform/validation/schema.ts'
import { MAX_QUERY } from './query.rules.ts'

/** Newest matches that are ranked. */
export const RANKED = 1_000

/** How the passages of an answer were found: by all of the words, by any of them, or also by meaning. */
export const MATCHES = ['all', 'any', 'meaning'] as const
export type Match = (typeof MATCHES)[number]

/** In code points. What of a question is looked for. */
export const MAX_QUESTION = 500

export const SearchQuery = Type.Object({
  ...pageQuery(20, 10),
  q: text(
    `What to look for: 1 to ${MAX_QUERY} characters. If no passage has all of the words, any of them count, and what means the same. \`"a phrase"\`, \`or\` and \`-word\` work as in web ` +
      'search engines. Other forms of a word count. The last word also matches longer words.',
    { minLength: 1, maxLength: MAX_QUERY },
  ),
  channel: Type.Optional(oneOf(CHANNELS, 'Only this channel. Default: all.')),
  person_id: personParameter('Only what this person said or took part in: `id` or `uuid` of the person.'),
  since: Type.Optional(momentParameter('Said at this time or later.')),
  until: Type.Optional(momentParameter('Said before this time.')),
})

const FoundPassage = named(
  'FoundPassage',
  Type.Object({
    channel: oneOf(
      CHANNELS,
      'Where it was said: in a conversation with an agent, a feedback record, or a recording.',
    ),
    id: Type.String({
      description: 'Id of the session of the conversation, of the feedback record, or of the recording.',
    }),
    feedbackSourceId: orNull(
      Type.Integer({ minimum: 1 }),
      'Id of the feedback source; null on other channels.',
    ),
    title: orNull(
      Type.String(),
      'The person of the conversation, or its application; name of the feedback source, or of the recording. Null if there is none.',
    ),
    passage: Type.String({
      description:
        'The text around what was found, as HTML: escaped, with `<mark>` around the words that were found and no other tag.',
      examples: ['The <mark>export</mark> of my <mark>invoices</mark> fails.'],
    }),
    occurredAt: moment('When it was said, in UTC. For a recording: when it began.'),
    personId: orNull(
      Type.String({ format: 'uuid' }),
      'The `uuid` of the person who said it; null if unknown.',
    ),
    startSec: orNull(
      Type.Number({ minimum: 0 }),
      'Where the passage starts in the recording, in seconds; null on other channels.',
    ),
    score: Type.Number({
      minimum: 0,
      description: 'The order of the results. Comparable within one answer only.',
    }),
  }),
)

const page = pageOf(FoundPassage)
export const FoundPassages = named(
  'FoundPassages',
  Type.Object({
    ...page.properties,
    matches: count(
      `Passages that were found, at most ${RANKED.toLocaleString('en')}. A conversation, record or recording is shown once, with its best passage.`,
    ),
    has_more_matches: Type.Boolean({
      description: `True if there are more than ${RANKED.toLocaleString('en')} matches. The newest were ranked.`,
    }),
    match: oneOf(
      MATCHES,
      '`all`: the passages have all of the words. `any`: no passage has all of them, and these have some; the rarer a word is in the ' +
        'organization, the more it counts. `meaning`: as `any`, and passages that mean the same in other words. More values may follow.',
    ),
    complete: Type.Boolean({
      description:
        'False if the words of the search could not be understood at the moment, so passages that only mean the same are missing. Ask again.',
    }),
    is_corrected: Type.Boolean({
      description: 'True if nothing matched as written, and these are matches of similar words.',
    }),
  }),
)
