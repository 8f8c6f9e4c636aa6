/** Gives a theme another title: of a model server, if one is configured, else a quotation, else words. A title of a person stays. */
import type { LongTurn } from '../../actors/types.ts'
import type { ChatServer } from '../../analysis/analyze/chat.ts'
import { inSlices } from '../../platform/concurrency/time-slicing.ts'
import { quotationsOfTheme } from './items.store.ts'
import { quotedTitles, uniqueTitle } from './quotation.rules.ts'
import { readSurroundings } from './surroundings.ts'
import { lockProgress } from './themes.store.ts'
import { titleOf } from './title.rules.ts'
import { askTitle } from './title-model.ts'
import { findTitle, otherTitles, saveTitle, takenTitles } from './titles.store.ts'

/** Newest quotations that a title is made of. */
const QUOTATIONS = 200
const OTHERS = 20

export async function retitle(turn: LongTurn, server: ChatServer | null, themeId: string): Promise<void> {
  const organizationId = turn.message.id
  const read = await turn.read(async (tx) => ({
    theme: await findTitle(tx, organizationId, themeId),
    quotations: await quotationsOfTheme(tx, organizationId, themeId, QUOTATIONS),
    others: (await otherTitles(tx, organizationId, themeId, OTHERS)).map(({ title }) => title),
    surroundings: await readSurroundings(tx, organizationId),
  }))
  const { theme, quotations } = read
  if (theme === null || theme.titleBy === 'person' || theme.mergedInto !== null || quotations.length === 0) {
    await turn.finish(async () => {})
    return
  }
  const nearestFirst = quotations.toSorted((a, b) => (b.score ?? 1) - (a.score ?? 1))
  const asked = server === null ? null : await askTitle(server, nearestFirst, read.others, turn.signal)
  const words = titleOf(quotations, read.surroundings)
  const quoted = asked === null ? await inSlices(quotedTitles(quotations, words, read.surroundings)) : []
  await turn.finish(async (tx) => {
    await lockProgress(tx, organizationId)
    const taken = await takenTitles(tx, organizationId, themeId)
    const title = uniqueTitle(quoted, asked ?? words, taken)
    await saveTitle(tx, organizationId, themeId, {
      ...title,
      words,
      titleBy: asked === null ? 'terms' : 'model',
    })
  })
}
