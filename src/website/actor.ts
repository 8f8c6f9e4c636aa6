/**
 * The actor of a submission. Each turn sends one mail.
 *
 * Delivery is at least once. If a worker dies between sending and committing, the next worker sends the same mail with the
 * same `Message-ID`. The team's notification goes first, so that an address that refuses mail delays only its own
 * confirmation.
 */

import { defineActor } from '../actors/declaration.ts'
import type { ActorDefinition, LongTurn } from '../actors/types.ts'
import type { Deps } from '../container.ts'
import { formMessages } from '../messages/form.ts'
import { createMailer } from '../platform/mail/create.ts'
import { type Mail, type Mailer, RecipientRefused } from '../platform/mail/mail.ts'
import { confirmationMail, notificationMail } from './mails.ts'
import type { Submission } from './model.ts'
import { findSubmission, saveRefusal } from './store.ts'

/** The pause between attempts grows to five minutes, so delivery survives about four hours without a mail server. */
const MAX_ATTEMPTS = 60

/** Handles `notify_team` and `confirm`, after the submission was stored. Mail that cannot be sent ends as a dead letter. */
export function formActor(
  { config }: Pick<Deps, 'config'>,
  mailer: Mailer = createMailer(config),
): ActorDefinition {
  const { teamEmail } = config.mail
  return defineActor(formMessages, {
    maxAttempts: MAX_ATTEMPTS,
    handlers: {
      notify_team: (turn) =>
        deliver(mailer, turn, (submission) =>
          // The setting was removed meanwhile: no notification is wanted.
          teamEmail === null ? null : notificationMail(submission, teamEmail),
        ),
      confirm: (turn) => confirm(mailer, turn),
    },
  })
}

async function deliver(
  mailer: Mailer,
  turn: LongTurn,
  write: (submission: Submission) => Mail | null,
): Promise<void> {
  const submission = await turn.step((tx) => findSubmission(tx, turn.message.id))
  const mail = submission === null ? null : write(submission)
  if (mail !== null) await mailer.send(mail, turn.signal)
  await turn.finish(async () => {})
}

/** A refused recipient ends the attempts: a mistyped address must not receive sixty mails. */
async function confirm(mailer: Mailer, turn: LongTurn): Promise<void> {
  try {
    await deliver(mailer, turn, confirmationMail)
  } catch (error) {
    if (!(error instanceof RecipientRefused)) throw error
    turn.log.warn({ err: error }, 'confirmation refused')
    await turn.finish((tx) => saveRefusal(tx, turn.message.id, error.message))
  }
}
