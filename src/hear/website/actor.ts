/**
 * The actors of a submission: one sends the mail to the team, the other the confirmation. Each turn sends one mail.
 *
 * Delivery is at least once. If a worker dies between sending and committing, the next worker sends the same mail with the
 * same `Message-ID`. A mail that the mail server refuses for good is not sent again.
 */

import { defineActor } from '../../actors/declaration.ts'
import { deadLetter } from '../../actors/statements.ts'
import type { ActorDefinition, LongTurn } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import { confirmationMessages, formMessages } from '../../kernel/messages/form.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { createMailer } from '../../platform/mail/create.ts'
import { type Mail, type Mailer, MailRefused } from '../../platform/mail/mail.ts'
import { confirmationMail, notificationMail } from './mails.ts'
import type { Submission } from './model.ts'
import { findSubmission, saveRefusal } from './store.ts'

/** The pause between attempts grows to five minutes, so delivery survives about four hours without a mail server. */
const MAX_ATTEMPTS = 60

/** Sends the mails after the submission was stored. Mail that cannot be sent ends as a dead letter. */
export function formActors(
  { config }: Pick<Deps, 'config'>,
  mailer: Mailer = createMailer(config),
): readonly ActorDefinition[] {
  const { teamEmail } = config.mail
  const confirm = (turn: LongTurn) =>
    deliver(mailer, turn, confirmationMail, (tx, reason) => saveRefusal(tx, turn.message.id, reason))
  return [
    defineActor(formMessages, {
      maxAttempts: MAX_ATTEMPTS,
      handlers: {
        notify_team: (turn) =>
          deliver(
            mailer,
            turn,
            // The setting was removed meanwhile: no notification is wanted.
            (submission) => (teamEmail === null ? null : notificationMail(submission, teamEmail)),
            // An operator corrects TEAM_EMAIL and sends it again.
            (tx, reason) => deadLetter(tx, turn.message, reason),
          ),
        confirm,
      },
    }),
    defineActor(confirmationMessages, { maxAttempts: MAX_ATTEMPTS, handlers: { send: confirm } }),
  ]
}

/** A refusal ends the attempts: a mistyped address must not receive sixty mails. */
async function deliver(
  mailer: Mailer,
  turn: LongTurn,
  write: (submission: Submission) => Mail | null,
  refused: (tx: Tx, reason: string) => Promise<void>,
): Promise<void> {
  const submission = await turn.step((tx) => findSubmission(tx, turn.message.id))
  const mail = submission === null ? null : write(submission)
  try {
    if (mail !== null) await mailer.send(mail, turn.signal)
  } catch (error) {
    if (!(error instanceof MailRefused)) throw error
    turn.log.warn({ err: error }, `mail refused: ${turn.message.type}`)
    return turn.finish((tx) => refused(tx, error.message))
  }
  await turn.finish(async () => {})
}
