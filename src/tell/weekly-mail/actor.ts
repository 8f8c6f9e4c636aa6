/**
 * The actor of a member's weekly mail.
 *
 * The task `weekly_mail` sends one message a week. Delivery is at least once: if a worker dies between sending and committing, the next
 * worker sends the same mail with the same `Message-ID`.
 */
import { defineActor } from '../../actors/declaration.ts'
import type { ActorDefinition } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import { weeklyMailMessages } from '../../kernel/messages/weekly-mail.ts'
import { createMailer } from '../../platform/mail/create.ts'
import { type Mailer, sendUnlessRefused } from '../../platform/mail/mail.ts'
import type { Insight } from '../../understand/counts/service.ts'
import { isEmpty, weeklyMail } from './mail.ts'
import { findRecipient } from './store.ts'
import { createUnsubscribeLinks } from './unsubscribe.ts'

/** The pause between attempts grows to five minutes, so delivery survives about four hours without a mail server. */
const MAX_ATTEMPTS = 60
/** Quotations of each kind and area. */
const QUOTATIONS = 2

type WeeklyMailDeps = Pick<Deps, 'config' | 'log'> & { readonly insight: Pick<Insight, 'digestOfDays'> }

export function weeklyMailActor(
  { config, log, insight }: WeeklyMailDeps,
  mailer: Mailer = createMailer(config),
): ActorDefinition {
  const links = createUnsubscribeLinks(config)
  return defineActor(weeklyMailMessages, {
    maxAttempts: MAX_ATTEMPTS,
    handlers: {
      async send(turn) {
        const { id, payload } = turn.message
        const recipient = await turn.step((tx) => findRecipient(tx, turn.organization, id))
        const baseUrl = config.publicBaseUrl
        if (recipient !== null && baseUrl !== null) {
          const { organizationId, organizationName, userId, email } = recipient
          // The rules of access of the member hold for what the mail says.
          const [since, until] = [payload.since.slice(0, 10), payload.until.slice(0, 10)]
          const viewer = { kind: 'user', organizationId, userId } as const
          const digest = await insight.digestOfDays(viewer, since, until, QUOTATIONS)
          const mail = weeklyMail({
            id: `weekly.${id}.${since}`,
            organizationId,
            to: email,
            organizationName,
            baseUrl,
            unsubscribeUrl: await links.of(baseUrl, { organizationId, id }),
            digest,
          })
          if (!isEmpty(digest)) await sendUnlessRefused(mailer, mail, { signal: turn.signal, log })
        }
        await turn.finish(async () => {})
      },
    },
  })
}
