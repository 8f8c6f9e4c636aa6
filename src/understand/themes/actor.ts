/**
 * The actor that keeps the themes of an organization. All its turns lock the organization's themes before they write, and so do the requests of
 * people, so that an item, the centroid, the counts and the words of its theme always change together.
 */

import { defineActor } from '../../actors/declaration.ts'
import type { ActorDefinition, LongTurn, NewMessage } from '../../actors/types.ts'
import type { AnalyzerDeps } from '../../analysis/analyze/create.ts'
import type { Deps } from '../../kernel/deps.ts'
import { themesMessages } from '../../kernel/messages/themes.ts'
import { choose, embed, isOutdated, MAX_ASSIGNED, readWork, saveAssigned } from './assign.ts'
import { deleteChanges, readChanges } from './changes.store.ts'
import { forget } from './forget.ts'
import { link, planLinks, saveLinks } from './link.ts'
import type { Touched } from './membership.ts'
import { moveMerged, moveSplit } from './moves.ts'
import { retitle } from './retitle.ts'
import { readSurroundings } from './surroundings.ts'
import { readThemes } from './themes.store.ts'
import { needsTitle } from './title.rules.ts'
import { brokenTitles } from './titles.store.ts'

type ThemeDeps = Pick<Deps & AnalyzerDeps, 'modelServer' | 'newId' | 'textWork'>

/** Items after which the pool is linked. */
export const LINK_AFTER = 100
const MAX_ATTEMPTS = 10
/** Titles that a turn of `link` replaces because what they quote is not open to everybody any more. */
const BROKEN = 100

export function themesActor(deps: ThemeDeps): ActorDefinition {
  const isDue = isDueWith(deps)
  return defineActor(themesMessages, {
    maxAttempts: MAX_ATTEMPTS,
    giveUp: {
      // After failures a turn handles one change (`readWork`). It is dropped, so that the queue continues.
      async assign({ id }, tx) {
        const changes = await readChanges(tx, id, false, 1)
        await deleteChanges(
          tx,
          id,
          changes.map((one) => one.id),
        )
        return 'handled'
      },
    },
    handlers: {
      assign: (turn) => assign(deps, turn),
      async forget(turn) {
        const { id } = turn.message
        await turn.finish(async (tx, send) => {
          const { touched, hasMore } = await forget(tx, id)
          if (hasMore) await send([toThemes(id, 'forget')])
          await sendRetitles(id, touched, send, always)
        })
      },
      async link(turn) {
        const { id } = turn.message
        const plan = await link(await turn.read((tx) => planLinks(tx, id)))
        await turn.finish(async (tx, send) => {
          const { touched, created, merged } = await saveLinks(tx, id, deps.newId, plan)
          for (const themeId of merged) await send([mergeMessage(id, themeId)])
          // Until then, their words are their titles.
          await sendRetitles(
            id,
            touched.filter((one) => created.includes(one.id)),
            send,
            always,
          )
          for (const one of await brokenTitles(tx, id, BROKEN)) await send([retitleMessage(id, one.id)])
        })
      },
      async merge(turn) {
        const { id, payload } = turn.message
        await turn.finish(async (tx, send) => {
          const { touched, hasMore } = await moveMerged(tx, id, payload.themeId)
          if (hasMore) await send([mergeMessage(id, payload.themeId)])
          else await sendRetitles(id, touched, send, isDue)
        })
      },
      async split(turn) {
        const { id, payload } = turn.message
        await turn.finish(async (tx, send) => {
          const { next } = await moveSplit(tx, id, payload)
          if (next !== null) await send([themesMessages.message(id, 'split', { payload: next })])
          else
            for (const themeId of [payload.themeId, payload.newThemeId])
              await send([retitleMessage(id, themeId)])
        })
      },
      retitle: (turn) => retitle(turn, deps.modelServer, turn.message.payload.themeId),
    },
  })
}

async function assign(deps: ThemeDeps, turn: LongTurn): Promise<void> {
  const { id, attempts } = turn.message
  const read = await turn.read(async (tx) => {
    const work = await readWork(tx, id, Math.max(1, MAX_ASSIGNED >> attempts))
    if (work.add.length === 0) return { work, themes: [], surroundings: null }
    return { work, themes: await readThemes(tx, id), surroundings: await readSurroundings(tx, id) }
  })
  const outdated = read.work.keep.filter(isOutdated)
  const wanted = [...read.work.add, ...outdated.map(({ item }) => item)]
  const vectors = await embed(deps.textWork, wanted, turn.signal, id)
  const renewed = new Map(
    outdated.map(({ present }, place) => [present.id, vectors[read.work.add.length + place]!]),
  )
  const assigned =
    read.surroundings === null ? [] : await choose(read.themes, read.surroundings, read.work.add, vectors)
  await turn.finish(async (tx, send) => {
    const { touched, hasMore, unlinked } = await saveAssigned(tx, id, read.work, assigned, renewed)
    // A title may have words of a quotation that is gone.
    await sendRetitles(id, touched, send, read.work.remove.length > 0 ? always : isDueWith(deps))
    if (unlinked >= LINK_AFTER) await send([toThemes(id, 'link')])
    if (hasMore) await send([toThemes(id, 'assign')])
  })
}

const always = () => true

/** Whether a theme has changed so much that it gets another title. */
const isDueWith =
  ({ modelServer }: ThemeDeps) =>
  ({ count, titledCount }: Touched): boolean =>
    needsTitle(count, titledCount, modelServer !== null)

/** A message of a type that has no payload. */
export const toThemes = (organizationId: string, type: 'assign' | 'forget' | 'link'): NewMessage =>
  themesMessages.message(organizationId, type, { organizationId })

export const mergeMessage = (organizationId: string, themeId: string): NewMessage =>
  themesMessages.message(organizationId, 'merge', { organizationId, payload: { themeId } })

const retitleMessage = (organizationId: string, themeId: string): NewMessage =>
  themesMessages.message(organizationId, 'retitle', { organizationId, payload: { themeId } })

async function sendRetitles(
  organizationId: string,
  touched: readonly Touched[],
  send: (messages: readonly NewMessage[]) => Promise<void>,
  isDue: (theme: Touched) => boolean,
): Promise<void> {
  for (const theme of touched) if (isDue(theme)) await send([retitleMessage(organizationId, theme.id)])
}
