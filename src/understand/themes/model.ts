/** Shapes and limits of themes in the API. */
import { type Static, Type } from '@sinclair/typebox'
import { pageOf, pageQuery } from '../../http/paging.ts'
import { momentParameter } from '../../http/parameters.ts'
import { CHANNELS } from '../../kernel/channel.ts'
import { MAX_NAME } from '../../platform/validation/names.ts'
import {
  count,
  createdAt,
  described,
  integerId,
  moment,
  named,
  oneOf,
  orNull,
  trimmedText,
  uuid,
} from '../../platform/validation/schema.ts'

export const SORTS = ['rising', 'count'] as const
const TITLE_MAKERS = ['terms', 'model', 'person'] as const

const period = {
  channel: Type.Optional(oneOf(CHANNELS, 'Count items of this channel only. Default: all.')),
  since: Type.Optional(
    momentParameter(
      'Count items of the day of this moment and later ones. Days are those of the organization’s time zone.',
    ),
  ),
  until: Type.Optional(
    momentParameter(
      'Count items of days before the day of this moment. Days are those of the organization’s time zone.',
    ),
  ),
}

export const ThemesQuery = Type.Object({
  ...pageQuery(100, 20),
  sort: Type.Optional(
    oneOf(
      SORTS,
      '`rising`: by how far the last seven days exceed the four weeks before. `count`: by items. Default: `count`.',
    ),
  ),
  ...period,
  hidden: Type.Boolean({ default: false, description: '`true`: also those that were hidden.' }),
})

export const ThemeQuery = Type.Object(period)

export const ThemeItemsQuery = Type.Object(pageQuery(100, 20))

const TrendShape = named(
  'ThemeTrend',
  Type.Object({
    recent: count('Items of the last seven full days of the organization’s time zone.'),
    before: Type.Number({ minimum: 0, description: 'Items a week in the four weeks before, on average.' }),
    rising: Type.Boolean({
      description: 'At least 5 recent items, and less than 1 % probable if nothing had changed (Poisson).',
    }),
  }),
)

const theme = {
  id: uuid('Id of the theme.'),
  title: Type.String({
    description: 'What its items have in common.',
    examples: ['The password reset email never arrives'],
  }),
  subtitle: orNull(
    Type.String({ examples: ['password reset · email'] }),
    'Words that its items share. Null if the title consists of them.',
  ),
  titleBy: oneOf(
    TITLE_MAKERS,
    'Who gave the title. `terms`: a quotation or words of the items, `model`: a model server, `person`: a person.',
  ),
  pinned: Type.Boolean({ description: 'It is neither merged nor removed by itself.' }),
  hidden: Type.Boolean({ description: 'It takes items, and lists leave it out.' }),
  count: count('Items, or those of the channel and period that were asked for.'),
  trend: described(TrendShape, 'Whether it grows.'),
  firstAt: orNull(moment('When the oldest item was said, in UTC.'), 'Null without items.'),
  lastAt: orNull(moment('When the newest item was said, in UTC.'), 'Null without items.'),
  createdAt,
}

export const Theme = named('Theme', Type.Object(theme))
export const ThemesPage = named('ThemesPage', pageOf(Theme))

const ThemePlace = named(
  'ThemeItemPlace',
  Type.Object({
    channel: oneOf(CHANNELS, 'Where it was said.'),
    id: Type.String({
      description: 'Id of the session, of the feedback record, or of the recording.',
      examples: ['0198c1f0-0000-7000-8000-000000000003'],
    }),
    feedbackSourceId: orNull(integerId('Id of the feedback source.'), 'Null on other channels.'),
    messageId: orNull(
      Type.String({ examples: ['m1'] }),
      '`externalEventId` of the message; null on other channels.',
    ),
    field: orNull(
      Type.String({ examples: ['comment'] }),
      'Name of the field of the feedback record; null on other channels.',
    ),
    startSec: orNull(
      Type.Number({ minimum: 0 }),
      'Where the quotation begins in the recording, in seconds; null on other channels.',
    ),
    path: Type.String({
      description: 'Where this API has all of it.',
      examples: ['/v3/rest/agent-conversations/sessions/0198c1f0-0000-7000-8000-000000000003'],
    }),
  }),
)

export const ThemeItem = named(
  'ThemeItem',
  Type.Object({
    id: integerId('Id of the item.'),
    themeId: orNull(uuid('Id of the theme.'), 'Null: a person took it out of its theme.'),
    signalId: uuid('Id of the finding.'),
    kind: Type.String({ description: 'Kind of the finding.', examples: ['bug_report'] }),
    rating: orNull(oneOf(['positive', 'negative']), 'Whether it is good or bad; null where neither.'),
    quotation: Type.String({
      description: 'What the customer said, word for word.',
      examples: ['The reset link never arrives.'],
    }),
    place: described(ThemePlace, 'Where it was said.'),
    personId: orNull(uuid('The `uuid` of the person.'), 'Null if unknown.'),
    occurredAt: moment('When it was said, in UTC.'),
    locked: Type.Boolean({ description: 'A person chose its theme. It is not moved by itself.' }),
  }),
)
export const ThemeItemsPage = named('ThemeItemsPage', pageOf(ThemeItem))

const ThemePerson = named(
  'ThemePerson',
  Type.Object({
    personId: uuid('The `uuid` of the person.'),
    name: orNull(
      Type.String({ examples: ['Grace Hopper'] }),
      'Name, else e-mail address. Null without either.',
    ),
    count: count('Items of the person.'),
  }),
)

export const ThemeDetail = named(
  'ThemeDetail',
  Type.Object({
    ...theme,
    negative: count('Of these items, those that are negative.'),
    positive: count('Of these items, those that are positive.'),
    people: Type.Array(ThemePerson, {
      description:
        'People behind the newest 1,000 items, at most 10, those with the most items first. Of items that the caller may see.',
    }),
    quotations: Type.Array(ThemeItem, {
      description:
        'At most five of the newest 200 items, of different subjects, the most typical first. Of items that the caller may see.',
    }),
  }),
)

export const ChangeTheme = Type.Object(
  {
    title: Type.Optional(
      orNull(
        trimmedText('Title.', MAX_NAME),
        'It is never replaced. Null: the theme gets a title by itself again.',
      ),
    ),
    pinned: Type.Optional(
      Type.Boolean({ description: 'The theme is neither merged nor removed by itself.' }),
    ),
    hidden: Type.Optional(Type.Boolean({ description: 'Lists leave the theme out.' })),
  },
  { additionalProperties: false, minProperties: 1 },
)
export type ChangeTheme = Static<typeof ChangeTheme>

export const MergeTheme = Type.Object(
  { themeId: uuid('Id of the theme that becomes part of the theme of the path.') },
  { additionalProperties: false },
)

const itemId = integerId('Id of an item.')

export const SplitTheme = Type.Object(
  {
    itemIds: Type.Array(itemId, {
      minItems: 2,
      maxItems: 2,
      uniqueItems: true,
      description: 'Two items of the theme. Items that are nearer to the second go to the new theme.',
    }),
    title: Type.Optional(trimmedText('Title of the new theme. Absent: it gets one by itself.', MAX_NAME)),
  },
  { additionalProperties: false },
)
export type SplitTheme = Static<typeof SplitTheme>

export const MoveThemeItem = Type.Object(
  { themeId: orNull(uuid('Id of the theme.'), 'Null: it belongs to no theme.') },
  { additionalProperties: false },
)
