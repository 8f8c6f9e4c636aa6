/**
 * Outgoing mail: the shape of a message and of a mailer.
 *
 * Headers contain fixed words or validated addresses, which the library encodes. The id becomes the `Message-ID`, so that a
 * mail program recognises a repeated message.
 */
import type { Log } from '../observability/log.ts'

export interface Mail {
  /** Unique, and the same at every attempt. Letters, digits, dots and hyphens. */
  readonly id: string
  /** Id of the organization or of the user whom it is about: erasing them removes its file. Absent: the website's. */
  readonly owner?: string
  readonly to: string
  readonly replyTo?: string
  readonly subject: string
  readonly text: string
  readonly html: string
  /** Ends mails of this sort by POST in one click, without a sign-in (RFC 8058). */
  readonly unsubscribeUrl?: string
}

export interface Sender {
  readonly name: string
  readonly address: string
}

export interface Mailer {
  readonly name: 'smtp' | 'folder'
  /**
   * Resolves when the server or the disk has the message.
   * @throws MailRefused if a retry is useless; NeedsOperator if settings forbid it; another Error if a retry may help
   */
  send(mail: Mail, signal: AbortSignal): Promise<void>
  /** Connects and signs in, but sends nothing. @throws NeedsOperator or another Error if mail cannot be sent at the moment */
  assertUsable(signal: AbortSignal): Promise<void>
}

/** The server refuses this mail for good, for example because there is no such mailbox, or because of its content. */
export class MailRefused extends Error {
  override readonly name = 'MailRefused'
}

/** Sends one of the mails to people who sign in. A refusal is logged and ends the attempts. @throws Error if a retry may help */
export async function sendUnlessRefused(
  mailer: Mailer,
  mail: Mail,
  { signal, log }: { readonly signal: AbortSignal; readonly log: Log },
): Promise<void> {
  try {
    await mailer.send(mail, signal)
  } catch (error) {
    if (!(error instanceof MailRefused)) throw error
    log.warn({ err: error, mail: mail.id }, 'the mail server refused a mail for good')
  }
}

/** The message for the library. Addresses are objects, so that a comma in one does not make a second. */
export function compose(mail: Mail, sender: Sender) {
  const address = (one: string) => ({ name: '', address: one })
  return {
    messageId: `<${mail.id}@${sender.address.slice(sender.address.lastIndexOf('@') + 1)}>`,
    from: { name: sender.name, address: sender.address },
    to: address(mail.to),
    ...(mail.replyTo === undefined ? {} : { replyTo: address(mail.replyTo) }),
    subject: mail.subject,
    text: mail.text,
    html: mail.html,
    // RFC 3834: prevents automatic replies.
    headers: { 'Auto-Submitted': 'auto-generated', ...unsubscribeHeaders(mail) },
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

/** RFC 2369 and RFC 8058. */
function unsubscribeHeaders({ unsubscribeUrl }: Mail): Readonly<Record<string, string>> {
  if (unsubscribeUrl === undefined) return {}
  return {
    'List-Unsubscribe': `<${unsubscribeUrl}>`,
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  }
}
