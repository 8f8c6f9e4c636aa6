/** Who gets the weekly mail, and the task that sends it once a week to each of them. */
import { transactionWithOutbox } from '../../actors/mailbox.ts'
import type { ObjectActors } from '../../actors/orphan-mailboxes.ts'
import type { MaintenanceTask } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import { weeklyMailMessages } from '../../kernel/messages/weekly-mail.ts'
import type { Alongside } from '../../platform/db/alongside.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { AppError } from '../../platform/errors.ts'
import { nextMailAt, weekOf } from './schedule.rules.ts'
import * as store from './store.ts'
import { createUnsubscribeLinks, type Wish } from './unsubscribe.ts'

export type WeeklyMails = ReturnType<typeof createWeeklyMails>

export const weeklyMailActors: ObjectActors = { kind: weeklyMailMessages.kind, known: store.knownMails }

interface Member {
  readonly organizationId: string
  readonly userId: string
}

export function createWeeklyMails({
  sql,
  clock,
  config,
  newId,
}: Pick<Deps, 'sql' | 'clock' | 'config' | 'newId'>) {
  const links = createUnsubscribeLinks(config)
  return {
    isWanted: ({ organizationId, userId }: Member) => store.isWanted(sql, organizationId, userId),

    /** Repeating it changes nothing. @throws AppError 503 `unavailable` if links in mails would lead nowhere */
    async set({ organizationId, userId }: Member, wanted: boolean, also?: Alongside<boolean>): Promise<void> {
      if (wanted && config.publicBaseUrl === null)
        throw new AppError(
          'unavailable',
          'The operator has not set PUBLIC_BASE_URL, so this service sends no weekly mail.',
        )
      await transaction(sql, async (tx) => {
        if (wanted) {
          const nextAt = nextMailAt(clock.now(), await store.readTimeZone(tx, organizationId, userId))
          await store.insertWish(tx, { id: newId(), organizationId, userId, nextAt })
        } else await store.deleteWish(tx, organizationId, userId)
        await also?.(tx, wanted)
      })
    },

    /** @returns null if the token is not one of this service */
    readLink: (token: string): Promise<Wish | null> => links.read(token),

    /** Repeating it changes nothing. */
    end: ({ organizationId, id }: Wish): Promise<void> => store.deleteWishById(sql, organizationId, id),
  }
}

const MAILS = 200
const EVERY_SECONDS = 60

/** Sends a message for each mail that is due, in the transaction that sets when the next one is: so once a week, whatever happens. */
export function weeklyMailMaintenance(
  deps: Pick<Deps, 'sql' | 'notifier' | 'clock'>,
): readonly MaintenanceTask[] {
  return [
    {
      name: 'weekly_mail',
      everySeconds: EVERY_SECONDS,
      async run(stopping) {
        while (!stopping.aborted && (await sendDue(deps)) === MAILS);
      },
    },
  ]
}

/** @returns the number of messages sent */
export function sendDue(deps: Pick<Deps, 'sql' | 'notifier' | 'clock'>, limit = MAILS): Promise<number> {
  const now = deps.clock.now()
  return transactionWithOutbox(deps, async (tx, outbox) => {
    const due = await store.takeDue(tx, now, limit)
    await store.saveNext(
      tx,
      due.map(({ id, timeZone }) => ({ id, nextAt: nextMailAt(now, timeZone) })),
    )
    await outbox.send(
      due.map(({ id, organizationId, timeZone }) =>
        weeklyMailMessages.message(id, 'send', { organizationId, payload: weekOf(now, timeZone) }),
      ),
    )
    return due.length
  })
}
