/**
 * Use cases of themes: what callers read and what people change. The same rules of access hold as in the lists: quotations and people of
 * conversations and recordings that the caller may not see are left out. Counts and titles are those of the organization.
 */
import { transactionWithOutbox } from '../../actors/mailbox.ts'
import type { Folders } from '../../calls/folders/service.ts'
import type { Conversations } from '../../hear/agents/reads/service.ts'
import type { Deps } from '../../kernel/deps.ts'
import { themesMessages } from '../../kernel/messages/themes.ts'
import type { Viewer } from '../../kernel/principal.ts'
import type { Alongside } from '../../platform/db/alongside.ts'
import { scan } from '../../platform/db/bounded-scan.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import { AppError } from '../../platform/errors.ts'
import { nameOf } from '../../platform/validation/names.ts'
import { mergeMessage } from './actor.ts'
import { type Counted, daysOfPeriod } from './days.ts'
import * as edit from './edit.store.ts'
import { readItems } from './items.store.ts'
import { MAX_THEMES } from './link.ts'
import { moveItems } from './membership.ts'
import type { ChangeTheme, SORTS, SplitTheme } from './model.ts'
import * as store from './read.store.ts'
import { insertThemes, keptThemes, lockProgress, mergeThemes } from './themes.store.ts'
import { riseOf, type Trend, trendOf } from './trend.rules.ts'
import { emptySum, sumBytes } from './vector.rules.ts'

export type Themes = ReturnType<typeof createThemes>
export type { Counted } from './days.ts'
export type { ItemRow } from './read.store.ts'

export interface ThemesDeps extends Pick<Deps, 'sql' | 'reads' | 'clock' | 'newId' | 'notifier'> {
  readonly folders: Pick<Folders, 'visibleRecording'>
  readonly conversations: Pick<Conversations, 'readableApplications'>
}

/** A theme with its trend and its place in the order of the list. */
export interface ListedTheme extends store.ThemeRow {
  readonly trend: Trend
  readonly place: number
}

/** Newest items that quotations and people are taken from. */
const QUOTED = 200
const WITH_PEOPLE = 1_000
const QUOTATIONS = 5
const PEOPLE = 10

export function createThemes(deps: ThemesDeps) {
  const { reads, clock } = deps
  const daysOf = ({ organizationId }: Viewer, counted: Counted) =>
    daysOfPeriod(reads, organizationId, counted, clock.now())
  const accessOf = (sql: Query, viewer: Viewer): store.Access => {
    const reader = {
      organizationId: viewer.organizationId,
      userId: viewer.kind === 'user' ? viewer.userId : null,
    }
    return {
      applications: deps.conversations.readableApplications(sql, reader, undefined),
      recordings: deps.folders.visibleRecording(sql, viewer),
    }
  }

  async function theme(viewer: Viewer, id: string, counted: Counted = {}): Promise<ListedTheme> {
    const days = await daysOf(viewer, counted)
    const row = await store.findTheme(reads, viewer.organizationId, id, days)
    return row === undefined ? noTheme() : listed('count')(row)
  }

  /** The items that the caller may see, in the order of the ids. @throws AppError 404 */
  async function visibleItems(
    tx: Tx,
    viewer: Viewer,
    ids: readonly number[],
  ): Promise<readonly store.ItemRow[]> {
    const rows = await store.findItems(tx, viewer.organizationId, ids, accessOf(tx, viewer))
    return ids.map((id) => rows.find((one) => one.id === id) ?? noItem())
  }

  return {
    /** One row more than the limit. */
    async list(
      viewer: Viewer,
      {
        sort,
        hidden,
        counted,
        after,
        limit,
      }: {
        readonly sort: (typeof SORTS)[number]
        readonly hidden: boolean
        readonly counted: Counted
        readonly after: readonly [place: number, id: string] | null
        readonly limit: number
      },
    ): Promise<readonly ListedTheme[]> {
      const days = await daysOf(viewer, counted)
      const rows = await store.listThemes(reads, viewer.organizationId, days, hidden)
      return rows
        .map(listed(sort))
        .filter(({ count, pinned }) => count > 0 || pinned)
        .toSorted((a, b) => b.place - a.place || (a.id < b.id ? -1 : 1))
        .filter(
          ({ place, id }) => after === null || place < after[0] || (place === after[0] && id > after[1]),
        )
        .slice(0, limit + 1)
    },

    theme,

    /** @throws AppError 404 */
    async detail(viewer: Viewer, id: string, counted: Counted) {
      const days = await daysOf(viewer, counted)
      const found = await theme(viewer, id, counted)
      const { organizationId } = viewer
      const access = accessOf(reads, viewer)
      const newest = { after: null, limit: QUOTED, examined: QUOTED }
      const [rated, people, items] = await Promise.all([
        store.countRated(reads, organizationId, found.id, days),
        store.listPeople(reads, organizationId, found.id, access, WITH_PEOPLE, PEOPLE),
        store.listItems(reads, organizationId, found.id, access, newest),
      ])
      return { ...found, ...rated, people, quotations: typical(items) }
    },

    /** Newest first. @throws AppError 404 */
    async items(
      viewer: Viewer,
      id: string,
      slice: { readonly after: readonly [number, number] | null; readonly limit: number },
    ) {
      const found = await theme(viewer, id)
      const { organizationId } = viewer
      return scan<store.ItemRow, number>({
        limit: slice.limit,
        page: () =>
          store.listItems(reads, organizationId, found.id, accessOf(reads, viewer), {
            ...slice,
            examined: null,
          }),
        async end() {
          const row = await store.endOfItems(reads, organizationId, found.id, slice.after)
          return row === null ? null : [row.microseconds, padded(row.id)]
        },
        placeOf: (row) => [row.microseconds, padded(row.id)],
      })
    },

    /** A title of a person is never replaced. @throws AppError 404; errors of `read` */
    async change(viewer: Viewer, id: string, read: () => Promise<ChangeTheme>, also?: Alongside<string>) {
      const { organizationId } = viewer
      await theme(viewer, id)
      const given = await read()
      const change =
        typeof given.title === 'string' ? { ...given, title: nameOf('title', given.title) } : given
      const kept = await transactionWithOutbox(deps, async (tx, outbox) => {
        // A merge may be under way: the change is for the theme that has the items afterwards.
        await lockProgress(tx, organizationId)
        const themeId = await keptOrNone(tx, organizationId, id)
        await edit.updateTheme(tx, organizationId, themeId, change)
        await also?.(tx, themeId)
        if (change.title === null)
          await outbox.send([
            themesMessages.message(organizationId, 'retitle', { organizationId, payload: { themeId } }),
          ])
        return themeId
      })
      return theme(viewer, kept)
    },

    /** Makes the other theme a part of this one. Repeated, it changes nothing. @throws AppError 404; errors of `read` */
    async merge(
      viewer: Viewer,
      id: string,
      read: () => Promise<{ readonly themeId: string }>,
      also?: Alongside<{ readonly themeId: string; readonly mergedId: string }>,
    ) {
      const { organizationId } = viewer
      await theme(viewer, id)
      const given = (await read()).themeId.toLowerCase()
      await transactionWithOutbox(deps, async (tx, outbox) => {
        await lockProgress(tx, organizationId)
        const into = await keptOrNone(tx, organizationId, id)
        const other = await keptOrNone(tx, organizationId, given)
        if (into === other) return
        const merged = await mergeThemes(tx, organizationId, other, into)
        await edit.markShaped(tx, organizationId, [into])
        await also?.(tx, { themeId: into, mergedId: other })
        for (const one of merged) await outbox.send([mergeMessage(organizationId, one.id)])
      })
      return theme(viewer, id)
    },

    /** Makes a new theme of the items that are nearer to the second item. @throws AppError 404, 409; errors of `read` */
    async split(
      viewer: Viewer,
      id: string,
      read: () => Promise<SplitTheme>,
      also?: Alongside<{ readonly themeId: string; readonly newThemeId: string }>,
    ) {
      const { organizationId } = viewer
      const { title: oldTitle } = await theme(viewer, id)
      const { itemIds, title: given } = await read()
      const title = given === undefined ? undefined : nameOf('title', given)
      const newThemeId = deps.newId()
      await transactionWithOutbox(deps, async (tx, outbox) => {
        await lockProgress(tx, organizationId)
        const themeId = await keptOrNone(tx, organizationId, id)
        const [first, second] = await visibleItems(tx, viewer, itemIds)
        if (first?.themeId !== themeId || second?.themeId !== themeId) noItem()
        if ((await edit.countThemes(tx, organizationId)) >= MAX_THEMES) tooMany()
        const titleBy = title === undefined ? ('terms' as const) : ('person' as const)
        const made = { id: newThemeId, title: title ?? oldTitle, titleBy, titledCount: 0 }
        await insertThemes(tx, organizationId, [made], sumBytes(emptySum()))
        await edit.markShaped(tx, organizationId, [themeId, newThemeId])
        await moveItems(tx, organizationId, await readItems(tx, organizationId, itemIds), (item) => ({
          themeId: item.id === second.id ? newThemeId : themeId,
          score: null,
          locked: true,
        }))
        await also?.(tx, { themeId, newThemeId })
        const items: [number, number] = [first.id, second.id]
        const payload = { themeId, newThemeId, items, after: null }
        await outbox.send([themesMessages.message(organizationId, 'split', { organizationId, payload })])
      })
      return theme(viewer, newThemeId)
    },

    /** Puts an item into a theme, or into none, for good. @throws AppError 404; errors of `read` */
    async moveItem(
      viewer: Viewer,
      itemId: number,
      read: () => Promise<{ readonly themeId: string | null }>,
      also?: Alongside<{ readonly themeId: string | null }>,
    ): Promise<store.ItemRow> {
      const { organizationId } = viewer
      const [known] = await store.findItems(reads, organizationId, [itemId], accessOf(reads, viewer))
      if (known === undefined) noItem()
      const { themeId: given } = await read()
      return transactionWithOutbox(deps, async (tx) => {
        await lockProgress(tx, organizationId)
        const themeId = given === null ? null : await keptOrNone(tx, organizationId, given)
        const items = await readItems(tx, organizationId, [itemId])
        await moveItems(tx, organizationId, items, () => ({ themeId, score: null, locked: true }))
        await also?.(tx, { themeId })
        const [moved] = await visibleItems(tx, viewer, [itemId])
        return moved ?? noItem()
      })
    },
  }
}

const listed =
  (sort: (typeof SORTS)[number]) =>
  (row: store.ThemeRow): ListedTheme => {
    const trend = trendOf(row.recent, row.earlier)
    // Compared and sent as text, so that a cursor has exactly this number.
    return { ...row, trend, place: sort === 'count' ? row.count : Number(riseOf(trend).toFixed(6)) }
  }

/** The nearest items of different subjects. */
function typical(items: readonly store.ItemRow[]): readonly store.ItemRow[] {
  const ranked = items.toSorted((a, b) => (b.score ?? 0) - (a.score ?? 0))
  const bySubject = new Map<string, store.ItemRow>()
  for (const item of ranked) {
    const subject = `${item.channel} ${item.subjectId}`
    if (!bySubject.has(subject)) bySubject.set(subject, item)
  }
  return [...bySubject.values()].slice(0, QUOTATIONS)
}

/** As text of one length, which sorts in the order of ids. */
const padded = (id: number) => String(id).padStart(16, '0')

async function keptOrNone(tx: Query, organizationId: string, id: string): Promise<string> {
  return (await keptThemes(tx, organizationId, [id])).get(id) ?? noTheme()
}

function noTheme(): never {
  throw new AppError('theme_not_found', 'There is no such theme.')
}

function noItem(): never {
  throw new AppError('theme_item_not_found', 'There is no such item in the theme.')
}

function tooMany(): never {
  throw new AppError('too_many_themes', `An organization has at most ${MAX_THEMES} themes.`)
}
