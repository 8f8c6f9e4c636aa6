/** The mail about a subscription that was disabled. */
import type { LongTurn } from '../../actors/types.ts'
import type { Config } from '../../kernel/config.ts'
import { waitForDisk } from '../../platform/db/wait-for-disk.ts'
import type { Mailer } from '../../platform/mail/mail.ts'
import { fillHtml } from '../../platform/mail/template.ts'
import { findDisabled } from './notice.store.ts'

const REASONS = {
  gone: 'The receiver answered 410 Gone.',
  failing: 'Every attempt of the last five days failed.',
} as const

export async function announce(
  { mail: { teamEmail } }: Pick<Config, 'mail'>,
  mailer: Mailer,
  turn: LongTurn<{ readonly reason: keyof typeof REASONS }>,
): Promise<void> {
  const { message, organization, signal } = turn
  const found = await turn.step(async (tx) => {
    // The mail must not tell what a crash undoes.
    await waitForDisk(tx)
    return findDisabled(tx, organization, message.id)
  })
  if (found !== null && teamEmail !== null) {
    const text = [
      `The webhook ${message.id} of ${found.organization} sends no more events. ${REASONS[message.payload.reason]}`,
      `Its URL begins with ${found.origin}`,
      'Events are kept. When the receiver works again, enable the webhook, then recover what was missed:',
      `earshot webhook update ${message.id} --enable\nearshot webhook recover ${message.id} --since ${found.since.toISOString()}`,
    ].join('\n\n')
    await mailer.send(
      {
        id: `webhook-disabled.${message.id}.${message.seq}`,
        to: teamEmail,
        subject: 'A webhook was disabled',
        text: `${text}\n`,
        html: fillHtml('<pre>{{text}}</pre>', { text }),
      },
      signal,
    )
  }
  await turn.finish(async () => {})
}
