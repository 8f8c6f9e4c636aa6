/**
 * The actor of a submission: sends its mails, one turn each.
 *
 * The rule: at least once. A worker that dies between sending and committing leaves the message to the next one, which sends
 * the same mail with the same `Message-ID`. The team's notification comes first: an address that takes no mail
 * holds up nothing but its own confirmation.
 */
import type { ActorDefinition, LongTurn } from '../actors/types.ts'
import type { Deps } from '../container.ts'
import { createMailer } from '../platform/mail/create.ts'
import { type Mail, type Mailer, RecipientRefused } from '../platform/mail/mail.ts'
import { confirmationMail, notificationMail } from './mails.ts'
import type { Submission } from './model.ts'
import { findSubmission, saveRefusal } from './store.ts'

/** With a pause that grows to five minutes: a mail server may be away for some four hours. */
const MAX_ATTEMPTS = 60

/** `notify_team` and `confirm`: the submission is stored. What cannot be sent in the end is left among the dead letters. */
export function formActor(
  { config }: Pick<Deps, 'config'>,
  mailer: Mailer = createMailer(config),
): ActorDefinition {
  const { teamEmail } = config.mail
  return {
    kind: 'form',
    pool: 'long',
    maxAttempts: MAX_ATTEMPTS,
    handlers: {
      notify_team: (turn) =>
        deliver(mailer, turn, (submission) =>
          // Unset meanwhile: nobody wants it any more.
          teamEmail === null ? null : notificationMail(submission, teamEmail),
        ),
      confirm: (turn) => confirm(mailer, turn),
    },
  }
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

/** Whoever mistyped an address is not to be written to sixty times. */
async function confirm(mailer: Mailer, turn: LongTurn): Promise<void> {
  try {
    await deliver(mailer, turn, confirmationMail)
  } catch (error) {
    if (!(error instanceof RecipientRefused)) throw error
    turn.log.warn({ err: error }, 'confirmation refused')
    await turn.finish((tx) => saveRefusal(tx, turn.message.id, error.message))
  }
}
