/** Shapes of `GET /v3/rest/insights/counts`. */
import { Type } from '@sinclair/typebox'
import { OUTCOMES } from '../../analysis/analyze/insight.ts'
import { RATINGS, SIGNAL_KINDS } from '../../hear/agents/model.ts'
import { momentParameter } from '../../http/parameters.ts'
import { CHANNELS } from '../../kernel/channel.ts'
import { count, named, oneOf, orNull, text, uuid } from '../../platform/validation/schema.ts'
import { MAX_DAYS } from './counts.rules.ts'
import { MAX_GROUPS } from './counts.store.ts'
import { KEYS, METRICS } from './model.ts'

const key = `(?:${KEYS.join('|')})`

export const CountQuery = Type.Object({
  metric: oneOf(METRICS, 'What is counted.'),
  by: Type.String({
    pattern: `^${key}(?:,${key})?$`,
    words: `one or two of ${KEYS.join(', ')}, separated by a comma`,
    description:
      `One or two keys, separated by a comma: ${KEYS.map((name) => `\`${name}\``).join(', ')}. Which keys a metric has is described above. ` +
      'Days and weeks are those of the organization’s time zone; a week is named by its Monday.',
    examples: ['week,kind'],
  }),
  since: Type.Optional(
    momentParameter('From this day on; the whole day counts. Default: 30 days before `until`.'),
  ),
  until: Type.Optional(
    momentParameter(
      `Before this time; a day that has begun by then counts wholly. Default: today is the last day. At most ${MAX_DAYS} days after \`since\`.`,
    ),
  ),
  kind: Type.Optional(oneOf(SIGNAL_KINDS, 'Only signals of this kind.')),
  rating: Type.Optional(oneOf(RATINGS, 'Only signals with this rating.')),
  productArea: Type.Optional(text('Only of this area of the product.', { minLength: 1, maxLength: 512 })),
  agentVersion: Type.Optional(text('Only of this version of the agent.', { minLength: 1, maxLength: 512 })),
  outcome: Type.Optional(oneOf(OUTCOMES, 'Only this outcome.')),
  theme: Type.Optional(uuid('Only signals in this theme.')),
  channel: Type.Optional(oneOf(CHANNELS, 'Only this channel.')),
  agentKey: Type.Optional(text('Only of this agent.', { minLength: 1, maxLength: 512 })),
})

export const CoverageShape = Type.Object(
  {
    read: count('Analysed.'),
    waiting: count('Not analysed yet.'),
    notRead: count(
      'Not analysed: in another language, without words, without stored content, or without credits.',
    ),
  },
  {
    description:
      'How many conversations, feedback records and recordings of these days were read, on the channels that the metric counts: with the ' +
      'filters `channel`, `agentKey`, `productArea` and `agentVersion`, without the others. `analysis` of each one says why it was not read.',
  },
)

export const TimeZoneOfDays = Type.String({
  description:
    'The time zone of the organization, by whose days everything is counted. A name of the IANA time zone database.',
})

export const CountAnswer = named(
  'Counts',
  Type.Object({
    timeZone: TimeZoneOfDays,
    since: Type.String({ format: 'date-time', description: 'The first day begins here, in UTC.' }),
    until: Type.String({ format: 'date-time', description: 'The last day ends here, in UTC.' }),
    data: Type.Array(
      Type.Object(
        {
          ...Object.fromEntries(
            KEYS.map((name) => [
              name,
              Type.Optional(orNull(Type.String(), `Value of the key \`${name}\`; null: none.`)),
            ]),
          ),
          count: count('How many.'),
        },
        { description: 'A combination of values of the keys, and how often it occurs.' },
      ),
      {
        description: `The newest day or week first, then the highest count. At most ${MAX_GROUPS.toLocaleString('en')} combinations.`,
      },
    ),
    total: count('Everything that was counted.'),
    coverage: CoverageShape,
    complete: Type.Boolean({
      description:
        'False if there are more combinations than are shown, while rows that an older version stored are still being counted, and while rows ' +
        'move to the days of another time zone.',
    }),
  }),
)
