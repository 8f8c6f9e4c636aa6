/**
 * Outgoing mail: what a message is, and whoever sends it.
 *
 * The rule: a header holds fixed words, or an address that has been checked; the library encodes whatever it is given.
 * The id makes the `Message-ID`, so a message that is sent again is known as the same.
 */

export interface Mail {
  /** Unique and the same at every attempt; letters, digits, dots and hyphens. */
  readonly id: string
  readonly to: string
  readonly replyTo?: string
  readonly subject: string
  readonly text: string
  readonly html: string
}

export interface Sender {
  readonly name: string
  readonly address: string
}

export interface Mailer {
  readonly name: 'smtp' | 'folder'
  /**
   * Hands the message over: resolves when the server, or the disk, has it.
   * @throws RecipientRefused where trying again is of no use; another Error where it is
   */
  send(mail: Mail, signal: AbortSignal): Promise<void>
}

/** The server will never take mail for this recipient: there is no such mailbox. */
export class RecipientRefused extends Error {
  override readonly name = 'RecipientRefused'
}

/** The message as the library takes it. Addresses are objects, which it does not parse: a comma in one makes no second. */
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
    // RFC 3834: nobody's holiday notice answers it.
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}
