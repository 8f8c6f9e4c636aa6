/** Operations on themes. */
import { recorded } from '../../access/audit/change.ts'
import { created, type Operation, ok, operation } from '../../http/operation.ts'
import { keyset, toPage } from '../../http/paging.ts'
import { integerId, integerIdOf, moment, uuidOf } from '../../http/parameters.ts'
import { invalid } from '../../platform/validation/json.ts'
import { pathOf } from '../counts/timeline/page.rules.ts'
import * as model from './model.ts'
import type { Counted, ItemRow, ListedTheme, Themes } from './service.ts'

const THEMES = '/v3/rest/themes'
const THEME = `${THEMES}/{themeId}`
const TAG = 'Insight'
const NOT_FOUND = 'theme_not_found'
const themeParameter = { themeId: uuidOf('theme') }
const EXAMPLE = '0198c1f0-0000-7000-8000-000000000004'

const byPlace = {
  count: keyset('themes_count', ['text', 'uuid']),
  rising: keyset('themes_rising', ['text', 'uuid']),
}
const byTime = keyset('theme_items', ['integer', 'integer'])

export function themeOperations(themes: Themes): readonly Operation[] {
  return [
    listThemes(themes),
    getTheme(themes),
    listItems(themes),
    changeTheme(themes),
    mergeThemes(themes),
    splitTheme(themes),
    moveItem(themes),
  ]
}

const listThemes = (themes: Themes) =>
  operation({
    id: 'listThemes',
    method: 'GET',
    path: THEMES,
    tag: TAG,
    summary: 'List themes',
    description:
      'What customers say again and again, on every channel. An item of a theme is a quotation of a finding. `channel`, `since` and `until` ' +
      'say which items count; themes without such items are left out, unless they are pinned. By `cursor`.',
    access: 'organizationOrUser',
    role: 'viewer',
    query: model.ThemesQuery,
    success: { status: 200, description: 'A page of themes', schema: model.ThemesPage },
    async handler({ principal, query }) {
      const { sort = 'count', hidden, limit, cursor, ...period } = query()
      const order = byPlace[sort]
      const rows = await themes.list(principal, {
        sort,
        hidden,
        counted: countedOf(period),
        limit,
        after: placeIn(order.decode(cursor)),
      })
      return ok(toPage(rows, limit, ({ place, id }) => order.encode([String(place), id]), resourceOf))
    },
  })

function placeIn(values: readonly [string, string] | null): readonly [number, string] | null {
  if (values === null) return null
  const place = Number(values[0])
  if (Number.isFinite(place)) return [place, values[1]]
  throw invalid([{ path: 'cursor', code: 'cursor', message: 'is not a cursor of this list' }])
}

/** @throws AppError 400 */
const countedOf = ({ channel, since, until }: Counted): Counted => ({
  channel,
  since: moment('since', since),
  until: moment('until', until),
})

const getTheme = (themes: Themes) =>
  operation({
    id: 'getTheme',
    method: 'GET',
    path: THEME,
    params: themeParameter,
    tag: TAG,
    summary: 'Read a theme',
    description:
      'Counts, the trend, people, and five quotations with their places. The id of a theme that was merged gives the theme that was kept. ' +
      'Quotations and people of conversations and recordings that the caller may not see are left out; counts and the title are those of the organization.',
    access: 'organizationOrUser',
    role: 'viewer',
    reads: { action: 'theme.read', object: 'themeId' },
    query: model.ThemeQuery,
    success: { status: 200, description: 'The theme', schema: model.ThemeDetail },
    errors: [NOT_FOUND],
    async handler({ principal, id, query }) {
      const themeId = id('themeId', NOT_FOUND)
      const { negative, positive, people, quotations, ...row } = await themes.detail(
        principal,
        themeId,
        countedOf(query()),
      )
      return ok({ ...resourceOf(row), negative, positive, people, quotations: quotations.map(itemOf) })
    },
  })

const listItems = (themes: Themes) =>
  operation({
    id: 'listThemeItems',
    method: 'GET',
    path: `${THEME}/items`,
    params: themeParameter,
    tag: TAG,
    summary: 'List the items of a theme',
    description: 'Newest first, by `cursor`. Items of subjects that the caller may not see are left out.',
    access: 'organizationOrUser',
    role: 'viewer',
    reads: { action: 'theme.listed', object: 'themeId' },
    query: model.ThemeItemsQuery,
    success: { status: 200, description: 'A page of items', schema: model.ThemeItemsPage },
    errors: [NOT_FOUND],
    async handler({ principal, id, query }) {
      const themeId = id('themeId', NOT_FOUND)
      const { limit, cursor } = query()
      const { rows, end } = await themes.items(principal, themeId, { limit, after: byTime.decode(cursor) })
      const next = (row: ItemRow) => byTime.encode([row.microseconds, row.id])
      return ok(
        toPage(rows, limit, next, itemOf, end === null ? null : byTime.encode([end[0], Number(end[1])])),
      )
    },
  })

const changeTheme = (themes: Themes) =>
  operation({
    id: 'updateTheme',
    method: 'PATCH',
    path: THEME,
    params: themeParameter,
    tag: TAG,
    summary: 'Rename, pin or hide a theme',
    description:
      'A title that a person gives is never replaced. A pinned theme is neither merged nor removed by itself. A hidden theme takes items, and ' +
      'lists leave it out. Members that are absent stay as they are.',
    access: 'organizationOrUser',
    role: 'analyst',
    body: model.ChangeTheme,
    example: { title: 'Password reset mails do not arrive', pinned: true },
    success: { status: 200, description: 'The theme', schema: model.Theme },
    errors: [NOT_FOUND],
    async handler(call) {
      const id = call.id('themeId', NOT_FOUND)
      let changed: model.ChangeTheme = {}
      const read = async () => {
        changed = await call.body()
        return changed
      }
      const also = recorded<string>(
        call,
        'theme.updated',
        (themeId) => themeId,
        () => ({
          members: Object.keys(changed),
        }),
      )
      return ok(resourceOf(await themes.change(call.principal, id, read, also)))
    },
  })

const mergeThemes = (themes: Themes) =>
  operation({
    id: 'mergeThemes',
    method: 'POST',
    path: `${THEME}/merge`,
    params: themeParameter,
    tag: TAG,
    summary: 'Merge two themes',
    description:
      'The theme of `themeId` becomes part of the theme of the path. Its id answers with the theme of the path from now on. Its items ' +
      'move in the background, 1,000 at a time. Repeated, it changes nothing.',
    access: 'organizationOrUser',
    role: 'analyst',
    body: model.MergeTheme,
    example: { themeId: EXAMPLE },
    success: { status: 200, description: 'The theme that was kept', schema: model.Theme },
    errors: [NOT_FOUND],
    async handler(call) {
      const id = call.id('themeId', NOT_FOUND)
      const also = recorded<{ themeId: string; mergedId: string }>(
        call,
        'theme.merged',
        ({ themeId }) => themeId,
        ({ mergedId }) => ({ mergedId }),
      )
      return ok(resourceOf(await themes.merge(call.principal, id, call.body, also)))
    },
  })

const splitTheme = (themes: Themes) =>
  operation({
    id: 'splitTheme',
    method: 'POST',
    path: `${THEME}/split`,
    params: themeParameter,
    tag: TAG,
    summary: 'Split a theme',
    description:
      'Makes a new theme. Items that are nearer to the second of the two items move there in the background, 1,000 at a time. The two items ' +
      'stay where they are then. Neither theme is merged by itself any more.',
    access: 'organizationOrUser',
    role: 'analyst',
    body: model.SplitTheme,
    example: { itemIds: [17, 42], title: 'Reset mails go to spam' },
    success: { status: 201, description: 'The new theme', schema: model.Theme },
    errors: [NOT_FOUND, 'theme_item_not_found', 'too_many_themes'],
    async handler(call) {
      const id = call.id('themeId', NOT_FOUND)
      const also = recorded<{ themeId: string; newThemeId: string }>(
        call,
        'theme.split',
        ({ themeId }) => themeId,
        ({ newThemeId }) => ({ newThemeId }),
      )
      const row = await themes.split(call.principal, id, call.body, also)
      return created(`${THEMES}/${row.id}`, resourceOf(row))
    },
  })

const moveItem = (themes: Themes) =>
  operation({
    id: 'moveThemeItem',
    method: 'PUT',
    path: '/v3/rest/theme-items/{itemId}',
    params: { itemId: integerIdOf('item') },
    tag: TAG,
    summary: 'Move an item to another theme',
    description:
      'The item stays there: it is not moved by itself any more, and it counts twice when new items are compared with the theme.',
    access: 'organizationOrUser',
    role: 'analyst',
    body: model.MoveThemeItem,
    example: { themeId: EXAMPLE },
    success: { status: 200, description: 'The item', schema: model.ThemeItem },
    errors: ['theme_item_not_found', NOT_FOUND],
    async handler(call) {
      const id = integerId(call.param('itemId'), 'theme_item_not_found')
      const also = recorded<{ themeId: string | null }>(
        call,
        'theme_item.moved',
        () => id,
        ({ themeId }) => ({ themeId }),
      )
      return ok(itemOf(await themes.moveItem(call.principal, id, call.body, also)))
    },
  })

function resourceOf({
  mergedInto: _,
  recent: _recent,
  earlier: _earlier,
  place: _place,
  ...theme
}: ListedTheme) {
  return theme
}

function itemOf({ channel, subjectId, feedbackSourceId, messageId, field, startSec, ...row }: ItemRow) {
  const { id, themeId, signalId, kind, rating, quotation, personId, occurredAt, locked } = row
  const path = pathOf({ channel, id: subjectId, sourceId: feedbackSourceId })
  const place = { channel, id: subjectId, feedbackSourceId, messageId, field, startSec, path }
  return { id, themeId, signalId, kind, rating, quotation, place, personId, occurredAt, locked }
}
