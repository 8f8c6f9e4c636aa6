/** Wakes the actors of organizations with changed findings. Nothing happens while findings are written but a row in a queue. */
import { transactionWithOutbox } from '../../actors/mailbox.ts'
import type { MaintenanceTask, NewMessage } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import type { DataChange } from '../../platform/db/data-change.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { toThemes } from './actor.ts'
import { enqueueFindings, enqueueOutdated, waitingOrganizations } from './changes.store.ts'
import { countDays, formerTimeZones } from './days.store.ts'
import { lockProgress, unlinkedOrganizations } from './themes.store.ts'
import { expireTitles } from './titles.store.ts'

const EVERY_SECONDS = 10
/** Organizations that are woken at a time. */
const ORGANIZATIONS = 500
/** Few new items without a theme are compared after this time. */
const LINK_SECONDS = 600

export function themeMaintenance({
  sql,
  notifier,
  log,
}: Pick<Deps, 'sql' | 'notifier' | 'log'>): readonly MaintenanceTask[] {
  return [
    { name: 'themes', everySeconds: EVERY_SECONDS, run: () => wakeThemes({ sql, notifier }, LINK_SECONDS) },
    { name: 'theme_days', everySeconds: EVERY_SECONDS, run: () => countFormerDays({ sql, log }) },
  ]
}

/** Sends the messages that are due. One that waits already is not sent again. */
export async function wakeThemes(
  { sql, notifier }: Pick<Deps, 'sql' | 'notifier'>,
  linkSeconds: number,
): Promise<void> {
  const waiting = await waitingOrganizations(sql, ORGANIZATIONS)
  const unlinked = await unlinkedOrganizations(sql, linkSeconds, ORGANIZATIONS)
  const wanted: readonly (readonly NewMessage[])[] = [
    waiting.filter(({ gone }) => gone).map(({ organizationId }) => toThemes(organizationId, 'forget')),
    waiting.filter(({ gone }) => !gone).map(({ organizationId }) => toThemes(organizationId, 'assign')),
    unlinked.map(({ organizationId }) => toThemes(organizationId, 'link')),
  ]
  for (const messages of wanted) {
    // A message that was left out by mistake is sent the next time, because its work is still there.
    await transactionWithOutbox({ sql, notifier }, (_, outbox) => outbox.sendUnlessPresent(messages))
  }
}

/** Counts the themes of organizations whose time zone changed by the days of the new one. */
export async function countFormerDays({ sql, log }: Pick<Deps, 'sql' | 'log'>): Promise<void> {
  for (const { organizationId, timeZone } of await formerTimeZones(sql, ORGANIZATIONS))
    try {
      await transaction(sql, async (tx) => {
        await lockProgress(tx, organizationId)
        await countDays(tx, organizationId, timeZone)
      })
    } catch (error) {
      log.error({ organizationId, err: error }, 'could not count themes by the days of another time zone yet')
    }
}

/** Puts findings into the queue that were there before themes. */
export const themesChange: DataChange = {
  name: 'themes_of_findings',
  table: 'agent_signal',
  key: 'id',
  rowsPerStep: 500,
  change: (tx, keys) => enqueueFindings(tx, keys),
}

/** Has themes choose their titles anew that an earlier version chose by other rules. */
export const themeTitlesChange: DataChange = {
  name: 'titles_2_of_themes',
  table: 'theme',
  key: 'id',
  rowsPerStep: 500,
  change: (tx, keys) => expireTitles(tx, keys),
}

/** Puts items into the queue whose vector an earlier version made: the actor makes another. */
export const themeVectorsChange: DataChange = {
  name: 'vectors_2_of_theme_items',
  table: 'theme_item',
  key: 'id',
  rowsPerStep: 500,
  change: (tx, keys) => enqueueOutdated(tx, keys),
}
